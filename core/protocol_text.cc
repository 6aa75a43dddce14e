// How messages are written; protocol.cc reads them.
#include <algorithm>

#include "core/digest.h"
#include "core/json.h"
#include "core/protocol.h"
#include "core/watched_record_json.h"

namespace remotist::protocol {
namespace {

using nlohmann::json;
using remotist::json_of;

json json_of(const AttemptName& name) {
  return {{"job", name.job.text()}, {"attempt", name.number}};
}

json json_of(const AttemptKey& key) {
  json document = json_of(key.name);
  document["token"] = key.token;
  return document;
}

json json_of(const Beat::Running& running) {
  json document = json_of(running.name);
  document["cpu_ms"] = running.cpu_ms;
  return document;
}

json json_of(const Assignment& job) {
  json document = json_of(job.attempt);
  document["exec_file"] = job.exec_file;
  document["cpu_cores"] = job.cpu_cores;
  document["ram_mb"] = job.ram_mb;
  document["disc_mb"] = job.disc_mb;
  if (job.cpu_ms_max) document["cpu_ms_max"] = *job.cpu_ms_max;
  if (job.deadline) document["deadline"] = *job.deadline;
  if (!job.watched_variables.empty()) document["watched_variables"] = job.watched_variables;
  if (job.request_id) document["request_id"] = job.request_id->text();
  if (job.resumable) document["resumable"] = true;
  if (job.resume) document["resume"] = true;
  if (job.loss_ms_mean != 0) document["loss_ms_mean"] = job.loss_ms_mean;
  for (const auto& file : job.files)
    document["files"].push_back({{"path", file.path}, {"base64", base64_of(file.bytes)}});
  return document;
}

template <class Item>
json list_of(const std::vector<Item>& items) {
  json list = json::array();
  for (const auto& item : items) list.push_back(json_of(item));
  return list;
}

std::string dumped(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Each body as an object with its type, but those of object_text() below.
struct Writer {
  json operator()(const Hello& hello) const {
    json document{{"type", "hello"},
                  {"protocols", hello.protocols},
                  {"software", hello.software},
                  {"taking_jobs", hello.taking_jobs},
                  {"attempts", list_of(hello.attempts)}};
    if (!hello.r_version.empty()) document["r_version"] = hello.r_version;
    if (!hello.architecture.empty()) document["architecture"] = hello.architecture;
    if (!hello.packages.empty()) document["packages"] = hello.packages;
    return document;
  }
  json operator()(const Refuse& refused) const {
    return {{"type", "refuse"}, {"attempts", list_of(refused.attempts)}, {"reason", refused.reason}};
  }
  json operator()(const Beat& beat) const {
    return {{"type", "beat"},
            {"taking_jobs", beat.taking_jobs},
            {"user_present", beat.user_present},
            {"cpu_used", beat.cpu_used},
            {"ram_mb_used", beat.ram_mb_used},
            {"disc_mb_used", beat.disc_mb_used},
            {"network_kb_per_s", beat.network_kb_per_s},
            {"attempts", list_of(beat.attempts)}};
  }
  json operator()(const Progress& progress) const {
    json document = json_of(progress.attempt);
    document["type"] = "progress";
    document["fraction"] = progress.fraction;
    document["message"] = progress.message;
    return document;
  }
  json operator()(const WatchedRecords& watched) const {
    json document = json_of(watched.attempt);
    document["type"] = "watched_records";
    document["records"] = list_of(watched.records);
    return document;
  }
  json operator()(const Goodbye& goodbye) const {
    return {{"type", "goodbye"}, {"reason", goodbye.reason}, {"attempts", list_of(goodbye.attempts)}};
  }
  json operator()(const Renew&) const { return {{"type", "renew"}}; }
  json operator()(const Ack&) const { return {{"type", "ack"}}; }
  json operator()(const Welcome& welcome) const {
    return {{"type", "welcome"},
            {"protocol", welcome.protocol},
            {"machine_session", welcome.machine_session.text()},
            {"beat_ms", welcome.beat_ms},
            {"lease_ms", welcome.lease_ms},
            {"keep", list_of(welcome.keep)},
            {"stop", list_of(welcome.stop)}};
  }
  json operator()(const Assign& assign) const { return {{"type", "assign"}, {"jobs", list_of(assign.jobs)}}; }
  json operator()(const Stop& stop) const {
    return {{"type", "stop"}, {"attempts", list_of(stop.attempts)}, {"reason", stop.reason}};
  }
  json operator()(const HandOver& hand_over) const {
    return {{"type", "hand_over"}, {"attempts", list_of(hand_over.attempts)}, {"reason", hand_over.reason}};
  }
  json operator()(const Token& token) const {
    return {{"type", "token"}, {"token", token.token}, {"expires_at", token.expires_at}};
  }
  json operator()(const Problem& problem) const {
    json document{
        {"type", "problem"}, {"re", problem.re}, {"code", problem.code}, {"detail", problem.detail}};
    if (problem.attempt) document.update(json_of(*problem.attempt));
    return document;
  }
};

template <class Body>
std::string object_text(const Body& body) {
  return dumped(Writer{}(body));
}

// Accepts and outcomes, of which each job has one, are written without a document, which takes most of the
// time.

void append_text(std::string& into, std::string_view text) {
  const bool is_plain = std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.' || c == '/';
  });
  if (is_plain) {
    into.append("\"").append(text).append("\"");
  } else {
    into.append(dumped(json(text)));
  }
}

void append_key(std::string& into, const AttemptKey& key) {
  into.append(R"("job":")").append(key.name.job.text());
  into.append(R"(","attempt":)").append(std::to_string(key.name.number));
  into.append(R"(,"token":)");
  append_text(into, key.token);
}

void append_file(std::string& into, const OutcomeFile& file) {
  into.append(R"({"role":)");
  append_text(into, file.role);
  into.append(R"(,"path":)");
  append_text(into, file.path);
  into.append(R"(,"base64":")").append(base64_of(file.bytes)).append("\"}");
}

