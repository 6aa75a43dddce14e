#include "market/service/group_commit.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <latch>
#include <mutex>
#include <string>
#include <vector>

using namespace remotist;
using namespace std::chrono_literals;
using market::GroupCommit;
using market::GroupCommitOptions;

namespace {

using Groups = GroupCommit<std::string, std::string>;

// What the committers of a test do and have done. An item that begins with ! fails alone.
class Database {
 public:
  // Ends when it is let go; the lane that commits `item` waits for it.
  struct Hold {
    std::string item;
    std::latch begun{1};
    std::latch release{1};
  };

  explicit Database(Hold* hold = nullptr) : hold_(hold) {}

  void write(const std::vector<std::string>& items, bool together) {
    if (hold_ != nullptr && std::ranges::contains(items, hold_->item) && !held_.exchange(true)) {
      hold_->begun.count_down();
      hold_->release.wait();
    }
    const std::lock_guard lock{mutex_};
    ++tries_;
    if (tries_away_ > 0 && (!away_from_ || std::ranges::contains(items, *away_from_))) {
      if (!away_only_alone_ || !together) {
        --tries_away_;
        throw pg::Unavailable{"the database is away"};
      }
    }
    if (together && std::ranges::any_of(items, [](const auto& item) { return item.starts_with('!'); }))
      throw pg::ConstraintViolated{"some_constraint", "one of them fails"};
    groups_.push_back(items);
  }

  // The next `tries` commits find the database away; with an item, only those that have it; or only of single
  // items.
  void go_away(int tries, std::optional<std::string> from = std::nullopt, bool only_alone = false) {
    const std::lock_guard lock{mutex_};
    tries_away_ = tries;
    away_from_ = std::move(from);
    away_only_alone_ = only_alone;
  }

  std::vector<std::vector<std::string>> groups() const {
    const std::lock_guard lock{mutex_};
    return groups_;
  }
  int tries() const {
    const std::lock_guard lock{mutex_};
    return tries_;
  }

 private:
  Hold* hold_;
  std::atomic<bool> held_ = false;
  mutable std::mutex mutex_;
  int tries_ = 0;
  int tries_away_ = 0;
  std::optional<std::string> away_from_;
  bool away_only_alone_ = false;
  std::vector<std::vector<std::string>> groups_;
};

class Committer final : public Groups::Committer {
 public:
  explicit Committer(Database& database) : database_(database) {}

  std::vector<std::string> commit(const std::vector<std::string>& items) override {
    database_.write(items, true);
    std::vector<std::string> outcomes;
    for (const auto& item : items) outcomes.push_back(item + " committed");
    return outcomes;
  }
  std::string commit_alone(const std::string& item) override {
    database_.write({item}, false);
    return item + (item.starts_with('!') ? " failed" : " committed alone");
  }
  std::size_t weight(const std::string& item) const override { return item.size(); }

