#include "tests/sandbox_cases/house.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <random>
#include <sstream>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "tests/support/eventually.h"

namespace remotist::volunteer::cases {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

// The programs stand beside this one; scripts and guests' programs in a folder there.
fs::path bin() {
  return fs::read_symlink("/proc/self/exe").parent_path();
}

// What can be read of it: a process may go meanwhile.
std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream{path}.rdbuf();
  return text.str();
}

char state_of(pid_t pid) {
  const auto stat = text_of("/proc/" + std::to_string(pid) + "/stat");
  const auto end = stat.rfind(')');
  return end == std::string::npos || end + 2 >= stat.size() ? 'X' : stat[end + 2];
}

bool is_gone(pid_t pid) {
  const auto state = state_of(pid);
  return state == 'Z' || state == 'X';
}

// A guest that was forked in advance and waits for its job.
bool is_spare(pid_t pid) {
  return text_of("/proc/" + std::to_string(pid) + "/comm") == "guest-first\n";
}

pid_t parent_of(pid_t pid) {
  std::istringstream fields{text_of("/proc/" + std::to_string(pid) + "/status")};
  for (std::string line; std::getline(fields, line);)
    if (line.starts_with("PPid:")) return static_cast<pid_t>(std::stol(line.substr(5)));
  return 0;
}

// Files that belong to root, where the guest is nobody of this machine, or that would give whoever runs them
// the rights of root or of the agent.
std::vector<std::string> wrong_owners(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& each :
       fs::recursive_directory_iterator{folder, fs::directory_options::skip_permission_denied, ignored}) {
    struct stat is{};
    if (lstat(each.path().c_str(), &is) != 0 || !S_ISREG(is.st_mode)) continue;
    if (is.st_uid == 0 && each.path().filename() == "whose") found.emplace_back("it is root of the machine");
    if ((is.st_mode & S_ISUID) != 0 && (is.st_uid == 0 || is.st_uid == getuid()))
      found.push_back(each.path().filename().string() + " runs as uid " + std::to_string(is.st_uid));
  }
  return found;
}

// More than any honest guest says within a few seconds.
constexpr std::size_t kProgressMost = 2000;

// On a machine that is busy with other tests it may take a minute.
constexpr seconds kZygoteWithin{300};
constexpr seconds kEndWithin{120};
constexpr seconds kPatience{10};

// What the house may hold more than in the beginning: a few for each guest that it has forked in advance.
constexpr std::ptrdiff_t kDescriptorsMost = 20;

std::ptrdiff_t descriptors() {
  return std::distance(fs::directory_iterator{"/proc/self/fd"}, fs::directory_iterator{});
}

void copy_into(const fs::path& from, const fs::path& to) {
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
}

}  // namespace

std::string Seen::ending() const {
  const auto name = std::string{name_of(verdict.ending)};
  return verdict.ending == Ending::limit ? name + ":" + verdict.limit : name;
}

std::vector<std::string> Seen::lines(std::string_view word) const {
  std::vector<std::string> found;
  std::istringstream text{log};
  const auto start = std::string{word} + ": ";
  for (std::string line; std::getline(text, line);)
    if (line.starts_with(start)) found.push_back(line.substr(start.size()));
  return found;
}

std::string Seen::words() const {
  std::ostringstream all;
  all << ending();
  if (!verdict.message.empty()) all << " (" << verdict.message.substr(0, 300) << ")";
  for (const auto* const word : {"escaped", "contained"})
    for (const auto& line : lines(word)) all << "; " << word << ": " << line.substr(0, 200);
  for (const auto& each : harm) all << "; harm: " << each;
  return all.str();
}

House::House(World& world, Layers layers) : world_{world} {
  // What a guest manages to orphan comes to us, and is seen.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  guesthouse_ = std::make_unique<Guesthouse>(GuesthouseOptions{
      .runner = bin() / "remotist-runner", .guests = world.guests(), .guests_max = 8, .layers = layers});
  const auto deadline = Clock::now() + kZygoteWithin;
  while (!guesthouse_->ready()) {
    if (Clock::now() > deadline) throw std::runtime_error{"the zygote does not become ready"};
    take(50);
  }
  zygote_ = guesthouse_->zygote();
  before_ = descendants(getpid());
  descriptors_ = descriptors();
}

House::~House() {
  guesthouse_.reset();
  for (const auto pid : descendants(getpid()))
    if (!std::ranges::contains(before_, pid)) kill(pid, SIGKILL);
  for (const auto& guest : guests_made_) remove(guest);
}

