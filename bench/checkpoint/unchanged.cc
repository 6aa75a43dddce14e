// What a checkpoint of a large state costs when little of it has changed, in the sandbox: bytes that are
// written and have to be sent, how long R stands still, the processor time of the child, and the run time of
// the script as a multiple of that without the engine. bench/checkpoint/run --part unchanged.
//
//   bench_unchanged RUNNER [vectors] [rounds of work] [seconds between checkpoints]
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <format>
#include <fstream>
#include <iostream>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

#include "volunteer/sandbox/checkpoint_file.h"
#include "volunteer/sandbox/descriptor.h"
#include "volunteer/sandbox/sandbox.h"

namespace {

using namespace remotist::volunteer;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

// Fifty vectors change during the work, each another one.
std::string script(int vectors, int rounds) {
  return std::format(R"(
v <- lapply(seq_len({0}), function(i) runif(125000))
writeLines("ready", "/out/ready")
while (!file.exists("/out/go")) Sys.sleep(0.05)
began <- proc.time()
total <- 0
for (k in seq_len({1})) {{
  total <- total + sum(v[[k %% {0} + 1]])
  if (k %% ({1} %/% 50) == 0) v[[(37 * (k %/% ({1} %/% 50))) %% {0} + 1]][k %% 1000 + 1] <- k
}}
used <- proc.time() - began
cat(used[["elapsed"]], used[["user.self"]] + used[["sys.self"]], total)
)",
                     vectors, rounds);
}

struct Figures {
  double elapsed = 0;
  double cpu = 0;
};

struct Job {
  GuestSpec spec;
  std::int64_t first_bytes = 0;
  bool ready = false;
  bool asked = false;
  Clock::time_point next{};
  std::optional<Figures> figures{};
};

void show(Job& job, const CheckpointTaken& taken) {
  const Descriptor file{::open(taken.file.c_str(), O_RDONLY | O_CLOEXEC)};
  const auto read = CheckpointFile::open(file.get());
  if (!read) throw std::runtime_error(read.error());
  std::int64_t stored = 0;
  std::size_t written = 0;
  for (const auto& chunk : read->chunks()) {
    stored += chunk.stored;
    written += chunk.stored > 0 ? 1 : 0;
  }
  if (job.first_bytes == 0) job.first_bytes = stored;
  std::cout << std::format(
                   "checkpoint {}: {} of {} chunks, {:.1f} MB ({:.2f} % of the first), pause {:.1f} ms, "
                   "child {:.2f} s\n",
                   taken.number, written, read->chunks().size(), static_cast<double>(stored) / 1e6,
                   100.0 * static_cast<double>(stored) / static_cast<double>(job.first_bytes), taken.pause_ms,
                   taken.child_cpu_ms / 1000)
            << std::flush;
  fs::remove(taken.file);
}

void handle(Sandbox& sandbox, Job& job, const Event& event, std::chrono::seconds interval) {
  if (const auto* taken = std::get_if<CheckpointTaken>(&event.what)) {
    show(job, *taken);
    sandbox.confirm_checkpoint(job.spec.name, taken->number);
    job.ready = true;
    job.asked = false;
    job.next = Clock::now() + interval;
  }
  if (const auto* ended = std::get_if<Ended>(&event.what)) {
    std::ifstream log{job.spec.folder / kLogFile};
    job.figures.emplace();
    if (!(log >> job.figures->elapsed >> job.figures->cpu))
      throw std::runtime_error("the job failed: " + ended->verdict.message);
  }
}

// Both jobs run at once, on a core each, so that a busy machine disturbs them equally.
void run_both(Sandbox& sandbox, std::array<Job, 2>& jobs, const std::string& text,
              std::chrono::seconds interval) {
  for (auto& job : jobs) {
    sandbox.make_folder(job.spec);
    std::ofstream{job.spec.folder / kWorkFolder / "main.R"} << text;
    fs::create_directories(job.spec.folder / kOutFolder);
    sandbox.start(job.spec);
  }
  bool working = false;
  while (!jobs[0].figures || !jobs[1].figures) {
    pollfd look{sandbox.descriptor(), POLLIN, 0};
    ::poll(&look, 1, 100);
    for (const auto& event : sandbox.take_events())
      for (auto& job : jobs)
        if (event.guest == job.spec.name) handle(sandbox, job, event, interval);
    for (auto& job : jobs) {
      const bool loaded = fs::exists(job.spec.folder / kOutFolder / "ready");
      if (!job.spec.resumable) job.ready = loaded;
      if (!loaded || !job.spec.resumable || job.asked || (job.ready && (!working || Clock::now() < job.next)))
        continue;
      sandbox.request_checkpoint(job.spec.name);
      job.asked = true;
    }
    if (working || !jobs[0].ready || !jobs[1].ready) continue;
    working = true;
    for (auto& job : jobs) std::ofstream{job.spec.folder / kOutFolder / "go"};
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return std::fputs("usage: bench_unchanged RUNNER [vectors] [rounds] [seconds]\n", stderr), 2;
  const int vectors = count > 2 ? std::atoi(arguments[2]) : 1000;
  const int rounds = count > 3 ? std::atoi(arguments[3]) : 500'000;
  const std::chrono::seconds interval{count > 4 ? std::atoi(arguments[4]) : 30};
  std::string guests = (fs::temp_directory_path() / "unchanged-XXXXXX").string();
  if (::mkdtemp(guests.data()) == nullptr) return 1;
  ::chmod(guests.c_str(), 0711);
  int status = 0;
  try {
    Sandbox sandbox{{.runner = arguments[1], .guests = guests}};
    GuestLimits limits;
    limits.ram_mb = 512 + 3LL * vectors;
    limits.disc_mb = 64;
    std::array<Job, 2> jobs;
    for (const bool resumable : {false, true})
      jobs[resumable].spec = {.name = resumable ? "engine" : "plain",
                              .exec_file = "main.R",
                              .limits = limits,
                              .resumable = resumable};
    run_both(sandbox, jobs, script(vectors, rounds), interval);
    const auto& plain = *jobs[0].figures;
    const auto& engine = *jobs[1].figures;
    std::cout << std::format(
        "plain {:.2f} s ({:.2f} s of CPU), with the engine {:.2f} s ({:.2f} s): {:+.2f} % of the time, "
        "{:+.2f} % of the CPU time\n",
        plain.elapsed, plain.cpu, engine.elapsed, engine.cpu, 100 * (engine.elapsed / plain.elapsed - 1),
        100 * (engine.cpu / plain.cpu - 1));
  } catch (const std::exception& error) {
    std::cerr << "bench_unchanged: " << error.what() << '\n';
    status = 1;
  }
  std::error_code ignored;
  fs::remove_all(guests, ignored);
  return status;
}
