#include "core/protocol.h"

#include <algorithm>
#include <array>
#include <format>
#include <map>
#include <span>

#include "core/digest.h"
#include "core/file_path.h"
#include "core/json_body.h"
#include "core/limits.h"
#include "core/watched_record_json.h"

namespace remotist::protocol {
namespace {

constexpr std::int64_t kCpuMsMax = 1'000'000'000'000;  // thirty years of a core; also of a time
constexpr double kLoadMax = 1e12;

// Mistakes are collected here; JsonBody collects its own.
using Mistake = std::optional<Refusal>;

void note(Mistake& mistake, std::string_view field, std::string_view rule) {
  if (!mistake) {
    mistake = refuse(Code::invalid_field, std::string{field} + " " + std::string{rule}, std::string{field});
  }
}

std::int64_t integer_in(JsonBody& body, const char* field, std::int64_t least, std::int64_t most,
                        Mistake& mistake) {
  const auto value = body.integer_if(field);
  if (!value || *value < least || *value > most) {
    note(mistake, field,
         "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return least;
  }
  return *value;
}

double number_in(JsonBody& body, const char* field, double most, Mistake& mistake) {
  const double value = body.number_or(field, 0);
  if (!(value >= 0 && value <= most)) {
    note(mistake, field, std::format("must be a number from 0 to {}", most));
    return 0;
  }
  return value;
}

std::string text_within(JsonBody& body, const char* field, std::size_t bytes_max, Mistake& mistake) {
  auto text = body.text_if(field).value_or("");
  if (text.size() > bytes_max) {
    note(mistake, field, "may have " + std::to_string(bytes_max) + " bytes");
    text.clear();
  }
  // PostgreSQL holds every character but this one.
  if (text.contains('\0')) note(mistake, field, "may not have a zero byte");
  return text;
}

AttemptName name_in(JsonBody& body, Mistake& mistake) {
  const auto job = JobId::parse(body.text("job"));
  if (!job) note(mistake, "job", "must be a job's id");
  const auto number = static_cast<int>(integer_in(body, "attempt", 1, INT32_MAX, mistake));
  return {job.value_or(JobId::parse("00000000-0000-0000-0000-000000000000").value()), number};
}

AttemptKey key_in(JsonBody& body, Mistake& mistake) {
  AttemptKey key{name_in(body, mistake), body.text("token")};
  if (key.token.empty() || key.token.size() > limits::kAttemptTokenBytesMax)
    note(mistake, "token", "must be the attempt's token");
  return key;
}

// The objects of a list, each read by `read` and then checked for fields that nobody asked for. Stops at the
// first mistake.
template <class Read>
auto list_in(JsonBody& body, const char* field, std::size_t most, Mistake& mistake, Read read) {
  std::vector<decltype(read(body))> list;
  for (auto& object : body.objects_or_none(field, most)) {
    list.push_back(read(object));
    if (auto refusal = object.refusal(); refusal && !mistake) mistake = std::move(refusal);
    if (mistake) break;
  }
  return list;
}

std::vector<AttemptKey> keys_in(JsonBody& body, Mistake& mistake) {
  return list_in(body, "attempts", limits::kFrameAttemptsMax, mistake,
                 [&](JsonBody& object) { return key_in(object, mistake); });
}

std::vector<AttemptName> names_in(JsonBody& body, const char* field, Mistake& mistake) {
  return list_in(body, field, limits::kFrameAttemptsMax, mistake,
                 [&](JsonBody& object) { return name_in(object, mistake); });
}

std::vector<std::int64_t> protocols_in(JsonBody& body, Mistake& mistake) {
  auto protocols = body.integers_or_none("protocols", limits::kProtocolsMax);
  const auto is_version = [](std::int64_t number) { return number >= 1; };
  if (!std::ranges::all_of(protocols, is_version)) note(mistake, "protocols", "must be numbers from 1 on");
  return protocols;
}

std::vector<std::string> packages_in(JsonBody& body, Mistake& mistake) {
  auto packages = body.texts_or_none("packages");
  const auto is_package = [](const std::string& each) {
    return !each.empty() && each.size() <= limits::kPackageBytesMax && !each.contains('\0');
  };
  if (packages.size() > limits::kPackagesMax || !std::ranges::all_of(packages, is_package)) {
    note(mistake, "packages",
         std::format("may have {} names with versions, of 1 to {} bytes each", limits::kPackagesMax,
                     limits::kPackageBytesMax));
    packages.clear();
  }
  return packages;
}

Hello hello_in(JsonBody& body, Mistake& mistake) {
  return {.protocols = protocols_in(body, mistake),
          .software = text_within(body, "software", limits::kSoftwareBytesMax, mistake),
          .taking_jobs = body.flag_or("taking_jobs", true),
          .attempts = keys_in(body, mistake),
          .r_version = text_within(body, "r_version", limits::kRVersionBytesMax, mistake),
          .architecture = text_within(body, "architecture", limits::kArchitectureBytesMax, mistake),
          .packages = packages_in(body, mistake)};
}

Beat beat_in(JsonBody& body, Mistake& mistake) {
  return {.taking_jobs = body.flag_or("taking_jobs", true),
          .user_present = body.flag_or("user_present", false),
          .cpu_used = number_in(body, "cpu_used", kLoadMax, mistake),
          .ram_mb_used = number_in(body, "ram_mb_used", kLoadMax, mistake),
          .disc_mb_used = number_in(body, "disc_mb_used", kLoadMax, mistake),
          .network_kb_per_s = number_in(body, "network_kb_per_s", kLoadMax, mistake),
          .attempts = list_in(body, "attempts", limits::kFrameAttemptsMax, mistake, [&](JsonBody& object) {
            return Beat::Running{name_in(object, mistake),
                                 integer_in(object, "cpu_ms", 0, kCpuMsMax, mistake)};
          })};
}

WatchedRecords watched_records_in(JsonBody& body, Mistake& mistake) {
  WatchedRecords watched{
      .attempt = key_in(body, mistake),
      .records = list_in(body, "records", limits::kRecordsInMessageMax, mistake,
                         [&](JsonBody& object) { return watched_record_in(object, mistake); })};
  if (watched.records.empty()) note(mistake, "records", "must have one at least");
  return watched;
}

OutcomeFile file_in(JsonBody& body, Mistake& mistake) {
  OutcomeFile file{.role = body.text("role"), .path = body.text("path"), .bytes = {}};
  const auto text = body.text_if("text");
  const auto base64 = body.text_if("base64");
  if (text.has_value() == base64.has_value()) note(mistake, "files", "have either text or base64 each");
  if (text) file.bytes = *text;
  if (base64) {
    auto bytes = bytes_of_base64(*base64);
    if (!bytes) note(mistake, "base64", "must be base64 with its padding");
    file.bytes = std::move(bytes).value_or("");
  }
  if (file.role != "output" && file.role != "files" && file.role != "log" && file.role != "error")
    note(mistake, "role", "must be output, files, log or error");
  if (!is_file_path(file.path)) note(mistake, "path", "must lead into the job's folder");
  return file;
}

void check_files(const std::vector<OutcomeFile>& files, Mistake& mistake) {
  std::map<std::string_view, FileTree> trees;  // by role
  std::size_t bytes = 0;
  for (const auto& file : files) {
    if (trees[file.role].add(file.path)) note(mistake, "path", "is there twice, or both a file and a folder");
    bytes += file.bytes.size();
  }
  if (bytes > limits::kOutcomeBytesMax) {
    note(mistake, "files",
         "may have " + std::to_string(limits::kOutcomeBytesMax) +
             " bytes together: send larger ones as chunks first");
  }
}

bool may_send(const OutcomeRow& row) {
  return row.recorded_as.has_value();
}

bool may_send(const FailureRow& row) {
  return row.source == FailureSource::agent;
}

// The names of what agents may send, as in "a, b or c".
template <class Row>
std::string sendable_names(std::span<const Row> table) {
  std::vector<std::string_view> names;
  for (const auto& row : table) {
    if (may_send(row)) names.push_back(row.name);
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

AttemptOutcome outcome_kind_in(JsonBody& body, Mistake& mistake) {
  const auto kind = attempt_outcome_named(body.text("outcome"));
  if (kind && may_send(row_of(*kind))) return *kind;
  note(mistake, "outcome", "must be " + sendable_names(outcome_table()));
  return AttemptOutcome::handed_back;
}

std::optional<FailureCode> failure_code_in(JsonBody& body, AttemptOutcome kind, Mistake& mistake) {
  const auto name = body.text_if("failure_code").value_or("");
  if ((kind == AttemptOutcome::failed) == name.empty())
    note(mistake, "failure_code", "belongs to the outcome failed, and only to that");
  if (name.empty()) return std::nullopt;
  const auto code = failure_code_named(name);
  if (code && may_send(row_of(*code))) return code;
  note(mistake, "failure_code", "must be one of " + sendable_names(failure_table()));
  return std::nullopt;
}

Outcome outcome_in(JsonBody& body, Mistake& mistake) {
  Outcome outcome{.attempt = key_in(body, mistake), .kind = outcome_kind_in(body, mistake)};
  outcome.cpu_ms = integer_in(body, "cpu_ms", 0, kCpuMsMax, mistake);
  outcome.failure_code = failure_code_in(body, outcome.kind, mistake);
  outcome.failure_detail = text_within(body, "failure_detail", limits::kFailureDetailBytesMax, mistake);
  outcome.files = list_in(body, "files", limits::kOutcomeFilesMax, mistake,
                          [&](JsonBody& object) { return file_in(object, mistake); });
  check_files(outcome.files, mistake);
  return outcome;
}

std::optional<RequestId> request_id_in(JsonBody& body, Mistake& mistake) {
  const auto text = body.text_if("request_id");
  if (!text) return std::nullopt;
  const auto id = RequestId::parse(*text);
  if (!id) note(mistake, "request_id", "must be an id");
  return id;
}

std::int64_t loss_ms_mean_in(JsonBody& body, Mistake& mistake) {
  return body.has("loss_ms_mean") ? integer_in(body, "loss_ms_mean", 1, kCpuMsMax, mistake) : 0;
}

Assignment assignment_in(JsonBody& body, Mistake& mistake) {
  return {.attempt = key_in(body, mistake),
          .exec_file = body.text("exec_file"),
          .cpu_cores = integer_in(body, "cpu_cores", 1, limits::kCpuCoresMax, mistake),
          .ram_mb = integer_in(body, "ram_mb", 1, limits::kRamMbMax, mistake),
          .disc_mb = integer_in(body, "disc_mb", 1, limits::kDiscMbMax, mistake),
          .cpu_ms_max = body.integer_if("cpu_ms_max"),
          .deadline = body.text_if("deadline"),
          .watched_variables = body.texts_or_none("watched_variables"),
          .files = list_in(body, "files", limits::kAssignedFilesMax, mistake,
                           [&](JsonBody& object) {
                             AssignedFile file{object.text("path"), {}};
                             auto bytes = bytes_of_base64(object.text("base64"));
                             if (!bytes) note(mistake, "base64", "must be base64 with its padding");
                             file.bytes = std::move(bytes).value_or("");
                             return file;
                           }),
          .request_id = request_id_in(body, mistake),
          .resumable = body.flag_or("resumable", false),
          .resume = body.flag_or("resume", false),
          .loss_ms_mean = loss_ms_mean_in(body, mistake)};
}

Welcome welcome_in(JsonBody& body, Mistake& mistake) {
  const auto session = MachineSessionId::parse(body.text("machine_session"));
  if (!session) note(mistake, "machine_session", "must be an id");
  return {.protocol = integer_in(body, "protocol", 1, INT32_MAX, mistake),
          .machine_session = session.value_or(MachineSessionId::make()),
          .beat_ms = integer_in(body, "beat_ms", 1, INT32_MAX, mistake),
          .lease_ms = integer_in(body, "lease_ms", 1, INT32_MAX, mistake),
          .keep = names_in(body, "keep", mistake),
          .stop = names_in(body, "stop", mistake)};
}

std::optional<FromAgent> agent_body(std::string_view type, JsonBody& body, Mistake& mistake) {
  if (type == "hello") return hello_in(body, mistake);
  if (type == "accept") return Accept{keys_in(body, mistake)};
  if (type == "refuse") {
    return Refuse{keys_in(body, mistake), text_within(body, "reason", limits::kMessageTextBytesMax, mistake)};
  }
  if (type == "beat") return beat_in(body, mistake);
  if (type == "progress") {
    return Progress{key_in(body, mistake), number_in(body, "fraction", 1, mistake),
                    text_within(body, "message", limits::kMessageTextBytesMax, mistake)};
  }
  if (type == "watched_records") return watched_records_in(body, mistake);
  if (type == "outcome") return outcome_in(body, mistake);
  if (type == "goodbye") {
    return Goodbye{text_within(body, "reason", limits::kMessageTextBytesMax, mistake),
                   keys_in(body, mistake)};
  }
  if (type == "renew") return Renew{};
  if (type == "ack") return Ack{};
  return std::nullopt;
}

std::optional<FromMarket> market_body(std::string_view type, JsonBody& body, Mistake& mistake) {
  if (type == "welcome") return welcome_in(body, mistake);
  if (type == "assign") {
    return Assign{list_in(body, "jobs", limits::kFrameAttemptsMax, mistake,
                          [&](JsonBody& object) { return assignment_in(object, mistake); })};
  }
  if (type == "stop") return Stop{names_in(body, "attempts", mistake), body.text_if("reason").value_or("")};
  if (type == "hand_over")
    return HandOver{names_in(body, "attempts", mistake), body.text_if("reason").value_or("")};
  if (type == "token") return Token{body.text("token"), body.text("expires_at")};
  if (type == "problem") {
    Problem problem{.re = integer_in(body, "re", 0, INT64_MAX, mistake),
                    .code = body.text("code"),
                    .detail = body.text_if("detail").value_or("")};
    if (body.has("job")) problem.attempt = name_in(body, mistake);
    return problem;
  }
  if (type == "ack") return Ack{};
  return std::nullopt;
}

template <class Body, class ReadBody>
Result<Frame<Body>> read_frame(JsonBody body, ReadBody read_body) {
  Mistake mistake;
  const auto type = body.text("type");
  const auto number = body.integer_or("seq", 0);
  const auto ack = body.integer_or("ack", 0);
  std::optional<Body> read = read_body(type, body, mistake);
  // Of an unknown message every field is unknown; the type is what is wrong with it.
  if (!read && body.has("type"))
    return refuse(Code::invalid_field, "type is not one of this protocol's", "type");
  if (auto refusal = body.refusal()) return *refusal;
  const bool alone = std::holds_alternative<Ack>(*read);
  if (alone && body.has("seq")) note(mistake, "seq", "is not a field of ack: nobody acknowledges it");
  if (!alone && number < 1) note(mistake, "seq", "must count messages from 1");
  if (ack < 0) note(mistake, "ack", "must be a message's number");
  if (mistake) return *mistake;
  return Frame<Body>{number, ack, std::move(*read)};
}

}  // namespace

Result<Frame<FromAgent>> read_from_agent(std::string_view text) {
  return read_from_agent(JsonBody{text, limits::kFrameBytesMax});
}

Result<Frame<FromAgent>> read_from_agent(JsonBody body) {
  return read_frame<FromAgent>(std::move(body), agent_body);
}

std::optional<Frame<Malformed>> read_malformed(std::string_view text) {
  return read_malformed(JsonBody{text, limits::kFrameBytesMax});
}

std::optional<Frame<Malformed>> read_malformed(JsonBody body) {
  constexpr std::array<std::string_view, 3> kOfOneAttempt{"progress", "watched_records", "outcome"};
  Mistake mistake;
  const auto number = integer_in(body, "seq", 1, INT64_MAX, mistake);
  const auto ack = body.has("ack") ? integer_in(body, "ack", 0, INT64_MAX, mistake) : 0;
  Malformed malformed{key_in(body, mistake)};
  if (mistake || !std::ranges::contains(kOfOneAttempt, body.text("type"))) return std::nullopt;
  const auto cpu_ms = body.integer_if("cpu_ms");
  if (cpu_ms && *cpu_ms >= 0 && *cpu_ms <= kCpuMsMax) malformed.cpu_ms = cpu_ms;
  return Frame<Malformed>{number, ack, std::move(malformed)};
}

Result<Frame<FromMarket>> read_from_market(std::string_view text) {
  return read_from_market(JsonBody{text, limits::kFrameBytesMax});
}

Result<Frame<FromMarket>> read_from_market(JsonBody body) {
  return read_frame<FromMarket>(std::move(body), market_body);
}

}  // namespace remotist::protocol