void House::remove(const GuestSpec& guest) {
  try {
    remove_folder(guest.folder);
  } catch (const std::exception&) {
    // The test of remove_folder() says so; here it is only tidied up.
  }
}

// Discs of earlier guests go to later ones, as they do in an agent.
void House::tidy_up() {
  constexpr std::size_t kKept = 3;
  for (auto guest = guests_made_.begin(); guests_made_.size() > kKept && guest != guests_made_.end();) {
    if (guest->name == neighbour_.name) {
      ++guest;
      continue;
    }
    remove(*guest);
    guest = guests_made_.erase(guest);
  }
}

void House::take(int within_ms) {
  pollfd waiting{.fd = guesthouse_->descriptor(), .events = POLLIN, .revents = 0};
  poll(&waiting, 1, within_ms);
  world_.serve();
  auto more = guesthouse_->take_events();
  std::ranges::move(more, std::back_inserter(events_));
}

GuestSpec House::prepare(const Case& what, const std::string& name) {
  tidy_up();
  GuestSpec spec{.name = name, .exec_file = "job.R", .limits = what.limits};
  guesthouse_->make_folder(spec);
  guests_made_.push_back(spec);
  const auto work = spec.folder / kWorkFolder;
  const auto cases = bin() / "sandbox_cases";
  copy_into(cases / "scripts/prelude.R", work / "prelude.R");
  copy_into(cases / "scripts" / (std::string{what.script} + ".R"), work / "job.R");
  copy_into(cases / "programs/brought", work / "brought");
  if (!what.program.empty())
    copy_into(cases / "programs" / (std::string{what.program} + ".so"), work / "program.so");
  std::ofstream target{work / "target"};
  auto targets = world_.targets();
  targets["zygote"] = std::to_string(zygote_);
  targets["neighbour"] = neighbour_.name.empty() ? world_.guests() / "none" : neighbour_.folder;
  targets["ram_mb"] = std::to_string(what.limits.ram_mb);
  targets["disc_mb"] = std::to_string(what.limits.disc_mb);
  targets["inodes_max"] = std::to_string(what.limits.inodes_max);
  targets["processes_max"] = std::to_string(what.limits.processes_max);
  targets["descriptors_max"] = std::to_string(what.limits.descriptors_max);
  targets["cpu_ms_max"] = std::to_string(what.limits.cpu_ms_max.value_or(0));
  const char* const seed = std::getenv("REMOTIST_TEST_SEED");
  targets["seed"] = seed != nullptr ? seed : std::to_string(std::random_device{}() % 1'000'000);
  for (const auto& [key, value] : targets) target << key << ' ' << value << '\n';
  std::ofstream{work / "data.txt"} << targets.at("canary_word") << '\n';
  return spec;
}

Seen House::run(const Case& what) {
  const auto name = "guest-" + std::to_string(++guests_);
  auto spec = prepare(what, name);
  Seen seen;
  guesthouse_->start(spec);
  seen = wait_for(name, what);
  seen.folder = spec.folder;
  seen.log = text_of(spec.folder / kLogFile);
  std::ranges::move(world_.harm(), std::back_inserter(seen.harm));
  std::ranges::copy(wrong_owners(spec.folder / kWorkFolder), std::back_inserter(seen.harm));
  if (auto harm = zygote_harm(); !harm.empty()) seen.harm.push_back(std::move(harm));
  if (auto harm = neighbour_harm(); !harm.empty()) seen.harm.push_back(std::move(harm));
  std::ranges::copy(strays(), std::back_inserter(seen.harm));
  if (seen.progress.size() > kProgressMost)
    seen.harm.push_back(std::to_string(seen.progress.size()) + " reports of progress");
  if (!events_.empty()) seen.harm.emplace_back("something was heard after the end");
  if (const auto now = descriptors(); now > descriptors_ + kDescriptorsMost)
    seen.harm.push_back(std::to_string(now) + " descriptors, in the beginning " +
                        std::to_string(descriptors_));
  return seen;
}

