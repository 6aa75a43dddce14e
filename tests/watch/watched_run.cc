#include "tests/watch/watched_run.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <format>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "tests/support/eventually.h"

namespace remotist::volunteer::watched {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr auto kWaitMax = std::chrono::seconds(120);

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe{::popen(command.c_str(), "re"), ::pclose};
  std::string said;
  std::array<char, 512> piece{};
  while (pipe && std::fgets(piece.data(), piece.size(), pipe.get()) != nullptr) said += piece.data();
  while (said.ends_with('\n')) said.pop_back();
  return said;
}

std::string run_rscript(const fs::path& folder, const std::string& script) {
  const auto file = folder / "expression.R";
  std::ofstream{file} << script;
  return output_of(
      std::format("cd '{}' && LC_ALL=C.UTF-8 Rscript --vanilla expression.R 2>&1", folder.string()));
}

}  // namespace

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream{path}.rdbuf();
  return text.str();
}

std::vector<Record> Run::of(std::size_t variable) const {
  std::vector<Record> found;
  for (const auto& record : records) {
    if (record.sent.variable == variable) found.push_back(record);
  }
  return found;
}

GuestLimits TestSandbox::generous_limits() {
  GuestLimits limits;
  limits.ram_mb = 2048;
  limits.disc_mb = 512;
  return limits;
}

TestSandbox::TestSandbox() {
  std::string name = (fs::temp_directory_path() / "watch-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no folder for guests"};
  guests_ = name;
  ::chmod(guests_.c_str(), 0711);
  const auto runner = fs::read_symlink("/proc/self/exe").parent_path() / "remotist-runner";
  sandbox_ = std::make_unique<Sandbox>(SandboxOptions{.runner = runner, .guests = guests_});
}

TestSandbox::~TestSandbox() {
  sandbox_.reset();
  for (const auto& each : fs::directory_iterator{guests_}) remove_folder(each.path());
  std::error_code ignored;
  fs::remove(guests_, ignored);
}

GuestSpec TestSandbox::prepare(std::string_view script, std::vector<std::string> names, GuestLimits limits,
                               bool on_disc) {
  GuestSpec spec;
  spec.name = std::format("watch-{}", ++count_);
  if (!on_disc) spec.folder = guests_ / spec.name;
  spec.exec_file = "main.R";
  spec.limits = limits;
  spec.watched_variables = std::move(names);
  sandbox_->make_folder(spec);
  std::ofstream{spec.folder / kWorkFolder / "main.R"} << script;
  return spec;
}

Run TestSandbox::run(std::string_view script, std::vector<std::string> names, GuestLimits limits,
                     const std::vector<fs::path>& files) {
  const auto spec = prepare(script, std::move(names), limits);
  for (const auto& file : files) fs::copy_file(file, spec.folder / kWorkFolder / file.filename());
  sandbox_->start(spec);
  return run_to_end(spec, {.verdict = {}, .log = {}, .records = {}, .folder = spec.folder});
}

Run TestSandbox::run_unread(std::string_view script, std::vector<std::string> names,
                            std::string_view until_file) {
  const auto spec = prepare(script, std::move(names), generous_limits());
  Run run{.verdict = {}, .log = {}, .records = {}, .folder = spec.folder};
  sandbox_->start(spec);
  bool over = false;
  // Until it has started.
  while (sandbox_->process_of(spec.name) == 0 && !over) take_events(spec, run, over);
  test::eventually([&] { return fs::exists(spec.folder / kWorkFolder / until_file); }, kWaitMax);
  return run_to_end(spec, std::move(run));
}

Run TestSandbox::run_with_pauses(std::string_view script, std::vector<std::string> names) {
  const auto spec = prepare(script, std::move(names), generous_limits());
  Run run{.verdict = {}, .log = {}, .records = {}, .folder = spec.folder};
  sandbox_->start(spec);
  for (bool over = false; !over;) {
    take_events(spec, run, over, 5);
    const auto process = sandbox_->process_of(spec.name);
    if (over || process == 0) continue;
    ::kill(process, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds{30});
    ::kill(process, SIGCONT);
  }
  return run;
}

