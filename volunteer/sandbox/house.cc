#include "volunteer/sandbox/house.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <format>
#include <fstream>
#include <ranges>
#include <stdexcept>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <system_error>
#include <unistd.h>

#include "core/log.h"
#include "volunteer/sandbox/defences.h"
#include "volunteer/sandbox/order.h"

namespace remotist::volunteer {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kSpares = 2;
// Slots of guests whose first process is still on its way out.
constexpr std::size_t kSlotsBeyond = 16;
// A guest that knew when the next tick comes could hide from it.
constexpr std::int64_t kTickMsMin = 25;
constexpr std::int64_t kTickMsMax = 75;
constexpr auto kRestartPause = milliseconds(200);
constexpr int kRestartDoublings = 6;
constexpr auto kDoubt = milliseconds(500);
constexpr int kFailuresMax = 3;  // then those who wait are told

// From the pidfd's own description: the zygote knows another number.
pid_t process_behind(int pidfd) {
  std::ifstream file{std::format("/proc/self/fdinfo/{}", pidfd)};
  for (std::string key; file >> key;) {
    pid_t process = -1;
    if (key == "Pid:" && file >> process) return process;
  }
  return -1;
}

}  // namespace

Guesthouse::House::House(GuesthouseOptions options)
    : options_(std::move(options)),
      discs_(options_.guests),
      uids_(choose_uids(options_.guests_max + kSlotsBeyond, options_.guests)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      looks_(Clock::now()),
      slots_(options_.guests_max + kSlotsBeyond, false) {
  if (!epoll_ || !timer_ || !wake_) throw std::runtime_error("the guesthouse has no descriptors left");
  if (const auto lacking = lacking_defences(options_.layers); !lacking.empty())
    throw std::runtime_error(lacking);
  if (options_.layers.cgroup) cgroups_ = std::make_unique<Cgroups>();
  if (uids_.range && options_.layers.own_uid &&
      ::chown(options_.guests.c_str(), uids_.zygote, uids_.zygote_group) != 0) {
    throw std::runtime_error("the guests' folder cannot be given to the zygote");
  }
  if (!options_.layers.own_root) ::chmod(options_.guests.c_str(), 0755);
  watch(timer_.get(), Source::timer, 0);
  watch(wake_.get(), Source::wake, 0);
  start_zygote();
}

void Guesthouse::House::watch(int descriptor, Source source, std::uint32_t room, bool on) {
  if (descriptor < 0) return;
  epoll_event event{};
  event.events = on ? EPOLLIN : 0U;
  event.data.u64 = static_cast<std::uint64_t>(source) << 32 | room;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0 && errno == EEXIST) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event);
  }
}

void Guesthouse::House::start_zygote() {
  restart_at_.reset();
  zygote_ready_ = false;
  spares_asked_ = 0;
  zygote_ = std::make_unique<Zygote>(options_.runner, options_.guests, options_.layers, uids_,
                                     !options_.layers.cgroup || cgroups_->memory());
  watch(zygote_->control(), Source::control, 0);
  watch(zygote_->pidfd(), Source::zygote, 0);
}

std::vector<Event> Guesthouse::House::take_events() {
  std::array<epoll_event, 64> heard_now;
  const int count = ::epoll_wait(epoll_.get(), heard_now.data(), heard_now.size(), 0);
  const auto now = Clock::now();
  for (int i = 0; i < count; ++i) {
    const auto data = heard_now[static_cast<std::size_t>(i)].data.u64;
    heard(static_cast<Source>(data >> 32), static_cast<std::uint32_t>(data), now);
  }
  set_timer();
  return std::exchange(events_, {});
}

void Guesthouse::House::heard(Source source, std::uint32_t number, Time now) {
  std::uint64_t ignored = 0;
  switch (source) {
    case Source::wake:
      if (::read(wake_.get(), &ignored, sizeof ignored) > 0) tick(now);
      return;
    case Source::timer:
      if (::read(timer_.get(), &ignored, sizeof ignored) <= 0) return;
      ticking_ = false;
      return tick(now);
    case Source::control:
      return hear_zygote();
    case Source::zygote:
      if (zygote_ && !zygote_->alive()) lose_zygote();
      return;
    default:
      break;
  }
  const auto found = rooms_.find(number);
  if (found == rooms_.end()) return;
  auto& room = found->second;
  if (source == Source::lodging) {
    if (!room.stay) return vacate(number);
    room.stay->all_gone();
  } else if (room.stay) {
    if (source == Source::socket) room.stay->hear(events_);
    if (source == Source::output && !room.stay->listen())
      watch(room.stay->output(), Source::output, number, false);
    if (source == Source::farewell) room.stay->farewell();
  }
  if (room.stay && room.stay->over()) settle(number, now);
}

