// /job/{id}/checkpoint…, /job/{id}/resume and /job/{id}/attempts: how machines keep a job going, and what of
// it its owner sees.
#include "core/json_body.h"
#include "market/api/attempt.h"
#include "market/api/job_document.h"
#include "market/api/on_pool.h"
#include "market/api/page.h"
#include "market/api/routes.h"
#include "market/service/checkpoint_bodies.h"
#include "market/service/record_checkpoint.h"
#include "market/service/resume_attempt.h"
#include "market/store/attempt_list.h"
#include "market/store/checkpoint_list.h"

namespace remotist::market {
namespace {

nlohmann::json document_of(const CheckpointPosition& position) {
  return {{"file", position.file}, {"line", position.line}, {"call", position.call}};
}

nlohmann::json document_of(const UsableCheckpoint& checkpoint) {
  const auto& manifest = checkpoint.manifest;
  nlohmann::json document{{"sequence", checkpoint.sequence},
                          {"attempt", checkpoint.attempt},
                          {"number", manifest.number},
                          {"format", manifest.format},
                          {"r_version", manifest.r_version},
                          {"architecture", manifest.architecture},
                          {"packages", manifest.packages},
                          {"state_bytes", manifest.state_bytes},
                          {"size_bytes", manifest.size_bytes},
                          {"sent_bytes", manifest.sent_bytes},
                          {"pause_ms", manifest.pause_ms},
                          {"interval_ms", manifest.interval_ms},
                          {"position", document_of(manifest.position)},
                          {"attempt_cpu_ms", manifest.attempt_cpu_ms},
                          {"age_ms", manifest.age_ms},
                          {"watched", manifest.watched},
                          {"log_left_out", manifest.log_left_out}};
  if (manifest.progress) {
    document["progress"] = {{"fraction", manifest.progress->fraction},
                            {"message", manifest.progress->message}};
  }
  if (manifest.log) document["log"] = manifest.log->hex();
  if (checkpoint.cpu_ms_max) document["cpu_ms_max"] = *checkpoint.cpu_ms_max;
  return document;
}

nlohmann::json document_of(const KeptCheckpoint& checkpoint) {
  return {{"sequence", checkpoint.sequence},
          {"attempt", checkpoint.attempt},
          {"at", checkpoint.at},
          {"size_bytes", checkpoint.size_bytes},
          {"sent_bytes", checkpoint.sent_bytes},
          {"pause_ms", checkpoint.pause_ms},
          {"position", document_of(checkpoint.position)},
          {"r_version", checkpoint.r_version},
          {"architecture", checkpoint.architecture},
          {"packages", checkpoint.packages},
          {"cpu_ms", checkpoint.cpu_ms},
          {"usable", !checkpoint.unusable_because},
          {"why", or_null(checkpoint.unusable_because)}};
}

template <class Checkpoint>
Reply reply_of(const std::vector<Checkpoint>& checkpoints) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& each : checkpoints) list.push_back(document_of(each));
  return Reply::json({{"checkpoints", list}});
}

nlohmann::json document_of(const ListedAttempt& attempt) {
  nlohmann::json skipped = nlohmann::json::array();
  for (const auto& [sequence, reason] : attempt.skipped)
    skipped.push_back({{"sequence", sequence}, {"reason", reason}});
  return {{"number", attempt.number},
          {"machine", attempt.machine.text()},
          {"machine_name", or_null(attempt.machine_name)},
          {"assigned_at", attempt.assigned_at},
          {"accepted_at", or_null(attempt.accepted_at)},
          {"ended_at", or_null(attempt.ended_at)},
          {"outcome", or_null(attempt.outcome)},
          {"cpu_ms", attempt.cpu_ms},
          {"paid_micro", attempt.paid_micro},
          {"saved_cpu_ms", attempt.saved_cpu_ms},
          {"resumed_from", or_null(attempt.resumed_from)},
          {"skipped", skipped},
          {"checkpoints", attempt.checkpoints}};
}

Reply reply_of(const AttemptPage& listed, const Page& page) {
  nlohmann::json attempts = nlohmann::json::array();
  for (const auto& attempt : listed.attempts) attempts.push_back(document_of(attempt));
  return Reply::json(
      {{"attempts", attempts}, {"page", page.number}, {"per_page", page.rows}, {"more", listed.more}});
}

}  // namespace