Run TestSandbox::run_resumable(std::string_view script, const ResumableOptions& options) {
  auto spec = prepare(script, options.names, options.limits, options.on_disc);
  for (const auto& file : options.files) fs::copy_file(file, spec.folder / kWorkFolder / file.filename());
  for (const auto& name : options.out) {
    fs::create_directories(spec.folder / kOutFolder);
    std::ofstream{spec.folder / kOutFolder / name};
  }
  spec.resumable = true;
  spec.checkpoint_every_ms = options.every_ms;
  spec.resume_from = options.resume;
  if (!options.from.empty()) spec.resume_from = ResumeFrom{.file = options.from};
  Run run{.verdict = {}, .log = {}, .records = {}, .disc = spec.disc, .folder = spec.folder};
  sandbox_->start(spec);
  const auto until = Clock::now() + kWaitMax;
  bool asked = options.ask_at_file.empty();
  for (bool over = false; !over;) {
    if (Clock::now() > until) sandbox_->stop(spec.name);
    const auto seen = run.checkpoints.size();
    take_events(spec, run, over, asked ? 500 : 5);
    for (auto i = seen; options.at_checkpoint && i < run.checkpoints.size(); ++i)
      options.at_checkpoint(*sandbox_, spec.name, run.checkpoints[i]);
    if (!asked && fs::exists(spec.folder / kWorkFolder / options.ask_at_file)) {
      asked = true;
      sandbox_->request_checkpoint(spec.name);
    }
    if (options.stop_at_checkpoint && !run.checkpoints.empty()) sandbox_->stop(spec.name);
  }
  return run;
}

Run TestSandbox::run_to_end(const GuestSpec& spec, Run run) {
  const auto until = Clock::now() + kWaitMax;
  bool over = false;
  while (!over) {
    if (Clock::now() > until) {
      sandbox_->stop(spec.name);
      throw std::runtime_error{"a script did not end"};
    }
    take_events(spec, run, over);
  }
  return run;
}

void TestSandbox::take_events(const GuestSpec& spec, Run& run, bool& over, int wait_ms) {
  pollfd look{sandbox_->descriptor(), POLLIN, 0};
  ::poll(&look, 1, wait_ms);
  for (auto& event : sandbox_->take_events()) {
    if (event.guest != spec.name) continue;
    if (auto* sent = std::get_if<GuestRecord>(&event.what)) {
      Record record{std::move(*sent), {}};
      record.stream = record.sent.record.bytes;
      if (!record.sent.file.empty()) {
        const auto file = spec.folder / kOutFolder / record.sent.file;
        record.stream = text_of(file);
        fs::remove(file);
      }
      run.records.push_back(std::move(record));
    } else if (std::holds_alternative<Resumed>(event.what)) {
      run.resumed = true;
    } else if (auto* reason = std::get_if<NotResumable>(&event.what)) {
      run.not_resumable.push_back(std::move(reason->reason));
    } else if (auto* refused = std::get_if<CheckpointRefused>(&event.what)) {
      run.refusals.push_back(std::move(refused->reason));
    } else if (auto* taken = std::get_if<CheckpointTaken>(&event.what)) {
      run.checkpoints.push_back(std::move(*taken));
    } else if (auto* ended = std::get_if<Ended>(&event.what)) {
      run.verdict = std::move(ended->verdict);
      run.log = text_of(spec.folder / kLogFile);
      over = true;
    }
  }
}

TestSandbox& sandbox() {
  static TestSandbox made;
  return made;
}

std::string r_output(const Run& run, std::size_t variable, const std::string& expression) {
  const auto folder = run.folder / "r_output";
  fs::create_directories(folder);
  std::ofstream numbers{folder / "numbers.txt"};
  std::ofstream streams{folder / "streams.bin", std::ios::binary};
  for (const auto& record : run.of(variable)) {
    const auto& bytes =
        record.sent.record.kind == WatchedKind::problem ? record.sent.record.words : record.stream;
    numbers << record.sent.record.number << ' ' << record.sent.record.changes << ' ' << record.sent.at_us
            << ' ' << name_of(record.sent.record.kind) << ' ' << bytes.size() << '\n';
    streams << bytes;
  }
  numbers.close();
  streams.close();
  return run_rscript(
      folder,
      "t <- scan('numbers.txt', list(n = 0, changes = 0, at_us = 0, kind = '', bytes = 0), quiet = TRUE)\n"
      "n <- t$n; changes <- t$changes; at_us <- t$at_us; f <- file('streams.bin', 'rb')\n"
      "v <- lapply(seq_along(n), function(i) { b <- readBin(f, 'raw', t$bytes[i]);\n"
      "  switch(t$kind[i], value = unserialize(b), removed = NULL, problem = list(problem = rawToChar(b))) "
      "})\n"
      "close(f)\n" +
          expression + "\n");
}

std::string r_output_in_folder(const Run& run, const std::string& script) {
  const auto folder = run.folder / "r_output";
  fs::create_directories(folder);
  return run_rscript(folder, script);
}

}  // namespace remotist::volunteer::watched