// When a zygote dies, the kernel first kills its guests. Until it is known whether that is so, nothing is
// said of a guest that died for no known reason; one that had not begun is sent in again.
void Guesthouse::House::settle(std::uint32_t number, Time now) {
  auto& room = rooms_.at(number);
  const bool lost = !zygote_ || !zygote_->alive();
  if (!room.stay->explained() && !lost) {
    if (!room.unexplained_since) {
      room.unexplained_since = now;
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, room.held().pidfd.get(), nullptr);
    }
    if (now - *room.unexplained_since < kDoubt) return;
  }
  if (lost && room.stay->untouched()) {
    auto stay = std::move(room.stay);
    room.lodging = stay->step_back();
    waiting_.push_front(std::move(stay));
    return vacate(number);
  }
  if (lost && !room.stay->explained()) room.stay->zygote_lost();
  check_out(number);
  if (rooms_.at(number).unexplained_since) vacate(number);
}

void Guesthouse::House::hear_zygote() {
  while (zygote_) {
    auto parcel = receive_parcel(zygote_->control());
    if (!parcel) {
      if (errno != EAGAIN) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, zygote_->control(), nullptr);
      return;
    }
    if (parcel->text.starts_with(kReady)) {
      zygote_ready_ = true;
      note_missing(std::string_view{parcel->text}.substr(kReady.size()));
      failures_ = 0;
      ask_for_spares();
    } else if (parcel->text == kGuest) {
      welcome(std::move(*parcel));
    } else if (parcel->text.starts_with(kFailed)) {
      zygote_words_ = parcel->text.substr(kFailed.size());
    }
  }
}

// Guests run without them. A new zygote that lacks the same is not told of again.
void Guesthouse::House::note_missing(std::string_view lines) {
  const auto before = std::exchange(missing_, {});
  for (const auto line : std::views::split(lines, '\n')) {
    const std::string_view text{line};
    const auto colon = text.find(": ");
    if (colon == std::string_view::npos) continue;
    const auto& [name, why] = *missing_.emplace(text.substr(0, colon), text.substr(colon + 2)).first;
    if (!before.contains(name)) log::warn("defence_missing", {{"defence", name}, {"why", why}});
  }
}

std::vector<std::string> Guesthouse::House::missing() const {
  return std::views::keys(missing_) | std::ranges::to<std::vector>();
}

// A forked guest. It is admitted to its cgroup before it goes on; one that cannot be does not run: without
// its word it exits.
void Guesthouse::House::welcome(Parcel parcel) {
  if (parcel.descriptors.size() != 3) return;
  const auto number = next_room_++;
  auto& room = rooms_[number];
  auto& lodging = room.lodging;
  lodging.pidfd = std::move(parcel.descriptors[0]);
  lodging.socket = std::move(parcel.descriptors[1]);
  lodging.farewell = std::move(parcel.descriptors[2]);
  lodging.process = process_behind(lodging.pidfd.get());
  if (cgroups_ && cgroups_->any()) {
    lodging.cgroup = cgroups_->make(std::format("guest-{}", number));
    if (!lodging.cgroup || !lodging.cgroup->admit(lodging.process)) return turn_away(number, errno);
  }
  failures_ = 0;
  ::fcntl(lodging.farewell.get(), F_SETFL, O_NONBLOCK);
  watch(lodging.pidfd.get(), Source::lodging, number);
  send_parcel(lodging.socket.get(), std::string_view(&kAdmitted, 1));
  spares_.push_back(number);
  admit_waiting();
}

