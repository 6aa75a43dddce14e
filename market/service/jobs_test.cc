#include "market/service/jobs.h"

#include <doctest/doctest.h>

#include "core/limits.h"

using namespace remotist;
using namespace remotist::market;

namespace {

NewJob good_job() {
  NewJob job;
  job.name = "pi";
  job.exec_file = "main.R";
  return job;
}

template <class Change>
std::string field_at_fault(Change change) {
  NewJob job = good_job();
  change(job);
  const auto checked = check_new_job(job);
  return checked.ok() ? "none" : checked.refusal().field;
}

}  // namespace

TEST_CASE("a job with defaults is right") {
  CHECK(check_new_job(good_job()).ok());
}

TEST_CASE("files that cannot stand in one folder are refused, and both are named") {
  const auto refused = [](std::vector<JobFile> files) {
    const auto checked = check_files(files);
    return checked.ok() ? "" : checked.refusal().detail;
  };
  CHECK(refused({{.path = "a"}, {.path = "b/c"}, {.path = "b/d"}, {.path = "a.b"}}).empty());
  CHECK(refused({{.path = "a"}, {.path = "a"}}).contains("twice"));
  for (const auto& detail :
       {refused({{.path = "a"}, {.path = "a/b"}}), refused({{.path = "a/b"}, {.path = "a"}}),
        refused({{.path = "a"}, {.path = "c"}, {.path = "a/b/c/d"}})}) {
    CHECK(detail.contains("path a"));
    CHECK(detail.contains("path a/b"));
    CHECK(detail.contains("both a file and a folder"));
  }
  CHECK(refused({{.path = "a\\b"}}).contains("backslashes"));
}

TEST_CASE("each need is accepted at its limits and refused one past them") {
  const auto cpu = [](std::int64_t n) { return field_at_fault([n](NewJob& j) { j.cpu_cores = n; }); };
  const auto ram = [](std::int64_t n) { return field_at_fault([n](NewJob& j) { j.ram_mb = n; }); };
  const auto disc = [](std::int64_t n) { return field_at_fault([n](NewJob& j) { j.disc_mb = n; }); };
  const auto deadline = [](std::int64_t n) {
    return field_at_fault([n](NewJob& j) { j.deadline = std::chrono::seconds{n}; });
  };
  CHECK(cpu(0) == "cpu");
  CHECK(cpu(1) == "none");
  CHECK(cpu(limits::kCpuCoresMax) == "none");
  CHECK(cpu(limits::kCpuCoresMax + 1) == "cpu");
  CHECK(ram(limits::kRamMbMin - 1) == "ram");
  CHECK(ram(limits::kRamMbMin) == "none");
  CHECK(ram(limits::kRamMbMax) == "none");
  CHECK(ram(limits::kRamMbMax + 1) == "ram");
  CHECK(disc(limits::kDiscMbMin - 1) == "disc");
  CHECK(disc(limits::kDiscMbMax) == "none");
  CHECK(disc(limits::kDiscMbMax + 1) == "disc");
  CHECK(deadline(0) == "deadline");
  CHECK(deadline(1) == "none");
  CHECK(deadline(limits::kDeadlineDaysMax * 86'400) == "none");
  CHECK(deadline(limits::kDeadlineDaysMax * 86'400 + 1) == "deadline");
}

TEST_CASE("names, watched variables and inline code are bounded") {
  const auto name = [](std::size_t n) {
    return field_at_fault([n](NewJob& j) { j.name = std::string(n, 'x'); });
  };
  CHECK(name(0) == "name");
  CHECK(name(limits::kJobNameBytesMax) == "none");
  CHECK(name(limits::kJobNameBytesMax + 1) == "name");
  CHECK(field_at_fault([](NewJob& j) { j.name = "a\nb"; }) == "name");

  const auto watched = [](std::size_t n) {
    return field_at_fault([n](NewJob& j) { j.watched_variables.assign(n, "x"); });
  };
  CHECK(watched(limits::kWatchedVariablesMax) == "none");
  CHECK(watched(limits::kWatchedVariablesMax + 1) == "partial_results_vars");
  CHECK(field_at_fault([](NewJob& j) { j.watched_variables = {"x", ""}; }) == "partial_results_vars[1]");
  CHECK(field_at_fault([](NewJob& j) { j.watched_variables = {"x", "fit$loss", "i evry 5"}; }) ==
        "partial_results_vars[2]");

  const auto code = [](std::size_t n) {
    return field_at_fault([n](NewJob& j) { j.code = std::string(n, 'x'); });
  };
  CHECK(code(limits::kInlineCodeBytesMax) == "none");
  CHECK(code(limits::kInlineCodeBytesMax + 1) == "code");
}

TEST_CASE("a job that is submitted at once brings its code") {
  CHECK(field_at_fault([](NewJob& j) { j.submit = true; }) == "code");
  CHECK(field_at_fault([](NewJob& j) {
          j.submit = true;
          j.code = "x <- 1";
        }) == "none");
}
