// A guest whose file system cannot be attached.
#include <doctest/doctest.h>
#include <fstream>
#include <string>
#include <system_error>
#include <variant>

#include "tests/sandbox_cases/case_runner.h"
#include "tests/sandbox_cases/in_child.h"
#include "tests/sandbox_cases/refusal.h"
#include "tests/support/eventually.h"
#include "volunteer/sandbox/job_disc.h"

namespace remotist::volunteer::cases {
namespace {

std::string line_of(const Verdict& verdict) {
  return std::string{name_of(verdict.ending)} + ": " + verdict.message + "\n";
}

Verdict run_to_end(Sandbox& sandbox, const GuestSpec& spec) {
  sandbox.start(spec);
  Verdict verdict;
  must(test::eventually([&] {
         for (auto& event : sandbox.take_events())
           if (auto* const ended = std::get_if<Ended>(&event.what);
               ended != nullptr && event.guest == spec.name) {
             verdict = std::move(ended->verdict);
             return true;
           }
         return false;
       }),
       "it does not end");
  return verdict;
}

std::string disc_refused() {
  CanaryHost host{false};
  CaseRunner runner{host, Protections{}};
  GuestSpec spec{.name = "late", .exec_file = "job.R"};
  spec.limits.disc_mb = 20;
  runner.sandbox().make_folder(spec);
  must(spec.disc != nullptr, "this machine makes no discs\n");
  std::ofstream{spec.folder / kWorkFolder / "job.R"} << "x <- 1\n";
  Refusal refusal;
  refusal.call(SCMP_SYS(fsopen));
  refusal.call(SCMP_SYS(open_tree));
  refusal.begin();
  try {
    spec.disc->for_guest();  // a disc in memory can be attached only once
  } catch (const std::system_error&) {
  }
  return line_of(run_to_end(runner.sandbox(), spec)) + line_of(runner.run("plain").verdict);
}

}  // namespace

TEST_CASE("a guest whose disc cannot be attached does not run, and the next runs without one") {
  const auto output = in_child(disc_refused);
  CAPTURE(output);
  CHECK(output.starts_with("sandbox_failure: The sandbox could not be set up: "));
  CHECK(output.ends_with("\ncompleted: \n"));
}

}  // namespace remotist::volunteer::cases
