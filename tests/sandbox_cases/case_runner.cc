#include "tests/sandbox_cases/case_runner.h"

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

// The folder of this program, with remotist-runner and the files of the cases.
fs::path bin() {
  return fs::read_symlink("/proc/self/exe").parent_path();
}

// Empty when the process has exited meanwhile.
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

// A guest that was forked in advance.
bool is_spare(pid_t pid) {
  return text_of("/proc/" + std::to_string(pid) + "/comm") == "guest-first\n";
}

pid_t parent_of(pid_t pid) {
  std::istringstream fields{text_of("/proc/" + std::to_string(pid) + "/status")};
  for (std::string line; std::getline(fields, line);)
    if (line.starts_with("PPid:")) return static_cast<pid_t>(std::stol(line.substr(5)));
  return 0;
}

// Files that belong to root, or that would run with the rights of root or of the agent.
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

// More than any honest guest reports within a few seconds.
constexpr std::size_t kProgressMax = 2000;

// It may take a minute on a busy machine.
constexpr seconds kZygoteWithin{300};
constexpr seconds kEndWithin{120};
constexpr seconds kTimeout{10};

// How many descriptors may be added: a few for each spare.
constexpr std::ptrdiff_t kDescriptorsAddedMax = 20;

std::ptrdiff_t descriptors() {
  return std::distance(fs::directory_iterator{"/proc/self/fd"}, fs::directory_iterator{});
}

void copy_into(const fs::path& from, const fs::path& to) {
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
}

}  // namespace

std::string CaseResult::ending() const {
  const auto name = std::string{name_of(verdict.ending)};
  return verdict.limit ? name + ":" + std::string{name_of(*verdict.limit)} : name;
}

std::vector<std::string> CaseResult::lines(std::string_view keyword) const {
  std::vector<std::string> found;
  std::istringstream text{log};
  const auto start = std::string{keyword} + ": ";
  for (std::string line; std::getline(text, line);)
    if (line.starts_with(start)) found.push_back(line.substr(start.size()));
  return found;
}

std::string CaseResult::description() const {
  std::ostringstream all;
  all << ending();
  if (!verdict.message.empty()) all << " (" << verdict.message.substr(0, 300) << ")";
  for (const auto* const keyword : {"escaped", "contained"})
    for (const auto& line : lines(keyword)) all << "; " << keyword << ": " << line.substr(0, 200);
  for (const auto& each : harm) all << "; harm: " << each;
  return all.str();
}

CaseRunner::CaseRunner(CanaryHost& host, Protections protections) : host_{host} {
  // Orphans of guests become children of this process, where they can be found.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sandbox_ = std::make_unique<Sandbox>(SandboxOptions{.runner = bin() / "remotist-runner",
                                                      .guests = host.guests(),
                                                      .guests_max = 8,
                                                      .protections = protections});
  const auto deadline = Clock::now() + kZygoteWithin;
  while (!sandbox_->ready()) {
    if (Clock::now() > deadline) throw std::runtime_error{"the zygote does not become ready"};
    poll_events(50);
  }
  zygote_ = sandbox_->zygote();
  before_ = descendants(getpid());
  descriptors_ = descriptors();
}

CaseRunner::~CaseRunner() {
  sandbox_.reset();
  for (const auto pid : descendants(getpid()))
    if (!std::ranges::contains(before_, pid)) kill(pid, SIGKILL);
  for (const auto& guest : guests_made_) remove(guest);
}

void CaseRunner::remove(const GuestSpec& guest) {
  try {
    remove_folder(guest.folder);
  } catch (const std::exception&) {
    // Tests of remove_folder() report this.
  }
}

