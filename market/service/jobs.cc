#include "market/service/jobs.h"

#include <set>

#include "core/limits.h"
#include "market/service/checks.h"

namespace remotist::market {
bool is_safe_path(std::string_view path) {
  if (path.empty() || path.size() > limits::kPathBytesMax || has_control_characters(path)) return false;
  if (path.find('\\') != std::string_view::npos) return false;
  while (true) {
    const auto slash = path.find('/');
    const auto part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

Result<void> check_inline_bytes(std::string_view text, const char* field) {
  if (text.size() <= limits::kInlineCodeBytesMax) return {};
  return refuse(Code::too_large,
                "a file that comes inline may have " + std::to_string(limits::kInlineCodeBytesMax) +
                    " bytes: upload larger ones as chunks (PUT /blob/{sha256})",
                field);
}

Result<void> check_files(const std::vector<JobFile>& files) {
  std::set<std::string_view> paths;
  for (const auto& file : files) {
    if (!is_safe_path(file.path)) {
      return refuse(Code::invalid_field, "path must lead into the job's folder, such as main.R or src/main.R",
                    "path");
    }
    if (!paths.insert(file.path).second) {
      return refuse(Code::invalid_field, "path " + file.path + " is there twice", "path");
    }
    if (file.text) {
      if (auto r = check_inline_bytes(*file.text, "text"); !r) return r;
    }
  }
  return {};
}

Result<void> check_new_job(const NewJob& job) {
  if (auto r = check_name("name", job.name, limits::kJobNameBytesMax); !r) return r;
  if (!is_safe_path(job.exec_file)) {
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
