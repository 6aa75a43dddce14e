# Written by the unit test of core/attempt_outcome.cc from its tables: do not edit
# (docs/contributing.md, "A new outcome or failure code").

ended_states <- c("completed", "failed", "cancelled", "expired")

failure_advices <- c(
  killed = "The R process crashed or was killed.",
  price_used_up = "It used more CPU time than its price pays for. Submit it again with a higher `price`.",
  limit_ram = "It used more memory than `ram`. Submit it again with a higher `ram`.",
  limit_disc = "It used more disc space than `disc`. Submit it again with a higher `disc`.",
  limit_inodes = "It created too many files.",
  limit_frames = "It sent too many messages. Report progress less often.",
  too_large = "A file of its result is too large. Reduce the size of the result, or write it to several files.",
  no_file = "A file of its result could not be read. Check whether the script leaves processes behind that change its files.",
  quota_exceeded = "Its result exceeds your storage. Delete jobs with `deleteJob()`, or reduce the size of the result.",
  invalid_files = "Its files cannot be written to one folder. Submit it again with other paths.",
  unreportable = "Its files or messages cannot be stored. Check the names of the files that it creates, and its messages.",
  lost_too_often = "Too many machines were lost while they ran it. Submit it again, or split it into smaller jobs.",
  handed_back_too_often = "Too many machines could not run it and returned it. Submit it again, with fewer or other files."
)

outcome_conditions <- c(
  failed = "job_failed",
  cancelled = "job_cancelled",
  expired = "job_expired"
)

outcome_causes <- c(
  failed = "the job cannot succeed elsewhere either: see the failure codes",
  cancelled = "its owner or an admin cancelled the job, or the owner's account was disabled",
  expired = "the job's deadline passed"
)

outcome_advices <- c(
  expired = "Submit it again with a later `deadline`, or with a higher `price`, so that more machines can run it."
)
