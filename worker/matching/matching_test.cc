#include "worker/matching/matching.h"

#include <algorithm>
#include <cstdlib>
#include <doctest/doctest.h>
#include <format>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <tuple>

namespace remotist::worker {
namespace {

template <class AnyId>
AnyId numbered(std::size_t number) {
  return *AnyId::parse(std::format("00000000-0000-7000-8000-{:012x}", number));
}

Machine machine(std::size_t number, Amounts free, std::int64_t price, std::optional<Amounts> total = {}) {
  return {numbered<MachineSessionId>(number),
          numbered<MachineId>(number),
          free,
          total.value_or(free),
          Credits::micro(price),
          std::nullopt};
}

WaitingJob job(std::size_t number, Amounts needs, std::int64_t price = 1'000'000) {
  return {numbered<JobId>(number), numbered<AccountId>(number), needs, Credits::micro(price), {}};
}

WaitingJob overdue_job(std::size_t number, Amounts needs) {
  WaitingJob made = job(number, needs);
  made.overdue = true;
  return made;
}

using Pairs = std::vector<Plan::Pair>;

std::uint64_t test_seed() {
  const char* given = std::getenv("REMOTIST_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

struct Dice {
  explicit Dice(std::uint64_t seed) : random(seed) {}
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>{least, most}(random);
  }
  std::size_t up_to(std::int64_t most) { return static_cast<std::size_t>(between(0, most)); }
  bool once_in(std::int64_t times) { return between(1, times) == 1; }
  std::mt19937_64 random;
};

// Small numbers, so that amounts and prices often tie or just fit, and every rule is met often.
Snapshot random_snapshot(Dice& dice) {
  Snapshot snapshot;
  const std::size_t machines = dice.up_to(dice.once_in(10) ? 140 : 14);
  const std::size_t jobs = dice.up_to(24);
  const std::int64_t needs_max = dice.between(1, 8);
  for (std::size_t i = 0; i < machines; ++i) {
    const Amounts total{dice.between(0, 8), dice.between(0, 8), dice.between(2, 8)};
    const Amounts free{dice.between(0, total.cpu_cores), dice.between(0, total.ram_mb),
                       dice.between(0, total.disc_mb)};
    snapshot.machines.push_back(machine(i, free, dice.between(0, 4), total));
    // Sometimes for a job that the snapshot does not have, sometimes several for one.
    if (dice.once_in(6)) snapshot.machines[i].reserved_for = numbered<JobId>(dice.up_to(30));
  }
  for (std::size_t i = 0; i < jobs; ++i) {
    WaitingJob made = job(i, {dice.between(0, needs_max), dice.between(0, needs_max), dice.between(0, 3)},
                          dice.between(0, 24));
    made.account = numbered<AccountId>(dice.up_to(9));
    made.overdue = dice.once_in(2);
    for (std::size_t at = 0; at < machines && i % 2 == 0; ++at) {
      if (dice.once_in(5)) made.excluded.push_back(snapshot.machines[at].machine);
    }
    snapshot.jobs.push_back(std::move(made));
  }
  return snapshot;
}

// Runs check(snapshot, plan) on many, and sees to it that they were not all alike.
void for_random_snapshots(const std::function<void(const Snapshot&, const Plan&)>& check) {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Dice dice{seed};
  std::size_t jobs = 0, assigned = 0, reserved = 0;
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    const Snapshot snapshot = random_snapshot(dice);
    const Plan plan = match(snapshot);
    check(snapshot, plan);
    jobs += snapshot.jobs.size();
    assigned += plan.assignments.size();
    reserved += plan.reservations.size();
  }
  CHECK(assigned > jobs / 5);
  CHECK(reserved > jobs / 50);
  CHECK(jobs - assigned > jobs / 5);
}

bool excludes(const WaitingJob& job, const Machine& at) {
  return std::ranges::find(job.excluded, at.machine) != job.excluded.end();
}

bool pays(const WaitingJob& job, const Machine& at) {
  return job.price.micro() >= at.price_per_cpu_second.micro() * job.needs.cpu_cores;
}

bool fits(const Amounts& needs, const Amounts& room) {
  return needs.cpu_cores <= room.cpu_cores && needs.ram_mb <= room.ram_mb && needs.disc_mb <= room.disc_mb;
}

Amounts lacking(const Amounts& needs, const Amounts& free) {
  const auto less = [](std::int64_t need, std::int64_t has) { return need > has ? need - has : 0; };
  return {less(needs.cpu_cores, free.cpu_cores), less(needs.ram_mb, free.ram_mb),
          less(needs.disc_mb, free.disc_mb)};
}

void add(Amounts& to, const Amounts& amounts, int times) {
  to.cpu_cores += times * amounts.cpu_cores;
  to.ram_mb += times * amounts.ram_mb;
  to.disc_mb += times * amounts.disc_mb;
}

// Checks that holds(job, machine) for everything that plans assign or reserve.
void for_random_pairs(const std::function<bool(const WaitingJob&, const Machine&)>& holds) {
  for_random_snapshots([&](const Snapshot& snapshot, const Plan& plan) {
    for (const auto* pairs : {&plan.assignments, &plan.reservations}) {
      for (const auto& [job, machine] : *pairs) CHECK(holds(snapshot.jobs[job], snapshot.machines[machine]));
    }
  });
}

std::optional<std::size_t> machine_of(const Pairs& pairs, std::size_t job) {
  const auto found = std::ranges::find(pairs, job, &Plan::Pair::job);
  return found == pairs.end() ? std::nullopt : std::optional{found->machine};
}

// The machines while a plan is carried out: a plain restatement of the rules, one look at each machine.
struct Replay {
  explicit Replay(const Snapshot& from) : snapshot(from), machines(from.machines) {}

