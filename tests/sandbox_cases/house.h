// A guesthouse under test, in a world that can tell what was done to it, with a neighbour beside every guest.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sandbox_cases/case.h"
#include "tests/sandbox_cases/world.h"
#include "volunteer/sandbox/guesthouse.h"

namespace remotist::volunteer::cases {

// What became of one guest.
struct Seen {
  Verdict verdict;
  std::string log;
  std::vector<Progress> progress;
  std::filesystem::path folder;           // stands until some more cases have run
  std::chrono::milliseconds cancelled{};  // from stop() to Ended
  std::vector<std::string> harm;          // to the world, the house or the neighbour

  std::string ending() const;  // as in Case::endings
  // Lines of the log that begin with the word ("trying", "escaped", "contained") and a colon.
  std::vector<std::string> lines(std::string_view word) const;
  bool tried() const { return !lines("trying").empty(); }
  bool escaped() const { return !lines("escaped").empty() || !harm.empty(); }
  std::string words() const;  // the whole of it, for a person
};

class House {
 public:
  House(World& world, Layers layers);
  ~House();
  House(const House&) = delete;
  House& operator=(const House&) = delete;

  // Runs the case to its end. Throws std::runtime_error when that does not come.
  Seen run(const Case& what);
  Seen run(std::string_view key) { return run(case_of(key)); }

  // Starts the neighbour, if there is none; the house that has one looks after each case whether it still
  // runs.
  void invite_neighbour();
  // Ends the neighbour; empty when its answer was right.
  std::string dismiss_neighbour();

  // Whether the zygote is the one of the beginning, and not stopped. Words when it is not.
  std::string zygote_harm() const;
  Guesthouse& guesthouse() { return *guesthouse_; }

 private:
  std::string neighbour_harm();
  Seen wait_for(const std::string& name, const Case& what);
  GuestSpec prepare(const Case& what, const std::string& name);
  static void remove(const GuestSpec& guest);
  void tidy_up();
  void take(int within_ms);
  std::vector<std::string> strays() const;

  World& world_;
  std::unique_ptr<Guesthouse> guesthouse_;
  pid_t zygote_ = 0;
  std::vector<pid_t> before_;       // the processes that belong to the house
  std::ptrdiff_t descriptors_ = 0;  // that the test has open
  std::vector<Event> events_;       // taken, and not yet looked at
  GuestSpec neighbour_{};           // without a name: there is none
  pid_t neighbour_first_ = 0;
  std::vector<GuestSpec> guests_made_;
  int guests_ = 0;
};

}  // namespace remotist::volunteer::cases