 private:
  Database& database_;
};

// Collects answers in the order in which they come.
class Answers {
 public:
  Groups::OnCommitted of() {
    return [this](const std::string& outcome) {
      const std::lock_guard lock{mutex_};
      all_.push_back(outcome);
    };
  }
  std::vector<std::string> all() const {
    const std::lock_guard lock{mutex_};
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> all_;
};

using Texts = std::vector<std::string>;

GroupCommitOptions one_lane() {
  return {.lanes = 1, .retry_event = "test_waits", .retry_delay = 1ms};
}

// Adds the items while the lane commits a first one, so that they are one group; returns when all that the
// lane answers was answered.
void commit_behind_first(Database& database, Database::Hold& hold, Answers& answers, const Texts& items,
                         const GroupCommitOptions& options = one_lane()) {
  Groups groups{options, [&] { return std::make_unique<Committer>(database); }};
  groups.add("key", hold.item, answers.of());
  hold.begun.wait();
  for (const auto& item : items) groups.add("key", item, answers.of());
  hold.release.count_down();
}

}  // namespace

TEST_CASE("items that arrive during a commit are committed together afterwards, in order") {
  Database::Hold hold{"first"};
  Database database{&hold};
  Answers answers;
  commit_behind_first(database, hold, answers, {"a", "b", "c"});
  CHECK(database.groups() == std::vector<Texts>{{"first"}, {"a", "b", "c"}});
  CHECK(answers.all() == Texts{"first committed", "a committed", "b committed", "c committed"});
}

TEST_CASE("one failing item of a group takes no other down") {
  Database::Hold hold{"first"};
  Database database{&hold};
  Answers answers;
  commit_behind_first(database, hold, answers, {"a", "!b", "c"});
  CHECK(answers.all() == Texts{"first committed", "a committed alone", "!b failed", "c committed alone"});
}

TEST_CASE("a failure that is not the database's concerns an item, too") {
  class Throwing final : public Groups::Committer {
   public:
    Texts commit(const Texts&) override { throw std::runtime_error{"files do not fit"}; }
    std::string commit_alone(const std::string& item) override { return item; }
  };
  Answers answers;
  {
    Groups groups{one_lane(), [] { return std::make_unique<Throwing>(); }};
    groups.add("key", "a", answers.of());
  }
  CHECK(answers.all() == Texts{"a"});
}

TEST_CASE("a group is bounded by its items and by their weight, and has one item at least") {
  Database::Hold hold{"first"};
  Database database{&hold};
  Answers answers;
  auto options = one_lane();
  options.items_max = 3;
  options.weight_max = 6;
  commit_behind_first(database, hold, answers, {"a", "b", "c", "d", "eeee", "ffffffff", "g"}, options);
  CHECK(database.groups() ==
        std::vector<Texts>{{"first"}, {"a", "b", "c"}, {"d", "eeee"}, {"ffffffff"}, {"g"}});
}

TEST_CASE("while the database is away, a group is kept, tried again and answered once") {
  Database::Hold hold{"first"};
  Database database{&hold};
  Answers answers;
  database.go_away(3, "a");
  std::latch answered{3};
  Groups groups{one_lane(), [&] { return std::make_unique<Committer>(database); }};
  const auto answer = [&] {
    return [&, of = answers.of()](const std::string& outcome) mutable {
      of(outcome);
      answered.count_down();
    };
  };
  groups.add("key", "first", answer());
  hold.begun.wait();
  groups.add("key", "a", answer());
  groups.add("key", "b", answer());
  hold.release.count_down();
  answered.wait();
  CHECK(database.tries() == 5);
  CHECK(answers.all() == Texts{"first committed", "a committed", "b committed"});
}

TEST_CASE("when the database goes away while items are committed one by one, none is repeated or overtaken") {
  Database::Hold hold{"first"};
  Database database{&hold};
  Answers answers;
  database.go_away(2, "b", true);
  std::latch answered{5};
  Groups groups{one_lane(), [&] { return std::make_unique<Committer>(database); }};
  const auto answer = [&] {
    return [&, of = answers.of()](const std::string& outcome) mutable {
      of(outcome);
      answered.count_down();
    };
  };
  groups.add("key", "first", answer());
  hold.begun.wait();
  for (const char* item : {"a", "b", "!c", "d"}) groups.add("key", item, answer());
  hold.release.count_down();
  answered.wait();
  CHECK(answers.all() ==
        Texts{"first committed", "a committed alone", "b committed alone", "!c failed", "d committed alone"});
}

TEST_CASE("items of different lanes do not wait for each other, those of one key share a lane") {
  Database::Hold hold{"held"};
  Database database{&hold};
  Answers answers;
  auto options = one_lane();
  options.lanes = 2;
  const auto lane_of = [](const std::string& key) { return std::hash<std::string>{}(key) % 2; };
  std::string other = "other";
  while (lane_of(other) == lane_of("key")) other += '+';
  std::latch answered{1};
  {
    Groups groups{options, [&] { return std::make_unique<Committer>(database); }};
    groups.add("key", "held", answers.of());
    hold.begun.wait();
    groups.add("key", "behind", answers.of());
    groups.add(other, "free", [&, of = answers.of()](const std::string& outcome) mutable {
      of(outcome);
      answered.count_down();
    });
    answered.wait();
    CHECK(answers.all() == Texts{"free committed"});
    hold.release.count_down();
  }
  CHECK(answers.all() == Texts{"free committed", "held committed", "behind committed"});
}

TEST_CASE("stopping commits what is queued") {
  Database database;
  Answers answers;
  {
    Groups groups{one_lane(), [&] { return std::make_unique<Committer>(database); }};
    for (int i = 0; i < 200; ++i) groups.add("key", std::to_string(i), answers.of());
  }
  Texts expected;
  for (int i = 0; i < 200; ++i) expected.push_back(std::to_string(i) + " committed");
  CHECK(answers.all() == expected);
}

TEST_CASE("stopping while the database is away drops what is queued without an answer") {
  Database database;
  Answers answers;
  database.go_away(1'000'000'000);
  auto options = one_lane();
  options.retry_delay = 24h;
  {
    Groups groups{options, [&] { return std::make_unique<Committer>(database); }};
    for (int i = 0; i < 200; ++i) groups.add("key", std::to_string(i), answers.of());
  }
  CHECK(answers.all().empty());
  CHECK(database.tries() == 1);
}

TEST_CASE("the committer is told after each group that was answered") {
  class Counting final : public Groups::Committer {
   public:
    explicit Counting(std::atomic<int>& groups, Answers& answers) : groups_(groups), answers_(answers) {}
    Texts commit(const Texts& items) override { return items; }
    std::string commit_alone(const std::string& item) override { return item; }
    void on_group_committed() override {
      CHECK(!answers_.all().empty());
      ++groups_;
    }

   private:
    std::atomic<int>& groups_;
    Answers& answers_;
  };
  std::atomic<int> told = 0;
  Answers answers;
  {
    Groups groups{one_lane(), [&] { return std::make_unique<Counting>(told, answers); }};
    groups.add("key", "a", answers.of());
  }
  CHECK(told == 1);
}