  void assign(const Plan::Pair& pair) { add(machines[pair.machine].free, snapshot.jobs[pair.job].needs, -1); }
  void reserve(const Plan::Pair& pair) { machines[pair.machine].reserved_for = snapshot.jobs[pair.job].id; }
  void carry_out(const Plan& plan, std::size_t job) {
    if (const auto at = machine_of(plan.assignments, job)) assign({job, *at});
    if (const auto at = machine_of(plan.reservations, job)) reserve({job, *at});
  }

  bool suits(const WaitingJob& job, const Machine& at, bool to_reserve) const {
    const bool reservation_allows = !at.reserved_for || (!to_reserve && *at.reserved_for == job.id);
    return fits(job.needs, to_reserve ? at.total : at.free) && !excludes(job, at) && pays(job, at) &&
           reservation_allows;
  }
  std::optional<std::size_t> best_for(const WaitingJob& job, bool to_reserve = false) const {
    std::optional<std::size_t> best;
    const auto rank = [&](std::size_t i) {
      const Machine& before = snapshot.machines[i];
      return std::tuple{to_reserve ? lacking(job.needs, machines[i].free) : Amounts{},
                        before.price_per_cpu_second, before.free.cpu_cores, i};
    };
    for (std::size_t i = 0; i < machines.size(); ++i) {
      if (suits(job, machines[i], to_reserve) && (!best || rank(i) < rank(*best))) best = i;
    }
    return best;
  }
  bool holds_reservation(AccountId account) const {
    return std::ranges::any_of(snapshot.jobs, [&](const WaitingJob& each) {
      return each.account == account &&
             std::ranges::any_of(machines, [&](const Machine& at) { return at.reserved_for == each.id; });
    });
  }