// Releases the discs of earlier guests, which later ones reuse, as in an agent.
void CaseRunner::remove_old_folders() {
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

void CaseRunner::poll_events(int within_ms) {
  pollfd waiting{.fd = sandbox_->descriptor(), .events = POLLIN, .revents = 0};
  poll(&waiting, 1, within_ms);
  host_.serve();
  auto more = sandbox_->take_events();
  std::ranges::move(more, std::back_inserter(events_));
}

GuestSpec CaseRunner::prepare(const Case& what, const std::string& name) {
  remove_old_folders();
  GuestSpec spec{.name = name, .exec_file = "job.R", .limits = what.limits};
  sandbox_->make_folder(spec);
  guests_made_.push_back(spec);
  const auto work = spec.folder / kWorkFolder;
  const auto cases = bin() / "sandbox_cases";
  copy_into(cases / "scripts/prelude.R", work / "prelude.R");
  copy_into(cases / "scripts" / (std::string{what.script} + ".R"), work / "job.R");
  copy_into(cases / "programs/brought", work / "brought");
  if (!what.program.empty())
    copy_into(cases / "programs" / (std::string{what.program} + ".so"), work / "program.so");
  std::ofstream target{work / "target"};
  auto targets = host_.targets();
  targets["zygote"] = std::to_string(zygote_);
  targets["neighbour"] = neighbour_.name.empty() ? host_.guests() / "none" : neighbour_.folder;
  targets["ram_mb"] = std::to_string(what.limits.ram_mb);
  targets["disc_mb"] = std::to_string(what.limits.disc_mb);
  targets["inodes_max"] = std::to_string(what.limits.inodes_max);
  targets["processes_max"] = std::to_string(what.limits.processes_max);
  targets["descriptors_max"] = std::to_string(what.limits.descriptors_max);
  targets["cpu_ms_max"] = std::to_string(what.limits.cpu_ms_max.value_or(0));
  const char* const hidden = std::getenv("REMOTIST_HIDDEN_PROGRAM");
  targets["hidden_program"] = hidden != nullptr ? hidden : "none";
  const char* const seed = std::getenv("REMOTIST_TEST_SEED");
  targets["seed"] = seed != nullptr ? seed : std::to_string(std::random_device{}() % 1'000'000);
  for (const auto& [key, value] : targets) target << key << ' ' << value << '\n';
  std::ofstream{work / "data.txt"} << targets.at("canary_word") << '\n';
  return spec;
}

CaseResult CaseRunner::run(const Case& what) {
  const auto name = "guest-" + std::to_string(++guests_);
  auto spec = prepare(what, name);
  CaseResult seen;
  sandbox_->start(spec);
  seen = wait_for(name, what);
  seen.folder = spec.folder;
  seen.log = text_of(spec.folder / kLogFile);
  std::ranges::move(host_.harm(), std::back_inserter(seen.harm));
  std::ranges::copy(wrong_owners(spec.folder / kWorkFolder), std::back_inserter(seen.harm));
  if (auto harm = zygote_harm(); !harm.empty()) seen.harm.push_back(std::move(harm));
  if (auto harm = neighbour_harm(); !harm.empty()) seen.harm.push_back(std::move(harm));
  std::ranges::copy(leftover_processes(), std::back_inserter(seen.harm));
  if (seen.progress.size() > kProgressMax)
    seen.harm.push_back(std::to_string(seen.progress.size()) + " reports of progress");
  if (!events_.empty()) seen.harm.emplace_back("there were events after the end");
  if (const auto now = descriptors(); now > descriptors_ + kDescriptorsAddedMax)
    seen.harm.push_back(std::to_string(now) + " descriptors, in the beginning " +
                        std::to_string(descriptors_));
  return seen;
}

CaseResult CaseRunner::wait_for(const std::string& name, const Case& what) {
  CaseResult seen;
  auto deadline = Clock::now() + kEndWithin;
  Clock::time_point stopped{};
  bool out = false;
  bool checked = false;
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
    if (what.cancel && stopped == Clock::time_point{} && sandbox_->log_so_far(name).contains("trying: ")) {
      sandbox_->stop(name);
      stopped = Clock::now();
    }
    // A case that holds a lock waits until the host has checked for it.
    if (!checked && sandbox_->log_so_far(name).contains("holding: ")) {
      checked = true;
      host_.check_locks();
      std::ofstream{host_.guests() / name / kWorkFolder / "checked"} << "yes\n";
    }
    // A case that has escaped need not be waited for.
    if (host_.guarded() && !out && sandbox_->log_so_far(name).contains("escaped: ")) {
      out = true;
      deadline = Clock::now() + seconds{3};
    }
    if (Clock::now() > deadline) {
      const auto output = sandbox_->log_so_far(name).substr(0, 2000);
      sandbox_->stop(name);
      test::eventually(
          [&] {
            poll_events(20);
            return std::erase_if(events_, [&](const Event& event) { return event.guest == name; }) > 0;
          },
          kTimeout);
      if (!host_.guarded())
        throw std::runtime_error{std::string{what.key} + " did not end; its output: " + output};
      seen.verdict.ending = Ending::cancelled;
      seen.harm.emplace_back("it did not end");
      return seen;
    }
    poll_events(20);
  }
}

