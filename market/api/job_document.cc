#include "market/api/job_document.h"

namespace remotist::market {

nlohmann::json document_of(const Job& job) {
  return {{"id", job.id.text()},
          {"account", job.account.text()},
          {"name", job.name},
          {"exec_file", job.exec_file},
          {"state", name_of(job.state)},
          {"cpu", job.cpu_cores},
          {"ram", job.ram_mb},
          {"disc", job.disc_mb},
          {"price", job.price.number()},
          {"partial_results_vars", job.watched_variables},
          {"attempt", job.attempt_number},
          {"created_at", job.created_at},
          {"deadline", or_null(job.deadline)},
          {"submitted_at", or_null(job.submitted_at)},
          {"ended_at", or_null(job.ended_at)},
          {"failure_code", or_null(job.failure_code)},
          {"failure_detail", or_null(job.failure_detail)}};
}

nlohmann::json document_of(const JobPage& listed, const Page& page) {
  nlohmann::json jobs = nlohmann::json::array();
  for (const auto& job : listed.jobs) jobs.push_back(document_of(job));
  return {{"jobs", jobs}, {"page", page.number}, {"per_page", page.rows}, {"more", listed.more}};
}

Result<std::optional<JobState>> state_asked_for(const Request& request) {
  const std::string& name = request.http->getParameter("state");
  const auto state = job_state_named(name);
  if (!state && !name.empty()) {
    return refuse(Code::invalid_field, "there is no state '" + name + "' of a job", "state");
  }
  return state;
}

}  // namespace remotist::market
