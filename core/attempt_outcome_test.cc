#include "core/attempt_outcome.h"

#include <algorithm>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <format>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace remotist {
namespace {

std::string exclusion_of(const OutcomeRow& row) {
  const auto time = row.excludes_machine;
  if (time == std::chrono::seconds{0}) return "no";
  return (time == kForGood ? "for good" : std::format("for {} s", time.count())) +
         (row.checkpoint_readmits ? ", unless the attempt had recorded a checkpoint" : "");
}

std::string pay_of(const OutcomeRow& row) {
  switch (row.pay) {
    case Pay::nothing:
      return "nothing";
    case Pay::measured:
      return "the CPU time measured";
    case Pay::measured_until_stop:
      return "the CPU time measured until it stopped";
    case Pay::saved:
      return "the CPU time up to its checkpoint from which a later attempt goes on, when that one says so";
  }
  std::abort();
}

std::string job_becomes(const OutcomeRow& row) {
  std::string words{name_of(row.job_becomes)};
  if (row.too_often) {
    words += std::format("; failed (`{}`) after {} of them", name_of(row.too_often->code),
                         row.too_often->attempts);
  }
  return words;
}

std::string sent_by_agents(const OutcomeRow& row) {
  if (!row.recorded_as) return "no";
  if (*row.recorded_as == row.outcome) return "yes";
  return std::format("for an attempt that the market has ended; else recorded as {}",
                     name_of(*row.recorded_as));
}

std::string outcomes_in_markdown() {
  std::string text =
      "| outcome | when | the job becomes | the machine is paid | the job avoids this machine | sent by "
      "agents | error of `waitJob()` |\n|---|---|---|---|---|---|---|\n";
  for (const auto& row : outcome_table()) {
    text += std::format("| {} | {} | {} | {} | {} | {} | {} |\n", row.name, row.cause, job_becomes(row),
                        pay_of(row), exclusion_of(row), sent_by_agents(row),
                        row.r_condition.empty() ? "" : std::format("`remotist_{}`", row.r_condition));
  }
  return text;
}

std::string failures_in_markdown() {
  std::string text = "| code | reported by | cause | advice of `waitJob()` |\n|---|---|---|---|\n";
  for (const auto& row : failure_table()) {
    text +=
        std::format("| `{}` | {} | {} | {} |\n", row.name,
                    row.source == FailureSource::agent ? "agent" : "market, worker", row.cause, row.advice);
  }
  return text;
}

// A character vector of R with the text of each row that has one.
template <class Row>
std::string r_vector(const char* name, std::span<const Row> rows, auto key, auto text) {
  std::string lines;
  for (const auto& row : rows) {
    if (text(row).empty()) continue;
    lines += std::format("{}  {} = \"{}\"", lines.empty() ? "" : ",\n", key(row), text(row));
  }
  return std::format("\n{} <- c(\n{}\n)\n", name, lines);
}

// Those that waitJob() raises an error for; by the state of the job.
std::vector<OutcomeRow> rows_with_condition() {
  std::vector<OutcomeRow> rows;
  for (const auto& row : outcome_table()) {
    const bool known =
        std::ranges::any_of(rows, [&](const auto& each) { return each.job_becomes == row.job_becomes; });
    if (!row.r_condition.empty() && !known) rows.push_back(row);
  }
  return rows;
}

std::string failures_in_r() {
  std::string states;
  for (const JobState state : kJobStates) {
    if (ended(state)) states += std::format("{}\"{}\"", states.empty() ? "" : ", ", name_of(state));
  }
  const auto rows = rows_with_condition();
  const std::span<const OutcomeRow> outcomes{rows};
  const auto state_of = [](const OutcomeRow& row) { return name_of(row.job_becomes); };
  return std::format(
             "# Written by the unit test of core/attempt_outcome.cc from its tables: do not edit\n"
             "# (docs/contributing.md, \"A new outcome or failure code\").\n\n"
             "ended_states <- c({})\n",
             states) +
         r_vector(
             "failure_advices", failure_table(), [](const FailureRow& row) { return row.name; },
             [](const FailureRow& row) { return row.advice; }) +
         r_vector("outcome_conditions", outcomes, state_of,
                  [](const OutcomeRow& row) { return row.r_condition; }) +
         r_vector("outcome_causes", outcomes, state_of, [](const OutcomeRow& row) { return row.cause; }) +
         r_vector("outcome_advices", outcomes, state_of, [](const OutcomeRow& row) { return row.advice; });
}

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  REQUIRE(in);
  return {std::istreambuf_iterator<char>{in}, {}};
}

