// Which waiting job goes to which machine: a pure function of a snapshot.
//
// Knows no SQL, no AMQP, no clock and no randomness; the same snapshot always gives the same plan. Nothing
// here is thread-safe or shared: each plan has a Matcher of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/credits.h"
#include "core/id.h"

namespace remotist::worker {

// A job's price must buy at least this many CPU-seconds on each core that it asks for. The SQL function
// paid_seconds_min() has the same number; a test compares them.
inline constexpr std::int64_t kPaidSecondsMin = 1;

struct Amounts {
  std::int64_t cpu_cores = 0;
  std::int64_t ram_mb = 0;
  std::int64_t disc_mb = 0;

  // Whether each amount is at most that of `room`.
  bool fit_into(const Amounts& room) const {
    return cpu_cores <= room.cpu_cores && ram_mb <= room.ram_mb && disc_mb <= room.disc_mb;
  }
  // Lexicographic: cores, RAM, disc; unrelated to fit_into().
  auto operator<=>(const Amounts&) const = default;
};

struct Machine {
  MachineSessionId machine_session;
  MachineId machine;
  Amounts free;
  Amounts total;
  Credits price_per_cpu_second;
  std::optional<JobId> reserved_for;
};

struct WaitingJob {
  JobId id;
  AccountId account;
  Amounts needs;  // none negative
  Credits price;  // the most that its owner pays; not negative
  std::vector<MachineId> excluded;
  bool overdue = false;  // it has waited longer than reserve_after
};

// A machine suits a job when
//   its free amounts, less what the plan has given away of them, cover the needs,
//   it is neither excluded nor reserved for another job,
//   and the price buys kPaidSecondsMin on each core.
// The queries that choose what is in a snapshot apply the same rule, and leave out jobs whose deadline has
// passed: machine_suits() of sql/migrations/0026_machine_suits.sql. tests/integration/machine_suits_test.cc
// compares the two.
struct Snapshot {
  std::vector<Machine> machines;
  std::vector<WaitingJob> jobs;  // each once, in the order in which they are served
};

struct Plan {
  struct Pair {
    std::size_t job;  // both are indices into the snapshot
    std::size_t machine;
    bool operator==(const Pair&) const = default;
  };
  std::vector<Pair> assignments;   // both in the order of the jobs; a job is in one of them or in neither
  std::vector<Pair> reservations;  // new ones; those of the snapshot stay until the caller ends them
};

// Serves the jobs in order. A job gets the cheapest machine that suits it; of equally cheap ones the one that
// had the fewest free cores in the snapshot, so that large machines stay whole; then the earlier one.
//
// An overdue job that nothing suits reserves a machine whose total would do: the one of which the fewest
// cores, then the least RAM and disc, have yet to become free. From then on that machine takes no other job.
// An account gets one reservation at most, and none while a job of it that the snapshot has holds one.
//
// A reservation whose job is gone or placed elsewhere still keeps its machine from others: the caller
// ends it.
Plan match(const Snapshot& snapshot);

// The machines of one plan and what is left of them: match() without the order and the accounts.
//
// place() and reserve(), and so match(), abort when a job's needs or price are negative.
class Matcher {
 public:
  // Refers to the machines, which must outlive it unchanged. Takes one sort, otherwise linear time.
  explicit Matcher(std::span<const Machine> machines);

  // Gives the job its machine and takes the needs from what is left there. Empty when none suits.
  //
  // Visits about log2(machines) nodes of a tree of maxima, and more where the maxima of a node belong to
  // different machines: it looks like room and has none. At worst every node misleads, as when half of the
  // machines have only cores left and the others only RAM, and a job costs what a look at every affordable
  // machine costs. That is accepted: a plain search would always cost it, and machines whose amounts run out
  // together, as they mostly do, do not mislead.
  std::optional<std::size_t> place(const WaitingJob& job);

  // Reserves a machine, by the rule of match(), for a job that place() found none for. Empty when no total
  // would do. The first call takes linear time, for the totals; a later one mostly far
  // less, at worst as much.
  std::optional<std::size_t> reserve(const WaitingJob& job);

  // Whether a machine is reserved for the job.
  bool holds_reservation(JobId job) const { return reserved_.contains(job); }

 private:
  // A tournament tree: node 1 is the root, the children of k are 2k and 2k+1, and a node holds the maximum of
  // each amount below it, which may come from different leaves.
  class Maxima {
   public:
    explicit Maxima(std::vector<Amounts> leaves);
    const Amounts& operator[](std::size_t node) const { return nodes_[node]; }
    const Amounts& leaf(std::size_t at) const { return nodes_[width() + at]; }
    void set_leaf(std::size_t at, const Amounts& amounts);
    std::size_t width() const { return nodes_.size() / 2; }  // leaves, those that stand for nothing included

   private:
    std::vector<Amounts> nodes_;
  };
  struct Reserved {
    std::size_t leaf;
    Amounts free;
  };

  bool excludes(const WaitingJob& job, std::size_t leaf) const;

  std::span<const Machine> machines_;
  std::vector<std::size_t> order_;           // machines by price, free cores and index: the leaves
  std::vector<Credits> prices_;              // of the leaves
  std::multimap<JobId, Reserved> reserved_;  // their leaves hold nothing, so that no search enters them
  Maxima free_;
  std::optional<Maxima> totals_;  // made when first needed
};

}  // namespace remotist::worker
