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
  evidence.final_message = Completed{};
  evidence.wait_status = exited(0);
  evidence.result_exists = true;
  return evidence;
}

Evidence with(Evidence evidence, void (*change)(Evidence&)) {
  change(evidence);
  return evidence;
}

}  // namespace

TEST_CASE("completed counts only if the process then exits and leaves a result") {
  CHECK(judge(done()).ending == Ending::completed);
  CHECK(judge(with(done(), [](Evidence& e) { e.result_exists = false; })).ending == Ending::killed);
  CHECK(judge(with(done(), [](Evidence& e) { e.wait_status = exited(1); })).ending == Ending::killed);
  CHECK(judge(with(done(), [](Evidence& e) { e.wait_status = SIGSEGV; })).ending == Ending::killed);
  CHECK(judge(with(done(), [](Evidence& e) { e.final_message.reset(); })).ending == Ending::killed);
}

TEST_CASE("an R error carries message, call and traceback") {
  auto evidence = done();
  evidence.final_message = Failed{"bad", "f()", {"f()", "g()"}};
  evidence.wait_status = exited(1);
  const auto verdict = judge(evidence);
  CHECK(verdict.ending == Ending::r_error);
  CHECK(verdict.message == "bad");
  CHECK(verdict.call == "f()");
  CHECK(verdict.traceback.size() == 2);
  evidence.wait_status = exited(0);
  CHECK(judge(evidence).ending == Ending::killed);
}

TEST_CASE("what the host did takes precedence over what the guest sent") {
  CHECK(judge(with(done(), [](Evidence& e) { e.stopped = true; })).ending == Ending::cancelled);
  const auto limit = judge(with(done(), [](Evidence& e) { e.limit = Limit::disc; }));
  CHECK(limit.ending == Ending::limit);
  CHECK(limit.limit == Limit::disc);
}

TEST_CASE("a kill by the OOM killer is a limit, and one by the guest's own signal names it") {
  const auto out = judge(with(done(), [](Evidence& e) {
    e.wait_status = SIGKILL;
    e.out_of_memory = true;
  }));
  CHECK(out.ending == Ending::limit);
  CHECK(out.limit == Limit::ram);
  // A child of the job was killed, and the job went on.
  CHECK(judge(with(done(), [](Evidence& e) { e.out_of_memory = true; })).ending == Ending::completed);
  const auto fault = judge(with(done(), [](Evidence& e) { e.wait_status = SIGSEGV; }));
  CHECK(fault.message.contains("SIGSEGV"));
  CHECK(judge(with(done(), [](Evidence& e) { e.wait_status = SIGXCPU; })).limit == Limit::cpu);
}

TEST_CASE("a failed setup of the sandbox is reported only before the script began") {
  Evidence evidence;
  evidence.refused = "no mounts";
  evidence.wait_status = exited(1);
  CHECK(judge(evidence).ending == Ending::sandbox_failure);
  CHECK(judge(evidence).message == "no mounts");
  evidence.began = true;
  CHECK(judge(evidence).ending == Ending::killed);
  CHECK(judge(Evidence{}).ending == Ending::sandbox_failure);
}

TEST_CASE("a job that failed with its disc full failed at that limit; one that continued did not") {
  auto evidence = done();
  evidence.full = Limit::disc;
  evidence.full_message = "No room.";
  CHECK(judge(evidence).ending == Ending::completed);
  evidence.final_message = Failed{"cannot write", "f()", {"f()"}};
  evidence.wait_status = exited(1);
  const auto verdict = judge(evidence);
  CHECK(verdict.ending == Ending::limit);
  CHECK(verdict.limit == Limit::disc);
  CHECK(verdict.message == "No room. It then failed: cannot write");
  CHECK(verdict.call == "f()");
  evidence.wait_status = SIGBUS;
  CHECK(judge(evidence).limit == Limit::disc);
  evidence.stopped = true;
  CHECK(judge(evidence).ending == Ending::cancelled);
}

TEST_CASE("a guest that ends before it has resumed has a checkpoint that cannot be restored") {
  auto resuming = done();
  resuming.resuming = true;
  const auto failed = [](Evidence evidence, const char* message) {
    const auto verdict = judge(evidence);
    CHECK(verdict.ending == Ending::sandbox_failure);
    CHECK(verdict.resume_failed);
    CHECK(verdict.message == message);
  };
  failed(with(resuming, [](Evidence& e) { e.resume_failure = "it is damaged"; }), "it is damaged");
  failed(
      with(resuming, [](Evidence& e) { e.wait_status = SIGSEGV; }),
      "The checkpoint could not be restored. The job's process was killed by SIGSEGV (Segmentation fault).");
  failed(with(resuming,
              [](Evidence& e) {
                e.final_message = Failed{"bad"};
                e.wait_status = exited(1);
              }),
         "The checkpoint could not be restored. bad");
  failed(with(resuming,
              [](Evidence& e) {
                e.limit = Limit::ram;
                e.limit_message = "too much";
              }),
         "The checkpoint could not be restored. too much");
  failed(with(resuming,
              [](Evidence& e) {
                e.began = false;
                e.resume_failure = "it is gone";
              }),
         "it is gone");
  failed(resuming, "The checkpoint could not be restored. ");
}

TEST_CASE(
    "what would have ended any guest is not the checkpoint's fault, nor what ends one that has resumed") {
  auto resuming = done();
  resuming.resuming = true;
  CHECK(judge(with(resuming, [](Evidence& e) { e.stopped = true; })).ending == Ending::cancelled);
  for (const auto& evidence : {with(resuming,
                                    [](Evidence& e) {
                                      e.began = false;
                                      e.refused = "no disc";
                                    }),
                               with(resuming, [](Evidence& e) { e.zygote_died = true; }),
                               with(resuming, [](Evidence& e) { e.wait_status.reset(); })}) {
    CHECK(judge(evidence).ending == Ending::sandbox_failure);
    CHECK_FALSE(judge(evidence).resume_failed);
  }
  resuming.resumed = true;
  CHECK(judge(resuming).ending == Ending::completed);
  resuming.wait_status = SIGSEGV;
  CHECK(judge(resuming).ending == Ending::killed);
  CHECK_FALSE(judge(resuming).resume_failed);
}
