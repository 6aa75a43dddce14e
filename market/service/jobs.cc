#include "market/service/jobs.h"

#include "core/file_path.h"
#include "core/limits.h"
#include "core/watch_name.h"
#include "market/service/checks.h"

namespace remotist::market {

Result<void> check_inline_bytes(std::string_view text, const char* field) {
  if (text.size() <= limits::kInlineCodeBytesMax) return {};
  return refuse(Code::too_large,
                "a file that comes inline may have " + std::to_string(limits::kInlineCodeBytesMax) +
                    " bytes: upload larger ones as chunks (PUT /blob/{sha256})",
                field);
}

Result<void> check_files(const std::vector<JobFile>& files) {
  FileTree tree;
  for (const auto& file : files) {
    if (!is_file_path(file.path)) {
      return refuse(Code::invalid_field,
                    "path must lead into the job's folder, such as main.R or src/main.R, and have at most " +
                        std::to_string(limits::kPathBytesMax) +
                        " bytes of UTF-8 without control characters and backslashes",
                    "path");
    }
    if (const auto other = tree.add(file.path)) {
      return refuse(Code::invalid_field,
                    *other == file.path ? "path " + file.path + " is there twice"
                                        : "path " + file.path + " and path " + *other +
                                              ": one of the two would be both a file and a folder",
                    "path");
    }
    if (file.text) {
      if (auto r = check_inline_bytes(*file.text, "text"); !r) return r;
    }
  }
  return {};
}

Result<void> check_new_job(const NewJob& job) {
  if (auto r = check_name("name", job.name, limits::kJobNameBytesMax); !r) return r;
  if (!is_file_path(job.exec_file)) {
    return refuse(Code::invalid_field,
                  "exec_file must be a path inside the job's folder, such as main.R or src/main.R",
                  "exec_file");
  }
  if (auto r = check_range("cpu", job.cpu_cores, 1, limits::kCpuCoresMax, "cores"); !r) return r;
  if (auto r = check_range("ram", job.ram_mb, limits::kRamMbMin, limits::kRamMbMax, "MB"); !r) return r;
  if (auto r = check_range("disc", job.disc_mb, limits::kDiscMbMin, limits::kDiscMbMax, "MB"); !r) return r;
  if (job.deadline) {
    auto r = check_range("deadline", job.deadline->count(), 1, limits::kDeadlineDaysMax * 86'400,
                         "seconds from now");
    if (!r) return r;
  }
  if (job.watched_variables.size() > limits::kWatchedVariablesMax) {
    return refuse(Code::invalid_field,
                  "a job watches at most " + std::to_string(limits::kWatchedVariablesMax) + " variables",
                  "partial_results_vars");
  }
  for (std::size_t i = 0; i < job.watched_variables.size(); ++i) {
    const std::string field = "partial_results_vars[" + std::to_string(i) + "]";
    if (auto r = check_name(field, job.watched_variables[i], limits::kVariableNameBytesMax); !r) return r;
    const auto name = parse_watch_name(job.watched_variables[i]);
    if (!name) return refuse(Code::invalid_field, name.error().detail, field);
  }
  if (job.code) {
    if (auto r = check_inline_bytes(*job.code, "code"); !r) return r;
  }
  if (job.submit && !job.code) {
    return refuse(Code::invalid_field, "a job that is submitted at once must bring its code", "code");
  }
  return {};
}

}  // namespace remotist::market
