// /blob/…: chunks.
#include "market/service/blobs.h"

#include <set>

#include "market/api/attempt.h"
#include "market/api/on_pool.h"
#include "market/api/routes.h"
#include "market/service/file_list.h"

namespace remotist::market {
namespace {

Result<ChunkName> chunk_named(std::string_view text, const char* field) {
  const auto chunk = ChunkName::parse(text);
  if (chunk) return *chunk;
  return refuse(Code::invalid_field,
                "a chunk is named by the 64 lower-case hexadecimal digits of its SHA-256", field);
}

Result<Encoding> encoding_of_body(const Request& request) {
  const std::string& encoding = request.http->getHeader("content-encoding");
  if (encoding.empty() || encoding == "identity") return Encoding::plain;
  if (encoding == "zstd") return Encoding::zstd;
  return refuse(Code::unsupported_media_type, "a chunk comes plain or with Content-Encoding: zstd");
}

// "br, zstd;q=0.5": does the client take zstd? Only a weight of zero says no.
bool takes_zstd(std::string_view accepted) {
  while (!accepted.empty()) {
    const auto comma = accepted.find(',');
    auto part = accepted.substr(0, comma);
    accepted.remove_prefix(comma == std::string_view::npos ? accepted.size() : comma + 1);
    while (part.starts_with(' ')) part.remove_prefix(1);
    if (!part.starts_with("zstd")) continue;
    part.remove_prefix(4);
    if (!part.empty() && !part.starts_with(' ') && !part.starts_with(';')) continue;
    const auto weight = part.find("q=0");
    return weight == std::string_view::npos ||
           part.find_first_of("123456789", weight) != std::string_view::npos;
  }
  return false;
}

// One who brings chunks; ?for=checkpoint: for the checkpoints of the job that a machine runs.
Result<UserOrAttempt> bringer_of(const Request& request) {
  auto caller = user_or_attempt_of(request);
  if (!caller) return caller;
  const std::string& what_for = request.http->getParameter("for");
  if (what_for.empty()) return caller;
  if (what_for != "checkpoint" || !caller->attempt) {
    return refuse(
        Code::invalid_field,
        "for may be checkpoint, and is for the machine that runs a job: its Remotist-Attempt says which",
        "for");
  }
  caller->for_checkpoint = true;
  return caller;
}

}  // namespace

Answer put_blob(Context& context, Request request) {
  const auto caller = bringer_of(request);
  if (!caller) co_return caller.refusal();
  const auto chunk = chunk_named(request.path_values.at(0), "sha256");
  if (!chunk) co_return chunk.refusal();
  const auto encoding = encoding_of_body(request);
  if (!encoding) co_return encoding.refusal();
  const auto kept = co_await on_pool(context.chunks, [&](pg::Connection& db) {
    return keep_chunk(db, context.blob_files, *caller, *chunk, request.http->body(), *encoding);
  });
  if (!kept) co_return kept.refusal();
  co_return Reply::nothing();
}

Answer get_blob(Context& context, Request request) {
  const auto caller = user_or_attempt_of(request);
  if (!caller) co_return caller.refusal();
  const auto chunk = chunk_named(request.path_values.at(0), "sha256");
  if (!chunk) co_return chunk.refusal();
  const auto job = JobId::parse(request.http->getParameter("job"));
  if (!job) {
    co_return refuse(Code::invalid_field, "say through which job you read it: ?job=<id>", "job");
  }
  const auto encoding =
      takes_zstd(request.http->getHeader("accept-encoding")) ? Encoding::zstd : Encoding::plain;
  auto bytes = co_await on_pool(context.chunks, [&](pg::Connection& db) {
    return read_chunk(db, context.blob_files, *caller, *job, *chunk, encoding);
  });
  if (!bytes) co_return bytes.refusal();
  Reply reply{200, std::move(*bytes), "application/octet-stream", {}};
  reply.headers = {{"Cache-Control", "private, max-age=31536000, immutable"}, {"Vary", "Accept-Encoding"}};
  if (encoding == Encoding::zstd) reply.headers.emplace_back("Content-Encoding", "zstd");
  co_return reply;
}

Answer post_blob_missing(Context& context, Request request) {
  const auto caller = bringer_of(request);
  if (!caller) co_return caller.refusal();
  const auto asked = read_chunk_list(request.http->body());
  if (!asked) co_return asked.refusal();
  const auto present = co_await on_pool(
      context.database, [&](pg::Connection& db) { return present_chunks(db, *caller, *asked); });
  if (!present) co_return present.refusal();
  std::set<std::string> missing;
  for (const auto& chunk : *asked) {
    if (!present->contains(chunk)) missing.insert(chunk.hex());
  }
  co_return Reply::json({{"missing", missing}});
}

}  // namespace remotist::market
