#include "volunteer/sandbox/verdict.h"

#include <csignal>
#include <doctest/doctest.h>

using namespace remotist::volunteer;

namespace {

int exited(int code) {
  return code << 8;
}

Evidence done() {
  Evidence evidence;
  evidence.began = true;
  evidence.last_word = Completed{};
  evidence.wait_status = exited(0);
  evidence.result_there = true;
  return evidence;
}

Evidence with(Evidence evidence, void (*change)(Evidence&)) {
  change(evidence);
  return evidence;
}

}  // namespace

TEST_CASE("completed is believed only of a process that then exits and leaves a result") {
  CHECK(judge(done()).ending == Ending::completed);
  CHECK(judge(with(done(), [](Evidence& e) { e.result_there = false; })).ending == Ending::killed);
  CHECK(judge(with(done(), [](Evidence& e) { e.wait_status = exited(1); })).ending == Ending::killed);
  CHECK(judge(with(done(), [](Evidence& e) { e.wait_status = SIGSEGV; })).ending == Ending::killed);
  CHECK(judge(with(done(), [](Evidence& e) { e.last_word.reset(); })).ending == Ending::killed);
}

TEST_CASE("an R error carries what R said") {
  auto evidence = done();
  evidence.last_word = Failed{"bad", "f()", {"f()", "g()"}};
  evidence.wait_status = exited(1);
  const auto verdict = judge(evidence);
  CHECK(verdict.ending == Ending::r_error);
  CHECK(verdict.message == "bad");
  CHECK(verdict.call == "f()");
  CHECK(verdict.traceback.size() == 2);
  evidence.wait_status = exited(0);
  CHECK(judge(evidence).ending == Ending::killed);
}

TEST_CASE("what the host did comes before what the guest says") {
  CHECK(judge(with(done(), [](Evidence& e) { e.stopped = true; })).ending == Ending::cancelled);
  const auto limit = judge(with(done(), [](Evidence& e) { e.limit = "disc"; }));
  CHECK(limit.ending == Ending::limit);
  CHECK(limit.limit == "disc");
}

TEST_CASE("a kill for want of memory is a limit, and one by the guest's own signal names it") {
  const auto out = judge(with(done(), [](Evidence& e) {
    e.wait_status = SIGKILL;
    e.out_of_memory = true;
  }));
  CHECK(out.ending == Ending::limit);
  CHECK(out.limit == "ram");
  // A child of the job was killed, and the job went on.
  CHECK(judge(with(done(), [](Evidence& e) { e.out_of_memory = true; })).ending == Ending::completed);
  const auto fault = judge(with(done(), [](Evidence& e) { e.wait_status = SIGSEGV; }));
  CHECK(fault.message.contains("SIGSEGV"));
  CHECK(judge(with(done(), [](Evidence& e) { e.wait_status = SIGXCPU; })).limit == "cpu");
}

TEST_CASE("a sandbox that could not be set up is told only before the script began") {
  Evidence evidence;
  evidence.refused = "no mounts";
  evidence.wait_status = exited(1);
  CHECK(judge(evidence).ending == Ending::sandbox_failure);
  CHECK(judge(evidence).message == "no mounts");
  evidence.began = true;
  CHECK(judge(evidence).ending == Ending::killed);
  CHECK(judge(Evidence{}).ending == Ending::sandbox_failure);
}

TEST_CASE("a job that failed with its disc full failed at that limit; one that went on did not") {
  auto evidence = done();
  evidence.full = "disc";
  evidence.full_words = "No room.";
  CHECK(judge(evidence).ending == Ending::completed);
  evidence.last_word = Failed{"cannot write", "f()", {"f()"}};
  evidence.wait_status = exited(1);
  const auto verdict = judge(evidence);
  CHECK(verdict.ending == Ending::limit);
  CHECK(verdict.limit == "disc");
  CHECK(verdict.message == "No room. It then failed: cannot write");
  CHECK(verdict.call == "f()");
  evidence.wait_status = SIGBUS;
  CHECK(judge(evidence).limit == "disc");
  evidence.stopped = true;
  CHECK(judge(evidence).ending == Ending::cancelled);
}
