#include "worker/matching/matching.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <set>
#include <tuple>

namespace remotist::worker {
namespace {

// Nothing fits into it, not even a job that needs nothing.
constexpr Amounts kNothing{-1, -1, -1};

Amounts maximum(const Amounts& a, const Amounts& b) {
  return {std::max(a.cpu_cores, b.cpu_cores), std::max(a.ram_mb, b.ram_mb), std::max(a.disc_mb, b.disc_mb)};
}

Amounts difference(const Amounts& a, const Amounts& b) {
  return {a.cpu_cores - b.cpu_cores, a.ram_mb - b.ram_mb, a.disc_mb - b.disc_mb};
}

// What must still become free.
Amounts shortfall(const Amounts& needs, const Amounts& free) {
  return maximum(difference(needs, free), Amounts{});
}

Credits price_per_cpu_second_max(const WaitingJob& job) {
  if (!Amounts{}.fit_into(job.needs) || job.price < Credits{}) std::abort();
  if (job.needs.cpu_cores == 0) return Credits::micro(std::numeric_limits<std::int64_t>::max());
  // Divided, because the product of a machine's price and the cores may overflow.
  return Credits::micro(job.price.micro() / job.needs.cpu_cores / kPaidSecondsMin);
}

std::vector<std::size_t> leaf_order(std::span<const Machine> machines) {
  // Keys that stand together, so that the sort does not jump about among the machines.
  std::vector<std::tuple<Credits, std::int64_t, std::size_t>> keys;
  keys.reserve(machines.size());
  for (std::size_t i = 0; i < machines.size(); ++i) {
    keys.emplace_back(machines[i].price_per_cpu_second, machines[i].free.cpu_cores, i);
  }
  std::ranges::sort(keys);
  std::vector<std::size_t> order;
  order.reserve(keys.size());
  for (const auto& key : keys) order.push_back(std::get<std::size_t>(key));
  return order;
}

std::vector<Amounts> amounts_of_unreserved(std::span<const Machine> machines,
                                           const std::vector<std::size_t>& order, Amounts Machine::* which) {
  std::vector<Amounts> amounts;
  amounts.reserve(order.size());
  for (const std::size_t i : order) {
    amounts.push_back(machines[i].reserved_for ? kNothing : machines[i].*which);
  }
  return amounts;
}

// Goes through a tree with so many leaves from left to right, below the nodes that enter() allows, until
// take() accepts a leaf or within() refuses one, and with it all to the right of it.
template <class Within, class Enter, class Take>
std::optional<std::size_t> leftmost(std::size_t width, Within within, Enter enter, Take take) {
  std::size_t node = 1;
  int below = std::countr_zero(width);  // levels from the node to the leaves
  while (within((node << below) - width)) {
    while (below > 0 && enter(node)) {
      node *= 2;
      --below;
    }
    if (below == 0 && enter(node) && take(node - width)) return node - width;
    // On to the right sibling, of the nearest ancestor that is a left child when this is none itself.
    const int up = std::countr_one(node);
    node = (node >> up) + 1;
    below += up;
    if (node == 1) break;
  }
  return std::nullopt;
}

}  // namespace

Matcher::Maxima::Maxima(std::vector<Amounts> leaves) {
  const std::size_t width = std::bit_ceil(leaves.size());
  nodes_.resize(2 * width, kNothing);
  std::ranges::copy(leaves, nodes_.begin() + static_cast<std::ptrdiff_t>(width));
  for (std::size_t node = width - 1; node > 0; --node) {
    nodes_[node] = maximum(nodes_[2 * node], nodes_[2 * node + 1]);
  }
}

void Matcher::Maxima::set_leaf(std::size_t at, const Amounts& amounts) {
  std::size_t node = width() + at;
  nodes_[node] = amounts;
  while (node > 1) {
    node /= 2;
    const Amounts changed = maximum(nodes_[2 * node], nodes_[2 * node + 1]);
    if (nodes_[node] == changed) return;
    nodes_[node] = changed;
  }
}

Matcher::Matcher(std::span<const Machine> machines)
    : machines_(machines),
      order_(leaf_order(machines)),
      free_(amounts_of_unreserved(machines, order_, &Machine::free)) {
  prices_.reserve(order_.size());
  for (std::size_t leaf = 0; leaf < order_.size(); ++leaf) {
    const Machine& machine = machines_[order_[leaf]];
    prices_.push_back(machine.price_per_cpu_second);
    if (machine.reserved_for) reserved_.emplace(*machine.reserved_for, Reserved{leaf, machine.free});
  }
}

std::optional<std::size_t> Matcher::place(const WaitingJob& job) {
  const Credits price_max = price_per_cpu_second_max(job);
  std::size_t end = order_.size();

  Reserved* own = nullptr;
  const auto [first, last] = reserved_.equal_range(job.id);
  for (auto each = first; each != last; ++each) {
    Reserved& reserved = each->second;
    if (reserved.leaf < end && prices_[reserved.leaf] <= price_max && job.needs.fit_into(reserved.free) &&
        !excludes(job, reserved.leaf)) {
      own = &reserved;
      end = reserved.leaf;  // only what comes before it is better
    }
  }

  const auto leaf = leftmost(
      free_.width(), [&](std::size_t at) { return at < end && prices_[at] <= price_max; },
      [&](std::size_t node) { return job.needs.fit_into(free_[node]); },
      [&](std::size_t at) { return !excludes(job, at); });
  if (leaf) {
    free_.set_leaf(*leaf, difference(free_.leaf(*leaf), job.needs));
    return order_[*leaf];
  }
  if (own == nullptr) return std::nullopt;
  own->free = difference(own->free, job.needs);
  return order_[own->leaf];
}

std::optional<std::size_t> Matcher::reserve(const WaitingJob& job) {
  if (!totals_) totals_.emplace(amounts_of_unreserved(machines_, order_, &Machine::total));
  const Credits price_max = price_per_cpu_second_max(job);

  // A node's maxima make its shortfall a lower bound for every leaf below it, so that what cannot be better
  // than the best so far is not entered.
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  Amounts least{kMost, kMost, kMost};
  std::optional<std::size_t> best;
  (void)leftmost(
      free_.width(), [&](std::size_t at) { return at < order_.size() && prices_[at] <= price_max; },
      [&](std::size_t node) {
        return job.needs.fit_into((*totals_)[node]) && shortfall(job.needs, free_[node]) < least;
      },
      [&](std::size_t at) {
        if (!excludes(job, at)) {
          least = shortfall(job.needs, free_.leaf(at));
          best = at;
        }
        return false;  // a better one may follow
      });
  if (!best) return std::nullopt;

  reserved_.emplace(job.id, Reserved{*best, free_.leaf(*best)});
  free_.set_leaf(*best, kNothing);
  totals_->set_leaf(*best, kNothing);
  return order_[*best];
}

bool Matcher::excludes(const WaitingJob& job, std::size_t leaf) const {
  if (job.excluded.empty()) return false;
  return std::ranges::find(job.excluded, machines_[order_[leaf]].machine) != job.excluded.end();
}

Plan match(const Snapshot& snapshot) {
  Matcher matcher{snapshot.machines};
  std::set<AccountId> reserving;
  for (const auto& job : snapshot.jobs) {
    if (matcher.holds_reservation(job.id)) reserving.insert(job.account);
  }

  Plan plan;
  for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
    const WaitingJob& job = snapshot.jobs[i];
    if (const auto machine = matcher.place(job)) {
      plan.assignments.push_back({i, *machine});
    } else if (job.overdue && !reserving.contains(job.account)) {
      if (const auto reserved = matcher.reserve(job)) {
        plan.reservations.push_back({i, *reserved});
        reserving.insert(job.account);
      }
    }
  }
  return plan;
}

}  // namespace remotist::worker