template <class Item>
void append_list(std::string& into, const std::vector<Item>& items, auto append_item) {
  into.push_back('[');
  for (const auto& item : items) {
    if (into.back() != '[') into.push_back(',');
    append_item(item);
  }
  into.push_back(']');
}

std::string object_text(const Accept& accept) {
  std::string text = R"({"type":"accept","attempts":)";
  append_list(text, accept.attempts, [&](const AttemptKey& key) {
    text.push_back('{');
    append_key(text, key);
    text.push_back('}');
  });
  return text.append("}");
}

std::string object_text(const Outcome& outcome) {
  std::string text = R"({"type":"outcome",)";
  append_key(text, outcome.attempt);
  text.append(R"(,"outcome":)");
  append_text(text, name_of(outcome.kind));
  text.append(R"(,"cpu_ms":)").append(std::to_string(outcome.cpu_ms));
  if (outcome.failure_code) {
    text.append(R"(,"failure_code":)");
    append_text(text, name_of(*outcome.failure_code));
  }
  if (!outcome.failure_detail.empty()) {
    text.append(R"(,"failure_detail":)");
    append_text(text, outcome.failure_detail);
  }
  if (!outcome.files.empty()) {
    text.append(R"(,"files":)");
    append_list(text, outcome.files, [&](const OutcomeFile& file) { append_file(text, file); });
  }
  return text.append("}");
}

template <class Body>
std::string written(const Frame<Body>& frame) {
  std::string text = std::visit([](const auto& body) { return object_text(body); }, frame.body);
  text.pop_back();  // the brace that ends the object
  if (frame.number != 0) text.append(R"(,"seq":)").append(std::to_string(frame.number));
  if (frame.ack != 0) text.append(R"(,"ack":)").append(std::to_string(frame.ack));
  return text.append("}");
}

}  // namespace

std::string text_of(const Frame<FromAgent>& frame) {
  return written(frame);
}

std::string text_of(const Frame<FromMarket>& frame) {
  return written(frame);
}

}  // namespace remotist::protocol
