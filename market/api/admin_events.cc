// /admin/events: the audit log.
#include "core/id.h"
#include "market/api/job_document.h"
#include "market/api/on_pool.h"
#include "market/api/page.h"
#include "market/api/routes.h"
#include "market/api/timestamp.h"
#include "market/service/request_fields.h"
#include "market/service/subscriber.h"
#include "market/store/audit.h"

namespace remotist::market {
namespace {

std::optional<std::string> asked(const Request& request, const char* field) {
  const std::string& text = request.http->getParameter(field);
  return text.empty() ? std::nullopt : std::optional{text};
}

Result<std::optional<std::string>> timestamp_asked(const Request& request, const char* field) {
  const auto text = asked(request, field);
  if (!text) return std::optional<std::string>{};
  auto timestamp = timestamp_of(*text);
  if (timestamp) return timestamp;
  return refuse(Code::invalid_field, std::string{field} + " must be a time such as 2026-02-01T09:30:00Z",
                field);
}

Result<EventFilter> filter_of(const Request& request) {
  EventFilter filter{.account = asked(request, "account"),
                     .action = asked(request, "action"),
                     .address = asked(request, "address"),
                     .subject = asked(request, "subject")};
  if (auto text = check_query_text(filter.action.value_or(""), "action"); !text) return text.refusal();
  if (auto text = check_query_text(filter.subject.value_or(""), "subject"); !text) return text.refusal();
  if (filter.account && !AccountId::parse(*filter.account)) {
    return refuse(Code::invalid_field, "account must be an account's id", "account");
  }
  if (filter.address && !is_network(*filter.address)) {
    return refuse(Code::invalid_field,
                  "address must be one such as 192.0.2.1, or a network such as 2001:db8::/64", "address");
  }
  const auto since = timestamp_asked(request, "since");
  if (!since) return since.refusal();
  const auto until = timestamp_asked(request, "until");
  if (!until) return until.refusal();
  filter.since = *since;
  filter.until = *until;
  return filter;
}

nlohmann::json document_of(const EventPage& listed, const Page& page) {
  nlohmann::json events = nlohmann::json::array();
  for (const auto& event : listed.events) {
    events.push_back({{"id", event.id},
                      {"at", event.at},
                      {"action", event.action},
                      {"account", or_null(event.account)},
                      {"address", or_null(event.address)},
                      {"subject", or_null(event.subject)},
                      {"detail", event.detail},
                      {"request_id", or_null(event.request)},
                      {"count", event.count}});
  }
  return {{"events", events}, {"page", page.number}, {"per_page", page.rows}, {"more", listed.more}};
}

}  // namespace

Answer get_admin_events(Context& context, Request request) {
  const auto page = page_of(request);
  if (!page) co_return page.refusal();
  const auto filter = filter_of(request);
  if (!filter) co_return filter.refusal();
  co_return co_await on_pool(context.database, [&](pg::Connection& db) -> Result<Reply> {
    const auto listed = list_events(db, request.token_hash, *filter, page->number, page->rows);
    if (!listed) return listed.refusal();
    return Reply::json(document_of(*listed, *page));
  });
}

}  // namespace remotist::market
