// /job/{id}/partialResults/…: watched variables, their newest values and their history, for the job's owner;
// and for the machine that runs it a way to record one. Values are R's serialize() streams, which the market
// never reads.
#include <chrono>

#include "core/digest.h"
#include "core/json_body.h"
#include "core/limits.h"
#include "core/watched_record_json.h"
#include "market/api/attempt.h"
#include "market/api/await_change.h"
#include "market/api/etag.h"
#include "market/api/on_pool.h"
#include "market/api/page.h"
#include "market/api/routes.h"
#include "market/api/timestamp.h"
#include "market/service/put_job_files.h"
#include "market/service/record_watched.h"
#include "market/service/request_fields.h"
#include "market/store/job_files.h"
#include "market/store/watched_history.h"

namespace remotist::market {
namespace {

using nlohmann::json;

// A record with a value of 64 KiB in base64, and its envelope.
constexpr std::size_t kRecordBytesMax = 2 * limits::kRecordInlineBytesMax + (1 << 16);
static_assert(kRecordBytesMax > limits::kRecordChunksMax * 67 + limits::kMessageTextBytesMax);

const std::string& variable_of(const Request& request) {
  return request.path_values.at(1);
}

Result<std::optional<std::int64_t>> after_of(const Request& request) {
  const std::string& text = request.http->getParameter("after");
  if (text.empty()) return std::optional<std::int64_t>{};
  const auto sequence = read_sequence(text);
  if (!sequence) return refuse(Code::invalid_field, "after must be a record's sequence, or 0", "after");
  return sequence;
}

// One end of a range: a sequence or a timestamp.
Result<void> read_end(const Request& request, const char* field, std::optional<std::int64_t>& sequence,
                      std::optional<std::string>& timestamp) {
  const std::string& text = request.http->getParameter(field);
  if (text.empty()) return {};
  sequence = read_sequence(text);
  if (!sequence) timestamp = timestamp_of(text);
  if (sequence || timestamp) return {};
  return refuse(Code::invalid_field,
                std::string{field} + " must be a record's sequence, or a time such as 2026-02-01T09:30:00Z",
                field);
}

void add_head(json& document, const StoredRecord& result) {
  document["sequence"] = result.sequence;
  document["changes"] = result.changes;
  document["at"] = result.at;
  document["kind"] = name_of(result.kind);
  document["size"] = result.size;
}

json document_of(const std::string& variable, const StoredRecord& result) {
  json document;
  document["variable"] = variable;
  add_head(document, result);
  if (result.bytes) document["base64"] = base64_of(*result.bytes);
  if (!result.chunks.empty()) document["chunks"] = result.chunks;
  if (result.words) document["words"] = *result.words;
  document["thinned"] = result.thinned;
  document["superseded"] = result.superseded;
  return document;
}

Refusal no_value(const std::string& variable, const char* when) {
  return refuse(Code::not_found, variable + " has no value " + when);
}

// The answer to who has seen `after`; none when it has to wait.
std::optional<Result<Reply>> newer_than(std::optional<std::int64_t> after, const NewestStoredRecord& newest,
                                        const Request& request) {
  const auto& result = newest.result;
  if (result && result->sequence > after.value_or(-1))
    return unless_known(request, Reply::json(document_of(variable_of(request), *result)));
  if (!after) return no_value(variable_of(request), newest.ended ? "" : "yet");
  if (newest.ended) return Reply::nothing();
  return std::nullopt;
}

Answer value_at(Context& context, Request request, JobId id, std::string text) {
  const auto timestamp = timestamp_of(text);
  if (!timestamp)
    co_return refuse(Code::invalid_field, "at must be a time such as 2026-02-01T09:30:00.250Z", "at");
  const auto found = co_await on_pool(context.database, [&](pg::Connection& db) {
    return record_at(db, request.token_hash, id, variable_of(request), *timestamp);
  });
  if (!found) co_return found.refusal();
  if (!*found) co_return no_value(variable_of(request), "from that time");
  co_return unless_known(request, Reply::json(document_of(variable_of(request), **found)));
}

}  // namespace

Answer get_partial_result(Context& context, Request request) {
  const auto id = job_id_of(request);
  if (!id) co_return id.refusal();
  if (const std::string& at = request.http->getParameter("at"); !at.empty())
    co_return co_await value_at(context, request, *id, at);
  const auto after = after_of(request);
  if (!after) co_return after.refusal();
  if (!after->has_value()) {
    const auto small = co_await on_pool(context.database, [&](pg::Connection& db) {
      return small_newest_record(db, request.token_hash, *id, variable_of(request));
    });
    if (small) co_return unless_known(request, Reply::json(document_of(variable_of(request), *small)));
  }
  // Both times by the token: it may have been revoked while the request was held.
  const auto look = [&](pg::Connection& db) {
    return newest_record(db, request.token_hash, *id, variable_of(request));
  };
  auto newest = co_await on_pool(context.database, look);
  if (!newest) co_return newest.refusal();
  if (auto answer = newer_than(*after, *newest, request)) co_return std::move(*answer);
  // Who has seen what was lost since waits for what comes after that, not for the same again.
  const auto seen = std::max(**after, newest->newest);
  if (!co_await await_change(context.long_poll, {newest->account, *id, variable_of(request), seen},
                             std::chrono::seconds{context.config.held_seconds_max})) {
    co_return refuse(Code::rate_limited,
                     "more requests wait for changes than this market holds: try again in a moment");
  }
  newest = co_await on_pool(context.database, look);
  if (!newest) co_return newest.refusal();
  if (auto answer = newer_than(*after, *newest, request)) co_return std::move(*answer);
  co_return Reply{304, {}, {}, {}};
}

Answer get_partial_history(Context& context, Request request) {
  const auto id = job_id_of(request);
  if (!id) co_return id.refusal();
  const auto page = page_of(request);
  if (!page) co_return page.refusal();
  HistoryRange range;
  if (auto read = read_end(request, "from", range.first, range.from); !read) co_return read.refusal();
  if (auto read = read_end(request, "to", range.last, range.to); !read) co_return read.refusal();
  // It may have megabytes, so it is written on a pool's thread.
  co_return co_await on_pool(context.chunks, [&](pg::Connection& db) -> Result<Reply> {
    const auto listed =
        record_history(db, request.token_hash, *id, variable_of(request), range, page->number, page->rows);
    if (!listed) return listed.refusal();
    json document{{"history", json::array()},
                  {"page", page->number},
                  {"per_page", page->rows},
                  {"more", listed->more},
                  {"next", nullptr}};
    if (listed->next) document["next"] = *listed->next;
    for (const auto& result : listed->results)
      document["history"].push_back(document_of(variable_of(request), result));
    return unless_known(request, Reply::json(document));
  });
}

Answer get_partial_results(Context& context, Request request) {
  const auto id = job_id_of(request);
  if (!id) co_return id.refusal();
  const auto watched = co_await on_pool(
      context.database, [&](pg::Connection& db) { return watched_variables(db, request.token_hash, *id); });
  if (!watched) co_return watched.refusal();
  json variables = json::array();
  for (const auto& each : *watched) {
    json document{{"variable", each.variable}, {"records", each.records}, {"sequence", nullptr}};
    if (each.newest) add_head(document, *each.newest);
    variables.push_back(std::move(document));
  }
  co_return unless_known(request, Reply::json({{"variables", std::move(variables)}}));
}

Answer post_partial_result(Context& context, Request request) {
  const auto id = job_id_of(request);
  if (!id) co_return id.refusal();
  const auto caller = user_or_attempt_of(request);
  if (!caller) co_return caller.refusal();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const auto result = co_await on_pool(context.chunks, [&](pg::Connection& db) -> WatchedResult {
    // Who is not the machine that runs it is told so before the body is read.
    if (auto may = check_may_bring(db, *caller, *id, FileRole::output); !may) return may.refusal();
    if (!context.record_rates.may_record({*id, caller->attempt->number}, 1, request.http->body().size()))
      return refuse(Code::rate_limited, "more records a second than an attempt may bring: say them again");
    JsonBody body{request.http->body(), kRecordBytesMax};
    std::optional<Refusal> mistake;
    auto record = watched_record_in(body, variable_of(request), mistake);
    if (auto refusal = body.refusal()) return *refusal;
    if (mistake) return *mistake;
    return record_watched(db, *caller, *id, {std::move(record)}, now_ms);
  });
  if (!result) co_return result.refusal();
  for (const auto& newest : *result)
    context.long_poll.on_recorded(newest.job, newest.variable, newest.sequence);
  co_return Reply::nothing();
}

}  // namespace remotist::market
