#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <doctest/doctest.h>
#include <execinfo.h>
#include <mutex>
#include <pthread.h>
#include <string>
#include <thread>
#include <unistd.h>

namespace {

// A test case that hangs would say nothing until somebody ends the run. After REMOTIST_TEST_SECONDS (300) it
// is ended here: where it stands goes to standard error, and doctest says which one it was.
class Watchdog final : public doctest::IReporter {
 public:
  explicit Watchdog(const doctest::ContextOptions&) {
    if (const char* const seconds = std::getenv("REMOTIST_TEST_SECONDS"))
      limit_ = std::chrono::seconds{std::stoi(seconds)};
  }

  void test_case_start(const doctest::TestCaseData&) override {
    watcher_ = std::jthread{[this, watched = pthread_self()](const std::stop_token& ended) {
      std::unique_lock lock{mutex_};
      // In slices: a wake-up that is lost (it has happened) must not end a test case that has passed.
      for (const auto until = std::chrono::steady_clock::now() + limit_;
           std::chrono::steady_clock::now() < until;)
        if (wake_.wait_for(lock, ended, kSlice, [&] { return ended.stop_requested(); })) return;
      std::signal(SIGUSR2, show_stack);
      pthread_kill(watched, SIGUSR2);
      std::this_thread::sleep_for(std::chrono::seconds{1});
      pthread_kill(watched, SIGABRT);
    }};
  }
  void test_case_end(const doctest::CurrentTestCaseStats&) override { watcher_ = {}; }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  static void show_stack(int) {
    std::array<void*, 64> frames;
    backtrace_symbols_fd(frames.data(), backtrace(frames.data(), frames.size()), STDERR_FILENO);
  }

  static constexpr std::chrono::seconds kSlice{1};

  std::chrono::seconds limit_{300};
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread watcher_;
};

REGISTER_LISTENER("watchdog", 1, Watchdog);

}  // namespace
