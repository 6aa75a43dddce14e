#include "market/api/job_document.h"

namespace remotist::market {

namespace {

// What stands in a list, too.
nlohmann::json summary_of(const Job& job) {
  // Field by field: a braced list of them is made as an array of arrays first, which takes three times as
  // long, and this is what the market does most.
  nlohmann::json document;
  document["id"] = job.id.text();
  document["account"] = job.account.text();
  document["name"] = job.name;
  document["exec_file"] = job.exec_file;
  document["state"] = name_of(job.state);
  document["cpu"] = job.cpu_cores;
  document["ram"] = job.ram_mb;
  document["disc"] = job.disc_mb;
  document["price"] = job.price.number();
  document["attempt"] = job.attempt_number;
  document["created_at"] = job.created_at;
  document["deadline"] = or_null(job.deadline);
  document["submitted_at"] = or_null(job.submitted_at);
  document["ended_at"] = or_null(job.ended_at);
  document["failure_code"] = or_null(job.failure_code);
  document["progress"] = or_null(job.progress);
  return document;
}

}  // namespace

nlohmann::json document_of(const Job& job) {
  auto document = summary_of(job);
  document["partial_results_vars"] = job.watched_variables;
  document["failure_detail"] = or_null(job.failure_detail);
  document["progress_message"] = or_null(job.progress_message);
  document["checkpoint"] = job.resumable;
  document["checkpoint_interval_ms"] = or_null(job.checkpoint_interval_ms);
  document["checkpoint_problem"] = or_null(job.checkpoint_problem);
  document["checkpoint_at"] = or_null(job.checkpoint_at);
  document["resume_until"] = or_null(job.resume_until);
  document["resume_problem"] = or_null(job.resume_problem);
  return document;
}

nlohmann::json document_of(const JobPage& listed, const Page& page) {
  nlohmann::json jobs = nlohmann::json::array();
  for (const auto& job : listed.jobs) jobs.push_back(summary_of(job));
  return {{"jobs", jobs}, {"page", page.number}, {"per_page", page.rows}, {"more", listed.more}};
}

Result<std::optional<JobState>> state_asked_for(const Request& request) {
  return read_job_state(request.http->getParameter("state"));
}

}  // namespace remotist::market