Seen House::wait_for(const std::string& name, const Case& what) {
  Seen seen;
  auto deadline = Clock::now() + kEndWithin;
  Clock::time_point stopped{};
  bool out = false;
  bool looked = false;
  for (;;) {
    for (auto event = events_.begin(); event != events_.end();) {
      if (event->guest != name) {
        ++event;
        continue;
      }
      if (auto* const progress = std::get_if<Progress>(&event->what)) {
        seen.progress.push_back(std::move(*progress));
        event = events_.erase(event);
        continue;
      }
      seen.verdict = std::move(std::get<Ended>(event->what).verdict);
      events_.erase(event);
      if (stopped != Clock::time_point{})
        seen.cancelled = std::chrono::duration_cast<milliseconds>(Clock::now() - stopped);
      return seen;
    }
    if (what.cancel && stopped == Clock::time_point{} && guesthouse_->log_so_far(name).contains("trying: ")) {
      guesthouse_->stop(name);
      stopped = Clock::now();
    }
    // Who holds something goes on when the host has looked at it.
    if (!looked && guesthouse_->log_so_far(name).contains("holding: ")) {
      looked = true;
      world_.look_for_locks();
      std::ofstream{world_.guests() / name / kWorkFolder / "looked"} << "yes\n";
    }
    // Who is out need not be waited for.
    if (world_.guarded() && !out && guesthouse_->log_so_far(name).contains("escaped: ")) {
      out = true;
      deadline = Clock::now() + seconds{3};
    }
    if (Clock::now() > deadline) {
      const auto said = guesthouse_->log_so_far(name).substr(0, 2000);
      guesthouse_->stop(name);
      test::eventually(
          [&] {
            take(20);
            return std::erase_if(events_, [&](const Event& event) { return event.guest == name; }) > 0;
          },
          kPatience);
      if (!world_.guarded())
        throw std::runtime_error{std::string{what.key} + " did not end; it said: " + said};
      seen.verdict.ending = Ending::cancelled;
      seen.harm.emplace_back("it did not end");
      return seen;
    }
    take(20);
  }
}

void House::invite_neighbour() {
  if (!neighbour_.name.empty()) return;
  const Case neighbour{.key = "neighbour", .group = Group::r, .script = "neighbour"};
  auto spec = prepare(neighbour, "neighbour-" + std::to_string(++guests_));
  guesthouse_->start(spec);
  neighbour_ = spec;
  if (!test::eventually([&] {
        take(20);
        return guesthouse_->process_of(neighbour_.name) > 0;
      }))
    throw std::runtime_error{"the neighbour does not start"};
  // It runs as soon as it has said something; its parent is then the first process of its namespace.
  test::eventually([&] {
    take(20);
    return guesthouse_->log_so_far(neighbour_.name).contains("trying");
  });
  neighbour_first_ = parent_of(guesthouse_->process_of(neighbour_.name));
  before_ = descendants(getpid());
  descriptors_ = descriptors();
}

std::string House::dismiss_neighbour() {
  if (neighbour_.name.empty()) return "it is gone";
  const auto folder = neighbour_.folder;
  std::ofstream{folder / kWorkFolder / "finish"} << "now\n";
  const auto seen =
      wait_for(std::exchange(neighbour_.name, {}), {.key = "neighbour", .group = Group::r, .script = ""});
  if (seen.verdict.ending != Ending::completed) return seen.words();
  const auto answer = text_of(folder / kWorkFolder / "answer.txt");
  if (!answer.starts_with("500500\nTRUE\n")) return "its answer is " + answer;
  return answer.contains("planted") ? "somebody planted a file in its folder" : "";
}

std::string House::neighbour_harm() {
  const auto ended = std::ranges::find(events_, neighbour_.name, &Event::guest);
  if (neighbour_.name.empty() || ended == events_.end()) return "";
  Seen seen;
  seen.verdict = std::get<Ended>(ended->what).verdict;
  seen.log = text_of(neighbour_.folder / kLogFile);
  events_.erase(ended);
  neighbour_.name.clear();
  return "the neighbour ended: " + seen.words() + ": " + seen.log.substr(0, 300);
}

std::string House::zygote_harm() const {
  if (guesthouse_->zygote() != zygote_) return "the zygote is another one";
  const auto state = state_of(zygote_);
  return state == 'T' || state == 't' || state == 'X' || state == 'Z'
             ? "the zygote is in state " + std::string{state}
             : "";
}

// Processes that were not there before and stay.
std::vector<std::string> House::strays() const {
  std::vector<pid_t> left;
  test::eventually(
      [&] {
        left.clear();
        std::ranges::set_difference(descendants(getpid()), before_, std::back_inserter(left));
        const auto neighbours =
            neighbour_.name.empty() ? std::vector<pid_t>{} : descendants(neighbour_first_);
        std::erase_if(left, [&](pid_t pid) {
          return is_gone(pid) || is_spare(pid) || std::ranges::contains(neighbours, pid);
        });
        return left.empty();
      },
      kPatience);
  std::vector<std::string> words;
  for (const auto pid : left) {
    words.push_back("process " + std::to_string(pid) + " was left behind");
    kill(pid, SIGKILL);
  }
  return words;
}

}  // namespace remotist::volunteer::cases
