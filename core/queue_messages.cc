#include "core/queue_messages.h"

#include <optional>

#include "core/json_body.h"
#include "core/queue_names.h"

namespace remotist::queue {
namespace {

using nlohmann::json;

// The size of the body bounds its lists.
constexpr std::size_t kListMax = amqp::kBodyBytesMax;

// A message, and the first mistake that JsonBody does not find by itself.
struct Reader {
  JsonBody body;
  std::optional<Refusal> mistake{};

  void note(const char* field, const char* rule) {
    if (!mistake) mistake = refuse(Code::invalid_field, std::string{field} + " " + rule, field);
  }
  std::optional<Refusal> refusal() {
    auto refusal = body.refusal();
    return refusal ? refusal : mistake;
  }
};

template <class Id>
Id id_in(Reader& reader, const char* field, const std::string& text) {
  const auto id = Id::parse(text);
  if (!id) reader.note(field, "must be an id");
  return id.value_or(Id::make());
}

template <class Id>
std::vector<Id> ids_in(Reader& reader, const char* field) {
  std::vector<Id> ids;
  for (const auto& text : reader.body.texts_or_none(field)) ids.push_back(id_in<Id>(reader, field, text));
  return ids;
}

int number_in(Reader& reader, JsonBody& object) {
  const auto number = object.integer_or("attempt", 0);
  if (number < 1 || number > INT32_MAX) reader.note("attempt", "must be an attempt's number");
  return static_cast<int>(number);
}

std::vector<SessionAttempt> attempts_in(Reader& reader) {
  std::vector<SessionAttempt> attempts;
  for (auto& object : reader.body.objects_or_none("attempts", kListMax)) {
    attempts.push_back({id_in<MachineSessionId>(reader, "machine_session", object.text("machine_session")),
                        {id_in<JobId>(reader, "job", object.text("job")), number_in(reader, object)}});
    if (auto refusal = object.refusal(); refusal && !reader.mistake) reader.mistake = std::move(refusal);
  }
  if (attempts.empty()) reader.note("attempts", "must name one at least");
  return attempts;
}

std::vector<MachineSessionId> sessions_in(Reader& reader) {
  auto sessions = ids_in<MachineSessionId>(reader, "machine_sessions");
  if (sessions.empty()) reader.note("machine_sessions", "must name one at least");
  return sessions;
}

std::optional<ForMarket> message_in(Reader& reader) {
  const auto type = reader.body.text("type");
  if (type == "assign") return Assign{attempts_in(reader)};
  if (type == "stop") return Stop{attempts_in(reader), reader.body.text("reason")};
  if (type == "hand_over") return HandOver{attempts_in(reader), reader.body.text("reason")};
  if (type == "close") return Close{sessions_in(reader), reader.body.text("reason")};
  return std::nullopt;
}

template <class Id>
json list_of(const std::vector<Id>& ids) {
  json list = json::array();
  for (const auto& id : ids) list.push_back(id.text());
  return list;
}

json list_of(const std::vector<SessionAttempt>& attempts) {
  json list = json::array();
  for (const auto& [session, name] : attempts) {
    list.push_back({{"machine_session", session.text()}, {"job", name.job.text()}, {"attempt", name.number}});
  }
  return list;
}

struct Writer {
  json operator()(const Assign& assign) const {
    return {{"type", "assign"}, {"attempts", list_of(assign.attempts)}};
  }
  json operator()(const Stop& stop) const {
    return {{"type", "stop"}, {"attempts", list_of(stop.attempts)}, {"reason", stop.reason}};
  }
  json operator()(const HandOver& hand_over) const {
    return {{"type", "hand_over"}, {"attempts", list_of(hand_over.attempts)}, {"reason", hand_over.reason}};
  }
  json operator()(const Close& close) const {
    return {
        {"type", "close"}, {"machine_sessions", list_of(close.machine_sessions)}, {"reason", close.reason}};
  }
};

}  // namespace

Result<Ready> read_ready(std::string_view text) {
  Reader reader{JsonBody{text, amqp::kBodyBytesMax}};
  Ready ready{ids_in<JobId>(reader, "jobs"), ids_in<MachineSessionId>(reader, "machine_sessions")};
  if (ready.jobs.empty() && ready.machine_sessions.empty())
    reader.note("jobs", "or machine_sessions must name one at least");
  if (auto refusal = reader.refusal()) return *refusal;
  return ready;
}

Result<ForMarket> read_for_market(std::string_view text) {
  Reader reader{JsonBody{text, amqp::kBodyBytesMax}};
  auto message = message_in(reader);
  // Of an unknown message every field is unknown; the type is what is wrong with it.
  if (!message && reader.body.has("type"))
    return refuse(Code::invalid_field, "type is not one of a market's queue", "type");
  if (auto refusal = reader.refusal()) return *refusal;
  return *std::move(message);
}

std::string text_of(const Ready& ready) {
  json document = json::object();
  if (!ready.jobs.empty()) document["jobs"] = list_of(ready.jobs);
  if (!ready.machine_sessions.empty()) document["machine_sessions"] = list_of(ready.machine_sessions);
  return document.dump();
}

std::string text_of(const ForMarket& message) {
  return std::visit(Writer{}, message).dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace remotist::queue
