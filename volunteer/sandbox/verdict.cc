#include "volunteer/sandbox/verdict.h"

#include <csignal>
#include <cstring>
#include <format>
#include <string_view>
#include <sys/wait.h>
#include <utility>

namespace remotist::volunteer {

namespace {

Verdict ended(Ending ending, std::string message) {
  Verdict verdict;
  verdict.ending = ending;
  verdict.message = std::move(message);
  return verdict;
}

Verdict at_limit(Limit limit, std::string message) {
  auto verdict = ended(Ending::limit, std::move(message));
  verdict.limit = limit;
  return verdict;
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? std::format("signal {}", signal) : std::format("SIG{}", name);
}

Verdict from_message(const Evidence& evidence, int code) {
  if (!evidence.final_message) {
    return ended(
        Ending::killed,
        std::format("The job's process ended with exit status {} in the middle of the script.", code));
  }
  if (const auto* failed = std::get_if<Failed>(&*evidence.final_message); failed != nullptr && code != 0) {
    auto verdict = ended(Ending::r_error, failed->message);
    verdict.call = failed->call;
    verdict.traceback = failed->traceback;
    return verdict;
  }
  const bool completed = std::holds_alternative<Completed>(*evidence.final_message);
  if (completed && code == 0 && evidence.result_exists) return ended(Ending::completed, "");
  if (completed && code == 0)
    return ended(Ending::killed, "The job reported its completion but left no result.");
  return ended(Ending::killed,
               std::format("The job's last message and its exit status {} contradict each other.", code));
}

Verdict judge_end(const Evidence& evidence) {
  if (evidence.stopped) return ended(Ending::cancelled, "The job was cancelled.");
  if (evidence.limit) return at_limit(*evidence.limit, evidence.limit_message);
  if (evidence.refused && !evidence.began) return ended(Ending::sandbox_failure, *evidence.refused);
  if (evidence.zygote_died) {
    return ended(Ending::sandbox_failure,
                 "The process from which jobs are forked died, and this job with it.");
  }
  const bool by_signal = !evidence.wait_status || WIFSIGNALED(*evidence.wait_status);
  if (by_signal && evidence.out_of_memory) {
    return at_limit(Limit::ram, "The job used more memory than it asked for.");
  }
  if (!evidence.began) return ended(Ending::sandbox_failure, "The sandbox could not be set up.");
  // No process of the job can kill the first one of its namespace.
  if (!evidence.wait_status) return ended(Ending::sandbox_failure, "The job was killed from outside.");
  if (WIFSIGNALED(*evidence.wait_status)) {
    const int signal = WTERMSIG(*evidence.wait_status);
    if (signal == SIGXCPU) return at_limit(Limit::cpu, "The job used more CPU time than it asked for.");
    const char* description = ::sigdescr_np(signal);
    return ended(Ending::killed, std::format("The job's process was killed by {} ({}).", signal_name(signal),
                                             description == nullptr ? "unknown" : description));
  }
  return from_message(evidence, WEXITSTATUS(*evidence.wait_status));
}

// What ends a guest before its script has gone on is the checkpoint's fault, unless it would have ended any
// guest.
Verdict judge_resume(const Evidence& evidence, Verdict verdict) {
  const bool same_for_any = evidence.zygote_died || verdict.ending == Ending::sandbox_failure;
  if (evidence.stopped || (same_for_any && !evidence.resume_failure)) return verdict;
  auto failed = ended(Ending::sandbox_failure, evidence.resume_failure.value_or(""));
  if (!evidence.resume_failure) failed.message = "The checkpoint could not be restored. " + verdict.message;
  failed.resume_failed = true;
  return failed;
}

}  // namespace

Verdict judge(const Evidence& evidence) {
  auto verdict = judge_end(evidence);
  if (evidence.resuming && !evidence.resumed) return judge_resume(evidence, std::move(verdict));
  const bool failed = verdict.ending == Ending::r_error || verdict.ending == Ending::killed;
  if (!evidence.full || !failed) return verdict;
  // A script sees that a write failed and may continue; a job that then fails is taken to fail because of it.
  verdict.message = std::format("{} It then failed: {}", evidence.full_message, verdict.message);
  verdict.ending = Ending::limit;
  verdict.limit = evidence.full;
  return verdict;
}

}  // namespace remotist::volunteer
