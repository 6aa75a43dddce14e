// The inside of a Guesthouse: one epoll loop over a zygote, guests that wait to be used, and guests that are
// in.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "volunteer/sandbox/cgroup.h"
#include "volunteer/sandbox/guesthouse.h"
#include "volunteer/sandbox/job_disc.h"
#include "volunteer/sandbox/stay.h"
#include "volunteer/sandbox/uids.h"
#include "volunteer/sandbox/zygote.h"

namespace remotist::volunteer {

class Guesthouse::House {
 public:
  explicit House(GuesthouseOptions options);

  int descriptor() const { return epoll_.get(); }
  std::vector<Event> take_events();
  bool ready() const { return zygote_ != nullptr && zygote_ready_; }
  void make_folder(GuestSpec& spec);
  void prepare_discs(std::int64_t disc_mb, std::size_t count);
  void start(GuestSpec spec);
  void stop(std::string_view name);
  void ask_checkpoint(std::string_view name);
  const Stay* find(std::string_view name) const;
  std::vector<std::string> missing() const;
  pid_t zygote() const { return zygote_ ? zygote_->process() : 0; }

 private:
  using Time = std::chrono::steady_clock::time_point;
  enum class Source : std::uint8_t { wake, timer, control, zygote, socket, output, farewell, lodging };
  struct Room {  // a spare, or a guest, or what is left of one
    Lodging lodging;
    std::unique_ptr<Stay> stay;
    std::size_t slot = 0;
    bool left = false;  // Ended was told; only its first process is still to go
    std::optional<Time>
        unexplained_since{};  // it died with nobody known to have done it: the zygote, perhaps
    const Lodging& held() const { return stay ? stay->lodging() : lodging; }
  };

  void heard(Source source, std::uint32_t room, Time now);
  void hear_zygote();
  void lose_zygote();
  void start_zygote();
  void welcome(Parcel parcel);
  void note_missing(std::string_view lines);
  void turn_away(std::uint32_t number, int problem);
  void try_again_later(const std::string& words);
  std::string zygote_failure() const;
  void ask_for_spares();
  void admit_waiting();
  void check_in(std::unique_ptr<Stay> stay);
  void settle(std::uint32_t number, Time now);
  void check_out(std::uint32_t number);
  void vacate(std::uint32_t number);
  void refuse_waiting(const std::string& words);
  void tick(Time now);
  void set_timer();
  void watch(int descriptor, Source source, std::uint32_t room, bool on = true);
  void told(std::string name, Ended ended);
  std::optional<std::size_t> free_slot();

  const GuesthouseOptions options_;
  JobDiscs discs_;
  Uids uids_;
  std::unique_ptr<Cgroups> cgroups_;
  Descriptor epoll_;
  Descriptor timer_;
  Descriptor wake_;
  LookBudget looks_;
  std::map<std::uint32_t, Room> rooms_;
  std::deque<std::uint32_t> spares_;
  std::deque<std::unique_ptr<Stay>> waiting_;
  std::vector<bool> slots_;
  std::vector<Event> events_;
  std::list<std::unique_ptr<Cgroup>> emptied_;  // groups that could not be removed yet
  std::uint32_t next_room_ = 1;
  std::size_t spares_asked_ = 0;  // that are there or on their way
  int failures_ = 0;              // in a row: a zygote that was never ready, a guest without its cgroup
  std::string zygote_words_;
  std::map<std::string, std::string> missing_;  // defences that the zygote was refused, and why
  std::optional<Time> restart_at_;
  bool zygote_ready_ = false;
  bool ticking_ = false;  // the timer is set
  std::random_device chance_;
  std::unique_ptr<Zygote> zygote_;  // last: the first to go
};

}  // namespace remotist::volunteer