void Guesthouse::House::turn_away(std::uint32_t number, int problem) {
  const auto words = std::format("a job's cgroup cannot be made or entered: {}", std::strerror(problem));
  log::warn("guest_not_admitted", {{"what", words}});
  auto room = rooms_.extract(number);
  if (auto& cgroup = room.mapped().lodging.cgroup; cgroup && !cgroup->remove())
    emptied_.push_back(std::move(cgroup));
  if (spares_asked_ > 0) --spares_asked_;
  try_again_later("The sandbox could not be set up: " + words);
}

// Those who have waited through some failures in a row are told why.
void Guesthouse::House::try_again_later(const std::string& words) {
  ++failures_;
  restart_at_ = Clock::now() + kRestartPause * (1 << std::min(failures_, kRestartDoublings));
  if (failures_ >= kFailuresMax) refuse_waiting(words);
}

// A guest attaches its disc in a mount namespace; without one the folder is a plain one.
void Guesthouse::House::make_folder(GuestSpec& spec) {
  if (spec.folder.empty()) {
    if (options_.layers.own_root && options_.layers.disc_limit) spec.disc = discs_.make(disc_size(spec));
    spec.folder = (spec.disc ? spec.disc->path() : options_.guests) / spec.name;
  }
  std::filesystem::create_directories(spec.folder / kWorkFolder);
}

void Guesthouse::House::prepare_discs(std::int64_t disc_mb, std::size_t count) {
  GuestSpec spec;
  spec.limits.disc_mb = disc_mb;
  if (options_.layers.own_root && options_.layers.disc_limit) discs_.prepare(disc_size(spec), count);
}

void Guesthouse::House::start(GuestSpec spec) {
  const std::string name = spec.name;
  const auto slot = free_slot();
  try {
    if (!slot) throw std::runtime_error("the guesthouse is full");
    if (spec.folder.parent_path() != (spec.disc ? spec.disc->path() : options_.guests)) {
      throw std::runtime_error("a guest's folder must stand in the guests' folder");
    }
    waiting_.push_back(std::make_unique<Stay>(std::move(spec), *slot, uids_, options_.layers));
    slots_[*slot] = true;
    admit_waiting();
  } catch (const std::exception& error) {
    Ended ended;
    ended.verdict.message = error.what();
    told(name, std::move(ended));
  }
  set_timer();
}

void Guesthouse::House::admit_waiting() {
  while (!waiting_.empty() && !spares_.empty()) {
    auto stay = std::move(waiting_.front());
    waiting_.pop_front();
    check_in(std::move(stay));
  }
}

void Guesthouse::House::check_in(std::unique_ptr<Stay> stay) {
  const auto number = spares_.front();
  spares_.pop_front();
  auto& room = rooms_.at(number);
  room.slot = stay->slot();
  room.stay = std::move(stay);
  try {
    room.stay->enter(std::move(room.lodging));
  } catch (const std::system_error& error) {
    // Its process is dead or dying, and that is told as usual.
    log::warn("guest_not_admitted", {{"what", error.what()}});
  }
  const auto& lodging = room.stay->lodging();
  watch(lodging.socket.get(), Source::socket, number);
  watch(lodging.farewell.get(), Source::farewell, number);
  watch(room.stay->output(), Source::output, number);
  --spares_asked_;
  // The next spare can wait until this guest has had its turn, unless it is the only one.
  if (spares_.empty()) ask_for_spares();
}

void Guesthouse::House::ask_for_spares() {
  if (!zygote_ || !zygote_ready_) return;
  for (; spares_asked_ < kSpares; ++spares_asked_) zygote_->ask_for_guest();
}

void Guesthouse::House::check_out(std::uint32_t number) {
  auto& room = rooms_.at(number);
  auto ended = room.stay->end(events_);
  told(room.stay->spec().name, std::move(ended));
  room.lodging = room.stay->leave();
  room.lodging.socket.reset();
  room.lodging.farewell.reset();
  room.stay.reset();
  room.left = true;
  ask_for_spares();
}

void Guesthouse::House::vacate(std::uint32_t number) {
  auto node = rooms_.extract(number);
  auto& room = node.mapped();
  if (room.left) {
    slots_[room.slot] = false;
  } else {
    if (std::erase(spares_, number) > 0 && spares_asked_ > 0) --spares_asked_;
    if (zygote_ && zygote_ready_ && zygote_->alive()) {
      log::warn("spare_guest_died", {});
      restart_at_ = Clock::now() + kRestartPause;
    }
  }
  if (room.lodging.cgroup && !room.lodging.cgroup->remove())
    emptied_.push_back(std::move(room.lodging.cgroup));
}