  const Snapshot& snapshot;
  std::vector<Machine> machines;
};

}  // namespace

TEST_CASE("a job gets the cheapest machine, of equals the one with the fewest free cores, then the earlier") {
  Snapshot snapshot{{machine(0, {8, 8, 8}, 20), machine(1, {1, 8, 8}, 10), machine(2, {4, 8, 8}, 20),
                     machine(3, {4, 8, 8}, 20), machine(4, {9, 8, 8}, 11)},
                    {job(0, {2, 1, 1})}};
  CHECK(match(snapshot).assignments == Pairs{{0, 4}});
  snapshot.machines.pop_back();
  CHECK(match(snapshot).assignments == Pairs{{0, 2}});
}

TEST_CASE("a machine takes jobs until one of its amounts is used up") {
  const Snapshot snapshot{{machine(0, {8, 4, 8}, 10)},
                          {job(0, {1, 2, 1}), job(1, {1, 3, 1}), job(2, {1, 2, 1}), job(3, {1, 1, 1})}};
  CHECK(match(snapshot).assignments == Pairs{{0, 0}, {2, 0}});
}

TEST_CASE("a price buys a second on every core or it buys nothing, also beyond 64 bits") {
  const Snapshot snapshot{{machine(0, {8, 8, 8}, 25)}, {job(0, {4, 1, 1}, 99), job(1, {4, 1, 1}, 100)}};
  CHECK(match(snapshot).assignments == Pairs{{1, 0}});

  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const Snapshot large{{machine(0, {8, 8, 8}, kMax / 2)}, {job(0, {4, 1, 1}, kMax), job(1, {2, 1, 1}, kMax)}};
  CHECK(match(large).assignments == Pairs{{1, 0}});
}

TEST_CASE("without machines or without jobs the plan is empty") {
  const Plan plan = match({{}, {overdue_job(0, {0, 0, 0})}});
  CHECK((plan.assignments.empty() && plan.reservations.empty()));
  CHECK(match({{machine(0, {8, 8, 8}, 1)}, {}}).assignments.empty());
}

TEST_CASE("an overdue job reserves the machine of which the fewest cores have yet to become free") {
  const Amounts total{8, 8, 8};
  Snapshot snapshot{{machine(0, {1, 8, 8}, 1, total), machine(1, {3, 1, 8}, 1, total),
                     machine(2, {3, 5, 8}, 2, total), machine(3, {5, 8, 8}, 1)},
                    {overdue_job(0, {6, 6, 6}), job(1, {3, 5, 1})}};
  CHECK(match(snapshot).reservations == Pairs{{0, 2}});
  CHECK(match(snapshot).assignments == Pairs{{1, 3}});  // not on the one that is now reserved

  snapshot.jobs[0].overdue = false;
  CHECK(match(snapshot).reservations.empty());
}

TEST_CASE("a reserved machine takes its job as soon as it fits, and no other") {
  Snapshot snapshot{{machine(0, {7, 8, 8}, 1, Amounts{8, 8, 8})},
                    {job(0, {1, 1, 1}), overdue_job(1, {8, 8, 8})}};
  snapshot.machines[0].reserved_for = snapshot.jobs[1].id;
  CHECK(match(snapshot).assignments.empty());
  CHECK(match(snapshot).reservations.empty());

  snapshot.machines[0].free = {8, 8, 8};
  CHECK(match(snapshot).assignments == Pairs{{1, 0}});
  Matcher matcher{snapshot.machines};
  CHECK(matcher.place(snapshot.jobs[1]) == 0);
  CHECK(!matcher.place(snapshot.jobs[1]));  // it is full now
}

TEST_CASE("an account reserves one machine at a time") {
  const Machine busy = machine(0, {0, 0, 0}, 1, Amounts{8, 8, 8});
  Snapshot snapshot{{busy, busy, busy},
                    {overdue_job(0, {8, 8, 8}), overdue_job(1, {8, 8, 8}), overdue_job(2, {8, 8, 8})}};
  snapshot.jobs[1].account = snapshot.jobs[0].account;
  CHECK(match(snapshot).reservations == Pairs{{0, 0}, {2, 1}});

  snapshot.machines[0].reserved_for = snapshot.jobs[0].id;
  snapshot.machines[1].reserved_for = snapshot.jobs[2].id;
  CHECK(match(snapshot).reservations.empty());
}

TEST_CASE("no plan gives away more of a machine than is free") {
  for_random_snapshots([](const Snapshot& snapshot, const Plan& plan) {
    Replay replay{snapshot};
    for (const auto& pair : plan.assignments) replay.assign(pair);
    CHECK(std::ranges::all_of(replay.machines, [](const Machine& at) {
      return at.free.cpu_cores >= 0 && at.free.ram_mb >= 0 && at.free.disc_mb >= 0;
    }));
  });
}

TEST_CASE("no plan brings a job together with a machine that its price does not reach") {
  for_random_pairs(pays);
}

TEST_CASE("no plan brings a job together with a machine that it excludes") {
  for_random_pairs([](const WaitingJob& job, const Machine& at) { return !excludes(job, at); });
}

TEST_CASE("no plan uses a machine that is reserved for another job, before the plan or earlier in it") {
  for_random_snapshots([](const Snapshot& snapshot, const Plan& plan) {
    Replay replay{snapshot};
    for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
      if (const auto at = machine_of(plan.assignments, i)) {
        const auto& holder = replay.machines[*at].reserved_for;
        CHECK((!holder || *holder == snapshot.jobs[i].id));
      }
      if (const auto at = machine_of(plan.reservations, i)) CHECK(!replay.machines[*at].reserved_for);
      replay.carry_out(plan, i);
    }
  });
}