// A manifest may have a megabyte, so it is read on a pool's thread, and by machines that may send it.
Answer post_job_checkpoint(Context& context, Request request) {
  const auto id = job_id_of(request);
  if (!id) co_return id.refusal();
  const auto caller = user_or_attempt_of(request);
  if (!caller) co_return caller.refusal();
  const auto sequence = co_await on_pool(context.chunks, [&](pg::Connection& db) -> Result<int> {
    if (const auto may = check_may_checkpoint(db, *caller, *id); !may) return may.refusal();
    const auto manifest = read_checkpoint_manifest(JsonBody{request.http->body(), limits::kBodyBytesMax});
    if (!manifest) return manifest.refusal();
    return record_checkpoint(db, *caller, *id, *manifest);
  });
  if (!sequence) co_return sequence.refusal();
  co_return Reply::json({{"sequence", *sequence}}, 201);
}

Answer get_job_checkpoints(Context& context, Request request) {
  const auto id = job_id_of(request);
  if (!id) co_return id.refusal();
  const auto caller = user_or_attempt_of(request);
  if (!caller) co_return caller.refusal();
  co_return co_await on_pool(context.database, [&](pg::Connection& db) -> Result<Reply> {
    if (!caller->attempt) {
      const auto kept = kept_checkpoints(db, caller->token_hash, *id);
      if (!kept) return kept.refusal();
      return reply_of(*kept);
    }
    const auto usable = usable_checkpoints(db, *caller, *id);
    if (!usable) return usable.refusal();
    return reply_of(*usable);
  });
}

Answer get_job_checkpoint(Context& context, Request request) {
  const auto id = job_id_of(request);
  if (!id) co_return id.refusal();
  const auto sequence = read_sequence(request.path_values.at(1));
  if (!sequence || *sequence < 1 || *sequence > INT32_MAX)
    co_return refuse(Code::not_found, "a checkpoint has a number from 1 on");
  const auto caller = user_or_attempt_of(request);
  if (!caller) co_return caller.refusal();
  co_return co_await on_pool(context.chunks, [&](pg::Connection& db) -> Result<Reply> {
    if (const auto machine = checkpoint_caller(db, *caller, *id); !machine) return machine.refusal();
    const auto chunks = chunks_of_checkpoint(db, *caller, *id, static_cast<int>(*sequence));
    if (!chunks) return chunks.refusal();
    return Reply::json({{"sequence", *sequence}, {"chunks", *chunks}});
  });
}

Answer post_job_checkpoint_note(Context& context, Request request) {
  const auto id = job_id_of(request);
  if (!id) co_return id.refusal();
  const auto caller = user_or_attempt_of(request);
  if (!caller) co_return caller.refusal();
  const auto noted = co_await on_pool(context.database, [&](pg::Connection& db) -> Result<void> {
    if (const auto may = check_may_checkpoint(db, *caller, *id); !may) return may.refusal();
    const auto note = read_checkpoint_note(JsonBody{request.http->body()});
    if (!note) return note.refusal();
    return record_checkpoint_note(db, *caller, *id, *note);
  });
  if (!noted) co_return noted.refusal();
  co_return Reply::nothing();
}

Answer post_job_resume(Context& context, Request request) {
  const auto id = job_id_of(request);
  if (!id) co_return id.refusal();
  const auto caller = user_or_attempt_of(request);
  if (!caller) co_return caller.refusal();
  const auto resumed = co_await on_pool(context.database, [&](pg::Connection& db) -> Result<void> {
    if (const auto machine = checkpoint_caller(db, *caller, *id); !machine) return machine.refusal();
    const auto report = read_resume_report(JsonBody{request.http->body()});
    if (!report) return report.refusal();
    return resume_attempt(db, *caller, *id, *report);
  });
  if (!resumed) co_return resumed.refusal();
  co_return Reply::nothing();
}

Answer get_job_attempts(Context& context, Request request) {
  const auto id = job_id_of(request);
  if (!id) co_return id.refusal();
  const auto page = page_of(request);
  if (!page) co_return page.refusal();
  co_return co_await on_pool(context.database, [&](pg::Connection& db) -> Result<Reply> {
    const auto listed = list_attempts(db, request.token_hash, *id, page->number, page->rows);
    if (!listed) return listed.refusal();
    return reply_of(*listed, *page);
  });
}

}  // namespace remotist::market
