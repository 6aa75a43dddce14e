#include "volunteer/sandbox/checkpoint_marks.h"

#include <doctest/doctest.h>
#include <functional>
#include <string>
#include <vector>

namespace remotist::volunteer {

namespace {

using namespace std::chrono_literals;

// A guest with one watched variable, of which five records have arrived.
class Guest {
 public:
  CheckpointMarks marks{1, {}};
  CheckpointMarks::Time now{};

  void begin(std::uint64_t number) {
    if (marks.expects_begin(number, now)) marks.begin(number, 7, now, Progress{0.5, "half"});
  }
  void output(std::uint64_t number, std::string log = "log") {
    if (marks.expects_marker(number, now)) marks.mark_output(number, std::move(log), 3);
  }
  void watched(std::uint64_t number, std::int64_t record = 5) {
    marks.mark_watched({number, {{record, WatchedKind::value, "hash"}}}, {5});
  }
  void complete(std::uint64_t number) {
    if (marks.expects_file(number))
      marks.complete({number, 1.5, 20}, "checkpoint-" + std::to_string(number), 1000);
  }
  std::vector<std::uint64_t> taken() {
    std::vector<std::uint64_t> numbers;
    for (const auto& one : marks.take_complete()) numbers.push_back(one.number);
    return numbers;
  }
};

using Numbers = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("a checkpoint has what was known when it began, and is taken once") {
  Guest guest;
  guest.begin(3);
  guest.now += 1s;
  guest.output(3, "before");
  guest.watched(3);
  guest.complete(3);
  const auto taken = guest.marks.take_complete();
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].number == 3);
  CHECK(taken[0].file == "checkpoint-3");
  CHECK(taken[0].bytes == 1000);
  CHECK(taken[0].pause_ms == 1.5);
  CHECK(taken[0].child_cpu_ms == 20);
  CHECK(taken[0].cpu_ms == 7);
  CHECK(taken[0].at == CheckpointMarks::Time{});
  CHECK(taken[0].log == "before");
  CHECK(taken[0].log_left_out == 3);
  CHECK(taken[0].progress->fraction == 0.5);
  REQUIRE(taken[0].watched.size() == 1);
  CHECK(taken[0].watched[0].number == 5);
  CHECK(guest.taken().empty());
}

TEST_CASE("the output's marker may come before, between and after the messages") {
  for (int at = 0; at < 4; ++at) {
    Guest guest;
    int step = 0;
    const auto next = [&](const std::function<void()>& message) {
      if (step++ == at) guest.output(1);
      message();
      CHECK((step == 3 && at < 3) == (guest.marks.expects_file(1) == false && guest.taken() == Numbers{1}));
    };
    next([&] { guest.begin(1); });
    next([&] { guest.watched(1); });
    next([&] { guest.complete(1); });
    if (at == 3) {
      guest.output(1);
      CHECK(guest.taken() == Numbers{1});
    }
  }
}

TEST_CASE("a checkpoint of which a part is missing is none") {
  for (int missing = 0; missing < 4; ++missing) {
    Guest guest;
    if (missing != 0) guest.begin(1);
    if (missing != 1) guest.output(1);
    if (missing != 2) guest.watched(1);
    if (missing != 3) guest.complete(1);
    CHECK(guest.taken().empty());
    guest.marks.abandon();
    CHECK(guest.marks.take_abandoned().size() == (missing == 1 || missing == 2 ? 1 : 0));
  }
}

TEST_CASE("marks that the guest cannot have are ignored") {
  Guest guest;
  guest.begin(1);
  guest.output(1);
  guest.watched(1, 6);  // a record that has not arrived
  guest.marks.mark_watched({1, {}}, {5});
  guest.marks.mark_watched({1, std::vector<WatchedMark>(2)}, {5});
  guest.watched(2);
  guest.complete(1);
  CHECK(guest.taken().empty());
  guest.watched(1, 4);
  guest.watched(1, 5);
  const auto taken = guest.marks.take_complete();
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].watched[0].number == 4);
}

TEST_CASE("numbers must grow") {
  Guest guest;
  guest.begin(2);
  guest.output(2);
  CHECK_FALSE(guest.marks.expects_begin(2, guest.now));
  CHECK_FALSE(guest.marks.expects_begin(1, guest.now));
  CHECK_FALSE(guest.marks.expects_marker(2, guest.now));
  guest.watched(2);
  guest.complete(2);
  CHECK(guest.taken() == Numbers{2});
  CHECK_FALSE(guest.marks.expects_file(2));
  CHECK_FALSE(guest.marks.expects_marker(1, guest.now));
}

TEST_CASE("a complete checkpoint ends those before it, whose files are given up") {
  Guest guest;
  guest.begin(1);
  guest.watched(1);
  guest.complete(1);
  guest.begin(2);
  for (const std::uint64_t number : {3}) {
    guest.begin(number);
    guest.output(number);
    guest.watched(number);
    guest.complete(number);
  }
  CHECK(guest.taken() == Numbers{3});
  CHECK(guest.marks.take_abandoned() == std::vector<std::filesystem::path>{"checkpoint-1"});
  CHECK_FALSE(guest.marks.expects_file(2));
}

TEST_CASE("a guest that begins many checkpoints is remembered for the last four") {
  Guest guest;
  for (std::uint64_t number = 1; number <= 10; ++number) {
    guest.begin(number);
    guest.watched(number);
    guest.complete(number);
    guest.now += 1s;
  }
  CHECK(guest.marks.take_abandoned().size() == 6);
  CHECK_FALSE(guest.marks.expects_marker(6, guest.now));
  guest.output(7);
  CHECK(guest.taken() == Numbers{7});
}

TEST_CASE("only so many checkpoints a second are looked at, of each kind of mark") {
  Guest guest;
  std::size_t begun = 0;
  std::size_t marked = 0;
  for (std::uint64_t number = 1; number <= 1000; ++number) {
    begun += guest.marks.expects_begin(number, guest.now) ? 1 : 0;
    marked += guest.marks.expects_marker(number, guest.now) ? 1 : 0;
  }
  CHECK(begun == static_cast<std::size_t>(CheckpointMarks::kBurst));
  CHECK(marked == static_cast<std::size_t>(CheckpointMarks::kBurst));
  guest.now += 1s;
  CHECK(guest.marks.expects_begin(2000, guest.now));
}

}  // namespace remotist::volunteer