TEST_CASE("a job is at most once in a plan, and the plan is in the order of the jobs") {
  for_random_snapshots([](const Snapshot&, const Plan& plan) {
    std::set<std::size_t> jobs;
    for (const auto* pairs : {&plan.assignments, &plan.reservations}) {
      for (const auto& pair : *pairs) CHECK(jobs.insert(pair.job).second);
      CHECK(std::ranges::is_sorted(*pairs, {}, &Plan::Pair::job));
    }
  });
}

TEST_CASE("a job is left waiting only when no machine suits it after the plan") {
  for_random_snapshots([](const Snapshot& snapshot, const Plan& plan) {
    Replay replay{snapshot};
    for (const auto& pair : plan.assignments) replay.assign(pair);
    for (const auto& pair : plan.reservations) replay.reserve(pair);
    for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
      if (!machine_of(plan.assignments, i)) CHECK(!replay.best_for(snapshot.jobs[i]));
    }
  });
}

TEST_CASE("every job gets what a look at every machine in its turn would have given it") {
  for_random_snapshots([](const Snapshot& snapshot, const Plan& plan) {
    Replay replay{snapshot};
    for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
      CHECK(machine_of(plan.assignments, i) == replay.best_for(snapshot.jobs[i]));
      replay.carry_out(plan, i);
    }
  });
}

TEST_CASE("every overdue job that is not placed reserves what a look at every machine would choose") {
  for_random_snapshots([](const Snapshot& snapshot, const Plan& plan) {
    Replay replay{snapshot};
    for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
      const WaitingJob& each = snapshot.jobs[i];
      const auto placed = machine_of(plan.assignments, i);
      const bool may = !placed && each.overdue && !replay.holds_reservation(each.account);
      const auto reserved = machine_of(plan.reservations, i);
      CHECK(reserved == (may ? replay.best_for(each, true) : std::nullopt));
      replay.carry_out(plan, i);
    }
  });
}

namespace {

constexpr int kRoundsMax = 10;  // how long a job runs at most
constexpr Amounts kWhole{16, 16, 16};

// Machines that are full of small jobs, each of its own account, with more waiting than can ever be served.
class CrowdedFleet {
 public:
  CrowdedFleet(Dice& dice, std::size_t machines, bool crowd_overdue)
      : dice_(dice), crowd_overdue_(crowd_overdue) {
    for (std::size_t i = 0; i < machines; ++i) machines_.push_back(machine(i, kWhole, dice.between(1, 3)));
    (void)places({}, false, 0);
  }

