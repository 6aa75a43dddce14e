// /job/{id}/{code,data,output,files,log,error}: the files of a job, by role. What they hold is in the answer
// when it came inline, else in chunks (GET /blob/{sha256}?job={id}).
#include "market/store/job_files.h"

#include <algorithm>

#include "core/digest.h"
#include "core/file_path.h"
#include "core/utf8.h"
#include "market/api/attempt.h"
#include "market/api/job_document.h"
#include "market/api/on_pool.h"
#include "market/api/page.h"
#include "market/api/routes.h"
#include "market/service/file_list.h"
#include "market/service/put_job_files.h"

namespace remotist::market {
namespace {

// JSON has no bytes, many readers of JSON, R's among them, end a text at its first zero byte, and other
// control characters take six bytes each.
bool is_plain_text(std::string_view bytes) {
  const auto is_control = [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t' && c != '\r';
  };
  return is_utf8(bytes) && std::ranges::none_of(bytes, is_control);
}

nlohmann::json document_of(const JobFile& file) {
  nlohmann::json document{{"path", file.path}, {"size", file.size}};
  if (file.text) {
    if (is_plain_text(*file.text)) {
      document["text"] = *file.text;
    } else {
      document["base64"] = base64_of(*file.text);
    }
    return document;
  }
  document["chunks"] = nlohmann::json::array();
  for (const auto& chunk : file.chunks) document["chunks"].push_back(chunk.hex());
  return document;
}

Reply reply_of(const JobFilePage& listed, const Page& page) {
  nlohmann::json document{{"files", nlohmann::json::array()},
                          {"page", page.number},
                          {"per_page", page.rows},
                          {"more", listed.more},
                          {"next", or_null(listed.next)}};
  for (const auto& file : listed.files) document["files"].push_back(document_of(file));
  return Reply::json(document);
}

// The first path of a page.
Result<std::optional<std::string>> from_of(const Request& request) {
  const std::string& path = request.http->getParameter("from");
  if (path.empty()) return std::optional<std::string>{};
  if (is_file_path(path)) return std::optional{path};
  return refuse(Code::invalid_field, "from must be a file's path", "from");
}

}  // namespace

// These bodies and answers have megabytes, so they are read and written on a pool's thread, and by callers
// that may.
Answer post_files(Context& context, Request request, FileRole role) {
  const auto id = job_id_of(request);
  if (!id) co_return id.refusal();
  const auto caller = user_or_attempt_of(request);
  if (!caller) co_return caller.refusal();
  const auto stored = co_await on_pool(context.chunks, [&](pg::Connection& db) -> Result<void> {
    if (auto may = check_may_bring(db, *caller, *id, role); !may) return may;
    const auto files = read_file_list(request.http->body());
    if (!files) return files.refusal();
    return put_files(db, *caller, *id, role, *files);
  });
  if (!stored) co_return stored.refusal();
  co_return Reply::nothing();
}

Answer get_files(Context& context, Request request, FileRole role) {
  const auto id = job_id_of(request);
  if (!id) co_return id.refusal();
  const auto caller = user_or_attempt_of(request);
  if (!caller) co_return caller.refusal();
  const auto page = page_of(request);
  if (!page) co_return page.refusal();
  const auto from = from_of(request);
  if (!from) co_return from.refusal();
  co_return co_await on_pool(context.chunks, [&](pg::Connection& db) -> Result<Reply> {
    const auto listed = list_files(db, *caller, *id, role, *from, page->number, page->rows);
    if (!listed) return listed.refusal();
    return reply_of(*listed, *page);
  });
}

}  // namespace remotist::market