void Guesthouse::House::lose_zygote() {
  log::warn("zygote_died", {{"what", zygote_words_.empty() ? "without a word" : zygote_words_}});
  const bool was_ready = zygote_ready_;
  zygote_.reset();
  zygote_ready_ = false;
  spares_asked_ = 0;
  std::vector<std::uint32_t> over;
  for (const auto& [number, room] : rooms_) {
    if (room.stay && room.stay->over()) over.push_back(number);
  }
  for (const auto number : over) settle(number, Clock::now());
  if (!was_ready) return try_again_later(zygote_failure());
  failures_ = 0;
  restart_at_ = Clock::now() + kRestartPause;
}

std::string Guesthouse::House::zygote_failure() const {
  return "R could not be started: " + (zygote_words_.empty() ? "the runner dies at once" : zygote_words_);
}

void Guesthouse::House::refuse_waiting(const std::string& words) {
  for (auto& stay : std::exchange(waiting_, {})) {
    slots_[stay->slot()] = false;
    told(stay->spec().name, stay->end(events_, words));
  }
}

void Guesthouse::House::tick(Time now) {
  std::vector<std::uint32_t> inside;
  for (auto& [number, room] : rooms_) {
    if (room.stay) inside.push_back(number);
  }
  bool all = true;
  for (const auto number : looks_.in_turn(std::move(inside))) {
    auto& stay = *rooms_.at(number).stay;
    if (stay.over()) {
      settle(number, now);
      continue;
    }
    if (!stay.watch(events_, looks_) && std::exchange(all, false)) looks_.stopped_at(number);
    watch(stay.output(), Source::output, number);
  }
  if (!restart_at_) ask_for_spares();
  std::erase_if(emptied_, [](const auto& group) { return group->remove(); });
  if (restart_at_ && now >= *restart_at_) {
    restart_at_.reset();
    if (zygote_) {
      ask_for_spares();
    } else {
      try {
        start_zygote();
      } catch (const std::runtime_error& error) {
        zygote_words_ = error.what();
        try_again_later(zygote_failure());
      }
    }
  }
}

// Wakes the owner only while there is something to look after.
void Guesthouse::House::set_timer() {
  const bool needed = !emptied_.empty() || restart_at_ || std::ranges::any_of(rooms_, [](const auto& room) {
    return room.second.stay != nullptr;
  });
  if (needed == ticking_) return;
  ticking_ = needed;
  itimerspec when{};
  if (needed) {
    const milliseconds next{std::uniform_int_distribution{kTickMsMin, kTickMsMax}(chance_)};
    when.it_value.tv_nsec = std::chrono::nanoseconds(next).count();
  }
  ::timerfd_settime(timer_.get(), 0, &when, nullptr);
}

void Guesthouse::House::ask_checkpoint(std::string_view name) {
  for (auto& [number, room] : rooms_) {
    if (room.stay && room.stay->spec().name == name) return room.stay->ask_checkpoint();
  }
}

void Guesthouse::House::stop(std::string_view name) {
  for (auto& [number, room] : rooms_) {
    if (room.stay && room.stay->spec().name == name) return room.stay->stop();
  }
  const auto found = std::ranges::find(waiting_, name, [](const auto& stay) { return stay->spec().name; });
  if (found == waiting_.end()) return;
  (*found)->stop();
  slots_[(*found)->slot()] = false;
  told(std::string(name), (*found)->end(events_));
  waiting_.erase(found);
}

const Stay* Guesthouse::House::find(std::string_view name) const {
  for (const auto& [number, room] : rooms_) {
    if (room.stay && room.stay->spec().name == name) return room.stay.get();
  }
  return nullptr;
}

void Guesthouse::House::told(std::string name, Ended ended) {
  events_.push_back({std::move(name), std::move(ended)});
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

std::optional<std::size_t> Guesthouse::House::free_slot() {
  const auto found = std::ranges::find(slots_, false);
  if (found == slots_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - slots_.begin());
}

}  // namespace remotist::volunteer