  // Serves old jobs before or after the small ones. Whether all of them are placed after `rounds` at most.
  bool places(std::vector<WaitingJob> old, bool served_first, int rounds) {
    for (int passed = 0; passed <= rounds; ++passed) {
      end_jobs();
      while (crowd_.size() < machines_.size() * 20) {
        crowd_.push_back(job(++last_job_, {1, 1, 1}));
        crowd_.back().overdue = crowd_overdue_;
      }
      Snapshot snapshot{machines_, crowd_};
      auto& jobs = snapshot.jobs;
      jobs.insert(served_first ? jobs.begin() : jobs.end(), old.begin(), old.end());
      const auto placed = carry_out(match(snapshot), snapshot);
      const auto is_placed = [&](const WaitingJob& each) { return placed.contains(each.id); };
      std::erase_if(old, is_placed);
      std::erase_if(crowd_, is_placed);
      if (old.empty()) return true;
    }
    return false;
  }

 private:
  struct Running {
    std::size_t machine;
    Amounts needs;
    int rounds_left;
  };

  void end_jobs() {
    for (auto& each : running_) {
      if (--each.rounds_left == 0) add(machines_[each.machine].free, each.needs, 1);
    }
    std::erase_if(running_, [](const Running& each) { return each.rounds_left == 0; });
  }

  std::set<JobId> carry_out(const Plan& plan, const Snapshot& snapshot) {
    for (const auto& [job, machine] : plan.reservations) {
      machines_[machine].reserved_for = snapshot.jobs[job].id;
    }
    std::set<JobId> placed;
    for (const auto& pair : plan.assignments) {
      const WaitingJob& each = snapshot.jobs[pair.job];
      placed.insert(each.id);
      add(machines_[pair.machine].free, each.needs, -1);
      running_.push_back({pair.machine, each.needs, static_cast<int>(dice_.between(1, kRoundsMax))});
    }
    for (auto& at : machines_) {
      if (at.reserved_for && placed.contains(*at.reserved_for)) at.reserved_for.reset();
    }
    return placed;
  }

  Dice& dice_;
  bool crowd_overdue_;
  std::vector<Machine> machines_;
  std::vector<WaitingJob> crowd_;
  std::vector<Running> running_;
  std::size_t last_job_ = 1000;  // below are the old ones
};

void for_random_fleets(bool crowd_overdue, const std::function<void(CrowdedFleet&, bool first)>& check) {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  Dice dice{seed};
  for (int time = 0; time < 20; ++time) {
    CAPTURE(time);
    CrowdedFleet fleet{dice, 3 + dice.up_to(5), crowd_overdue};
    check(fleet, dice.once_in(2));
  }
}

}  // namespace

TEST_CASE("an overdue job that needs a whole machine is served although small jobs arrive for ever") {
  for_random_fleets(false, [](CrowdedFleet& fleet, bool served_first) {
    // What runs on the machine when it is reserved ends within kRoundsMax.
    CHECK(fleet.places({overdue_job(1, kWhole)}, served_first, kRoundsMax));
  });
}

TEST_CASE("without its reservation that job would still be waiting") {
  for_random_fleets(false, [](CrowdedFleet& fleet, bool served_first) {
    CHECK(!fleet.places({job(1, kWhole)}, served_first, 5 * kRoundsMax));
  });
}

TEST_CASE("a job with the best claim is served also when all others are overdue and reserve every machine") {
  for_random_fleets(true, [](CrowdedFleet& fleet, bool) {
    // Before it can reserve one, the reservation of another has to come to its end.
    CHECK(fleet.places({overdue_job(1, kWhole)}, true, 2 * kRoundsMax + 1));
  });
}

TEST_CASE("overdue jobs of several accounts are served together, those of one account one after the other") {
  std::vector<WaitingJob> old{overdue_job(1, kWhole), overdue_job(2, kWhole), overdue_job(3, kWhole)};
  for_random_fleets(false, [&](CrowdedFleet& fleet, bool served_first) {
    CHECK(fleet.places(old, served_first, kRoundsMax));
  });
  for (auto& each : old) each.account = old.front().account;
  for_random_fleets(false, [&](CrowdedFleet& fleet, bool served_first) {
    CHECK(fleet.places(old, served_first, 3 * (kRoundsMax + 1)));
  });
}

}  // namespace remotist::worker