// `text` with what stands between the two marks replaced.
std::string with_section(const std::string& text, const std::string& name, const std::string& section) {
  const auto begin_mark = std::format("<!-- begin {} -->\n", name);
  const auto begin = text.find(begin_mark);
  const auto end = text.find(std::format("<!-- end {} -->", name));
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  return text.substr(0, begin + begin_mark.size()) + section + text.substr(end);
}

// REMOTIST_WRITE_TABLES=1 writes the file instead.
void check_file(const char* name, const std::string& wanted) {
  const auto file = std::filesystem::path{REMOTIST_SOURCE_DIR} / name;
  if (std::getenv("REMOTIST_WRITE_TABLES") != nullptr) std::ofstream{file, std::ios::binary} << wanted;
  INFO(name,
       " differs from the tables: REMOTIST_WRITE_TABLES=1 build/bin/unit_tests -tc='*outcome*' writes it");
  CHECK(content_of(file) == wanted);
}

TEST_CASE("every outcome and every failure code has one name") {
  std::set<std::string_view> names;
  for (const auto& row : outcome_table()) {
    CHECK(names.insert(row.name).second);
    CHECK(attempt_outcome_named(row.name) == row.outcome);
    CHECK(&row_of(row.outcome) == &row);
  }
  names.clear();
  for (const auto& row : failure_table()) {
    CHECK(names.insert(row.name).second);
    CHECK(failure_code_named(row.name) == row.code);
    CHECK(&row_of(row.code) == &row);
  }
  CHECK_FALSE(attempt_outcome_named("r_error"));
  CHECK_FALSE(failure_code_named("completed"));
  CHECK_FALSE(failure_code_named(""));
}

TEST_CASE("an outcome that ends the job excludes no machine, and one that queues it pays nothing at once") {
  for (const auto& row : outcome_table()) {
    CAPTURE(row.name);
    const bool queued = row.job_becomes == JobState::queued;
    CHECK((queued || ended(row.job_becomes)));
    CHECK((row.excludes_machine > std::chrono::seconds{0}) == queued);
    CHECK((row.pay == Pay::nothing || row.pay == Pay::saved) == queued);
    CHECK((queued || !row.checkpoint_readmits));
    CHECK((queued || !row.too_often));
    if (row.too_often) CHECK(row_of(row.too_often->code).source == FailureSource::market);
    CHECK((row.r_condition.empty() == (queued || row.job_becomes == JobState::completed)));
  }
}

TEST_CASE("waitJob() raises one error for each state in which a job ends without a result") {
  for (const JobState state : kJobStates) {
    if (!ended(state) || state == JobState::completed) continue;
    CAPTURE(name_of(state));
    std::set<std::string_view> conditions;
    for (const auto& row : outcome_table()) {
      if (row.job_becomes == state) conditions.insert(row.r_condition);
    }
    CHECK(conditions.size() == 1);
  }
}

TEST_CASE(
    "an outcome that an agent sends is recorded as one with the same pay, or as one without pay at once") {
  for (const auto& row : outcome_table()) {
    if (!row.recorded_as) continue;
    CAPTURE(row.name);
    const auto& recorded = row_of(*row.recorded_as);
    CHECK(recorded.recorded_as == recorded.outcome);
    CHECK((recorded.pay == row.pay || recorded.pay == Pay::saved));
    CHECK((recorded.ran == row.ran));
  }
}

TEST_CASE("each counter belongs to one outcome") {
  std::set<Counter> counters;
  for (const auto& row : outcome_table()) {
    if (row.too_often) CHECK(counters.insert(row.too_often->counter).second);
  }
}

TEST_CASE("texts of the tables need no escapes in Markdown, R and cli") {
  for (const auto& row : outcome_table()) {
    CAPTURE(row.name);
    CHECK(row.cause.find_first_of("|\n\"\\{}") == std::string_view::npos);
    CHECK(row.advice.find_first_of("|\n\"\\{}") == std::string_view::npos);
  }
  for (const auto& row : failure_table()) {
    CAPTURE(row.name);
    CHECK(row.cause.find_first_of("|\n") == std::string_view::npos);
    CHECK(row.advice.find_first_of("|\n\"\\{}") == std::string_view::npos);
  }
}

TEST_CASE("docs/states.md and the R package have the tables of outcomes and failure codes") {
  const auto states = content_of(std::filesystem::path{REMOTIST_SOURCE_DIR} / "docs/states.md");
  check_file("docs/states.md", with_section(with_section(states, "outcomes", outcomes_in_markdown()),
                                            "failure codes", failures_in_markdown()));
  check_file("client-r/R/failures.R", failures_in_r());
}

}  // namespace
}  // namespace remotist
