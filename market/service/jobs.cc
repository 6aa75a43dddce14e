#include "market/service/jobs.h"

#include <algorithm>

#include "core/limits.h"

namespace remotist::market {
namespace {

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return u < ' ' || u == 0x7f;
  });
}

Result<void> check_range(std::string_view field, std::int64_t value, std::int64_t least, std::int64_t most,
                         std::string_view unit) {
  if (value >= least && value <= most) return {};
  return refuse(Code::invalid_field,
                std::string{field} + " is " + std::to_string(value) + " and must be from " +
                    std::to_string(least) + " to " + std::to_string(most) + " " + std::string{unit},
                std::string{field});
}

}  // namespace

bool is_safe_path(std::string_view path) {
  if (path.empty() || path.size() > limits::kPathBytesMax || has_control(path)) return false;
  if (path.find('\\') != std::string_view::npos) return false;
  while (true) {
    const auto slash = path.find('/');
    const auto part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

Result<void> check_code(std::string_view path, std::string_view text) {
  if (!is_safe_path(path)) {
    return refuse(Code::invalid_field, "path must lead into the job's folder, such as main.R or src/main.R",
                  "path");
  }
  if (text.size() > limits::kInlineCodeBytesMax) {
    return refuse(Code::too_large,
                  "inline code may have " + std::to_string(limits::kInlineCodeBytesMax) +
                      " bytes: upload larger files as blobs",
                  "code");
  }
  return {};
}

Result<void> check_new_job(const NewJob& job) {
  if (job.name.empty() || job.name.size() > limits::kJobNameBytesMax || has_control(job.name)) {
    return refuse(Code::invalid_field,
                  "name must have 1 to " + std::to_string(limits::kJobNameBytesMax) +
                      " bytes and no control characters",
                  "name");
  }
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
    const auto& name = job.watched_variables[i];
    if (name.empty() || name.size() > limits::kVariableNameBytesMax || has_control(name)) {
      return refuse(Code::invalid_field,
                    "a watched name has 1 to " + std::to_string(limits::kVariableNameBytesMax) +
                        " bytes and no control characters",
                    "partial_results_vars[" + std::to_string(i) + "]");
    }
  }
  if (job.code) {
    if (auto r = check_code(job.exec_file, *job.code); !r) return r;
  }
  if (job.submit && !job.code) {
    return refuse(Code::invalid_field, "a job that is submitted at once must bring its code", "code");
  }
  return {};
}

}  // namespace remotist::market
