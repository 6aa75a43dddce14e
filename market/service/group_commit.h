// Commits items in groups: those that arrive during one commit are the next group and share one wait for the
// disc. Each item succeeds or fails by itself and is answered once, after its commit.
//
// Each lane is a thread. The items of a lane are committed and answered in the order in which they were
// added. When the database is away, a lane keeps its items and tries again.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/log.h"
#include "core/pg/error.h"
#include "core/threads.h"

namespace remotist::market {

struct GroupCommitOptions {
  std::size_t lanes;
  std::string retry_event;  // the log's event when the database is away
  // The bounds of a group, and so of the time for which its rows are locked. A group has one item at least.
  std::size_t items_max = 64;
  std::size_t weight_max = std::numeric_limits<std::size_t>::max();
  std::chrono::milliseconds retry_delay{250};
};

template <class Item, class Outcome>
class GroupCommit {
 public:
  // Commits the items of one lane, on its thread only.
  class Committer {
   public:
    virtual ~Committer() = default;
    // Commits all items in one transaction, or throws and commits none. One outcome for each, in order.
    //
    // After an exception that concerns an item (ConstraintViolated, QueryFailed, or none of pg::Fault) each
    // item of the group is committed alone. Any other pg::Fault means that the database is away or the commit
    // in doubt: both functions are called again, and must then have the same effect.
    virtual std::vector<Outcome> commit(const std::vector<Item>& items) = 0;
    // Gives a failure that concerns the item as its outcome. Throws only when the database is away.
    virtual Outcome commit_alone(const Item& item) = 0;
    // After a group whose items were answered.
    virtual void on_group_committed() {}
    // What an item counts towards GroupCommitOptions::weight_max.
    virtual std::size_t weight(const Item&) const { return 1; }
  };
  // Called once, on a lane's thread, after the commit; must be quick.
  using OnCommitted = std::move_only_function<void(const Outcome&)>;

  GroupCommit(const GroupCommitOptions& options,
              const std::function<std::unique_ptr<Committer>()>& make_committer) {
    for (std::size_t i = 0; i < options.lanes; ++i)
      lanes_.push_back(std::make_unique<Lane>(options, make_committer()));
  }
  // Commits what is queued if the database answers, else drops it without an answer.
  ~GroupCommit() = default;
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;

  // Thread-safe. Items of the same key stay in order. The caller bounds the queue.
  void add(const std::string& key, Item item, OnCommitted on_committed) {
    lanes_[std::hash<std::string>{}(key) % lanes_.size()]->add(std::move(item), std::move(on_committed));
  }

 private:
  // By index; separate, so that commit() gets the items without a copy.
  struct Group {
    std::vector<Item> items;
    std::vector<OnCommitted> answers;
  };

  class Lane {
   public:
    Lane(GroupCommitOptions options, std::unique_ptr<Committer> committer)
        : options_(std::move(options)), committer_(std::move(committer)) {
      const SignalsBlocked blocked;
      thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
    }

    void add(Item item, OnCommitted on_committed) {
      {
        const std::lock_guard lock{mutex_};
        queue_.emplace_back(std::move(item), std::move(on_committed));
      }
      wake_.notify_one();
    }

   private:
    void run(const std::stop_token& stop) {
      for (;;) {
        Group group = take(stop);
        if (group.items.empty()) return;
        while (!try_commit(group)) {
          std::unique_lock lock{mutex_};
          if (wake_.wait_for(lock, stop, options_.retry_delay, [&] { return stop.stop_requested(); })) return;
        }
        committer_->on_group_committed();
      }
    }

    // Takes what is queued without waiting for more: the next group gathers while this one is committed.
    // Empty: stop.
    Group take(const std::stop_token& stop) {
      std::unique_lock lock{mutex_};
      wake_.wait(lock, stop, [this] { return !queue_.empty(); });
      Group group;
      std::size_t weight = 0;
      while (!queue_.empty() && group.items.size() < options_.items_max) {
        auto& [item, answer] = queue_.front();
        weight += committer_->weight(item);
        if (weight > options_.weight_max && !group.items.empty()) break;
        group.items.push_back(std::move(item));
        group.answers.push_back(std::move(answer));
        queue_.pop_front();
      }
      return group;
    }

    // False when the database is away; what is in the group then has no answer yet.
    bool try_commit(Group& group) {
      try {
        const auto outcomes = committer_->commit(group.items);
        for (std::size_t i = 0; i < outcomes.size(); ++i) group.answers[i](outcomes[i]);
        return true;
      } catch (const pg::ConstraintViolated&) {
        return try_each(group);
      } catch (const pg::QueryFailed&) {
        return try_each(group);
      } catch (const pg::Fault& fault) {
        return wait_for_database(group, fault);
      } catch (const std::exception&) {
        return try_each(group);
      }
    }

    // One of them fails; commits the others. Answered ones leave the group, so that a retry neither repeats
    // nor overtakes them.
    bool try_each(Group& group) {
      while (!group.items.empty()) {
        try {
          const auto outcome = committer_->commit_alone(group.items.front());
          group.answers.front()(outcome);
        } catch (const pg::Fault& fault) {
          return wait_for_database(group, fault);
        }
        group.items.erase(group.items.begin());
        group.answers.erase(group.answers.begin());
      }
      return true;
    }

    bool wait_for_database(const Group& group, const pg::Fault& fault) {
      log::warn(options_.retry_event, {{"items", group.items.size()}, {"why", fault.what()}});
      return false;
    }

    const GroupCommitOptions options_;
    const std::unique_ptr<Committer> committer_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::deque<std::pair<Item, OnCommitted>> queue_;
    std::jthread thread_;  // last member: joined before the others are destroyed
  };

  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace remotist::market
