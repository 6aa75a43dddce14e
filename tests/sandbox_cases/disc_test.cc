// A guest whose file system cannot be attached when its turn comes.
#include <doctest/doctest.h>
#include <fstream>
#include <string>
#include <system_error>
#include <variant>

#include "tests/sandbox_cases/house.h"
#include "tests/sandbox_cases/in_child.h"
#include "tests/sandbox_cases/refusal.h"
#include "tests/support/eventually.h"
#include "volunteer/sandbox/job_disc.h"

namespace remotist::volunteer::cases {
namespace {

std::string told(const Verdict& verdict) {
  return std::string{name_of(verdict.ending)} + ": " + verdict.message + "\n";
}

Verdict run_to_end(Guesthouse& guests, const GuestSpec& spec) {
  guests.start(spec);
  Verdict verdict;
  must(test::eventually([&] {
         for (auto& event : guests.take_events())
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
  World world{false};
  House house{world, Layers{}};
  GuestSpec spec{.name = "late", .exec_file = "job.R"};
  spec.limits.disc_mb = 20;
  house.guesthouse().make_folder(spec);
  must(spec.disc != nullptr, "this machine makes no discs\n");
  std::ofstream{spec.folder / kWorkFolder / "job.R"} << "x <- 1\n";
  Refusal refusal;
  refusal.call(SCMP_SYS(fsopen));
  refusal.call(SCMP_SYS(open_tree));
  refusal.begin();
  try {
    spec.disc->for_guest();  // one in memory can be given once, and now is
  } catch (const std::system_error&) {
  }
  return told(run_to_end(house.guesthouse(), spec)) + told(house.run("plain").verdict);
}

}  // namespace

TEST_CASE("a guest whose disc cannot be attached does not run, and the next one does without") {
  const auto said = in_child(disc_refused);
  CAPTURE(said);
  CHECK(said.starts_with("sandbox_failure: The sandbox could not be set up: "));
  CHECK(said.ends_with("\ncompleted: \n"));
}

}  // namespace remotist::volunteer::cases
