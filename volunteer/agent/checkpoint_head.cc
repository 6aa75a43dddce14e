#include "volunteer/agent/checkpoint_head.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/digest.h"
#include "core/utf8.h"
#include "core/watched_record.h"
#include "volunteer/sandbox/checkpoint_file.h"

namespace remotist::volunteer {
namespace {

using nlohmann::json;

constexpr int kHeadVersion = 1;
constexpr int kHeadDepthMax = 5;

[[noreturn]] void no_head() {
  throw std::runtime_error{"the head of the checkpoint is damaged"};
}

std::string text_of(const json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_string()) no_head();
  return found->get<std::string>();
}

ResumeFrom::Watched read_watched(const json& each) {
  const auto kind = watched_kind_named(text_of(each, "kind"));
  const auto hex = text_of(each, "hash");
  const auto hash = bytes_of_hex(hex, hex.size() / 2);
  if (!kind || !hash || hash->empty() || hash->size() > kWatchedHashBytesMax) no_head();
  return {*kind, *hash};
}

}  // namespace

std::string head_text(const CheckpointRecord& record) {
  json watched = json::array();
  for (const auto& state : record.watched) {
    if (!state.mark) continue;
    watched.push_back({{"variable", state.variable},
                       {"kind", name_of(state.mark->kind)},
                       {"hash", hex_of(state.mark->hash)}});
  }
  return json{
      {"head", kHeadVersion}, {"manifest", record.uploaded->manifest}, {"watched", std::move(watched)}}
      .dump();
}

CheckpointHead read_head(std::string_view text, const std::vector<std::string>& watched_variables) {
  const auto document = json_if_any(text, kHeadDepthMax);
  if (!document || !document->is_object() || document->value("head", json{}) != kHeadVersion) no_head();
  CheckpointHead head{.manifest = text_of(*document, "manifest"), .watched = {}};
  const auto watched = document->find("watched");
  if (watched == document->end() || !watched->is_array()) no_head();
  for (const auto& each : *watched) {
    if (!each.is_object()) no_head();
    const auto name = std::ranges::find(watched_variables, text_of(each, "variable"));
    if (name == watched_variables.end()) continue;
    head.watched[static_cast<std::size_t>(name - watched_variables.begin())] = read_watched(each);
  }
  return head;
}

json record_body(const CheckpointRecord& record, const std::string& head, const std::string& log,
                 std::int64_t age_ms) {
  const auto manifest = parse_checkpoint_manifest(record.uploaded->manifest);
  if (!manifest) throw std::runtime_error{"the checkpoint's manifest has another form"};
  const auto& taken = *record.taken;
  json watched = json::object();
  for (const auto& state : record.watched) watched[state.variable] = state.number;
  json chunks = json::array({head});
  for (const auto& name : record.uploaded->chunks) chunks.push_back(name);
  json body{{"number", record.number},
            {"format", manifest->format},
            {"r_version", manifest->r_version},
            {"architecture", manifest->architecture},
            {"packages", manifest->packages},
            {"state_bytes", manifest->state_bytes},
            {"size_bytes", record.uploaded->contents_bytes},
            {"position", {{"file", manifest->file}, {"line", manifest->line}, {"call", manifest->call}}},
            {"attempt_cpu_ms", record.attempt_cpu_ms},
            {"age_ms", age_ms},
            {"pause_ms", std::isfinite(taken.pause_ms) ? std::max(taken.pause_ms, 0.0) : 0.0},
            {"sent_bytes", record.uploaded->sent_bytes},
            {"interval_ms", record.interval_ms},
            {"watched", std::move(watched)},
            {"log_left_out", taken.log_left_out},
            {"chunks", std::move(chunks)}};
  if (taken.progress)
    body["progress"] = {{"fraction", taken.progress->fraction},
                        {"message", clean_text(taken.progress->message, limits::kMessageTextBytesMax)}};
  if (!log.empty()) body["log"] = log;
  return body;
}

}  // namespace remotist::volunteer