void CaseRunner::start_neighbour() {
  if (!neighbour_.name.empty()) return;
  const Case neighbour{.key = "neighbour", .group = Group::r, .script = "neighbour"};
  auto spec = prepare(neighbour, "neighbour-" + std::to_string(++guests_));
  sandbox_->start(spec);
  neighbour_ = spec;
  if (!test::eventually([&] {
        poll_events(20);
        return sandbox_->process_of(neighbour_.name) > 0;
      }))
    throw std::runtime_error{"the neighbour does not start"};
  // Once it has printed something, its parent is the first process of its pid namespace.
  test::eventually([&] {
    poll_events(20);
    return sandbox_->log_so_far(neighbour_.name).contains("trying");
  });
  neighbour_first_ = parent_of(sandbox_->process_of(neighbour_.name));
  before_ = descendants(getpid());
  descriptors_ = descriptors();
}

std::string CaseRunner::finish_neighbour() {
  if (neighbour_.name.empty()) return "it is gone";
  const auto folder = neighbour_.folder;
  std::ofstream{folder / kWorkFolder / "finish"} << "now\n";
  const auto seen =
      wait_for(std::exchange(neighbour_.name, {}), {.key = "neighbour", .group = Group::r, .script = ""});
  if (seen.verdict.ending != Ending::completed) return seen.description();
  const auto answer = text_of(folder / kWorkFolder / "answer.txt");
  if (!answer.starts_with("500500\nTRUE\n")) return "its answer is " + answer;
  return answer.contains("planted") ? "somebody planted a file in its folder" : "";
}

std::string CaseRunner::neighbour_harm() {
  const auto ended = std::ranges::find(events_, neighbour_.name, &Event::guest);
  if (neighbour_.name.empty() || ended == events_.end()) return "";
  CaseResult seen;
  seen.verdict = std::get<Ended>(ended->what).verdict;
  seen.log = text_of(neighbour_.folder / kLogFile);
  events_.erase(ended);
  neighbour_.name.clear();
  return "the neighbour ended: " + seen.description() + ": " + seen.log.substr(0, 300);
}

std::string CaseRunner::zygote_harm() const {
  if (sandbox_->zygote() != zygote_) return "the zygote is another one";
  const auto state = state_of(zygote_);
  return state == 'T' || state == 't' || state == 'X' || state == 'Z'
             ? "the zygote is in state " + std::string{state}
             : "";
}

// Processes that were started by a case and have not exited.
std::vector<std::string> CaseRunner::leftover_processes() const {
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
      kTimeout);
  std::vector<std::string> messages;
  for (const auto pid : left) {
    messages.push_back("process " + std::to_string(pid) + " was left behind");
    kill(pid, SIGKILL);
  }
  return messages;
}

}  // namespace remotist::volunteer::cases
