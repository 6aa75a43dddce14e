# A machine that disappears costs the work since the last checkpoint: another one goes on with the script. This session lends two machines of
# its own, each through an agent that can be killed; no other machine lends as many cores.
source("tests/e2e/lib/session.R")
# The agents' control sockets have short names.
short <- tempfile("c", "/tmp")
dir.create(short, mode = "0700")
Sys.setenv(R_USER_DATA_DIR = short)

new_account("lender")
machines <- lapply(c("first", "second"), function(name) addMachine(name, cpu = 5, disc = 2000, ram = 3000, price = 1))
lender <- as.list(remotist:::r_session)
agent_pid <- function(machine) {
  folder <- file.path(short, "R", "remotist", "volunteer", machine$id)
  told <- system2(file.path(Sys.getenv("REMOTIST_BIN"), "volunteer-agent"), c("--state", shQuote(folder), "status", "--json"), stdout = TRUE)
  jsonlite::fromJSON(paste(told, collapse = "\n"))$pid
}
at_end <- function() {
  list2env(lender, envir = remotist:::r_session)
  for (machine in machines) {
    assign("volunteer", machine$id, envir = remotist:::r_session)
    suppressMessages(try(stopVolunteer(now = TRUE), silent = TRUE))
  }
  unlink(short, recursive = TRUE)
}
invisible(reg.finalizer(environment(), function(e) at_end(), onexit = TRUE))
for (machine in machines) startVolunteer(machine)
for (machine in machines) until("the market sees it", function() viewMachine(machine)$state == "idle")

new_account("checkpoints")
# A step takes half a second, so that the machine can be lost in the middle.
rounds <- 120L
script <- c(
  "set.seed(7)", "walk <- numeric()",
  sprintf("for (i in 1:%d) {", rounds),
  "  walk[i] <- sum(rnorm(10)) + (if (i > 1) walk[i - 1] else 0)",
  "  cat('round', i, '\\n')",
  "  remotist::checkpoint()",
  "  Sys.sleep(0.5)",
  "}"
)
expected <- local({
  set.seed(7)
  # Not cumsum(), which adds with more digits than the loop.
  Reduce(`+`, vapply(seq_len(rounds), function(i) sum(rnorm(10)), 0), accumulate = TRUE)
})
send <- function(name, ...) addJob(name, "main.R", cpu = 5, ram = 512, disc = 100, price = 50, folder_path = job_folder("main.R" = script), ...)
rounds_in <- function(job) grep("^round", jobLog(job), value = TRUE)
recorded <- function(job) function() nrow(jobHistory(job)$checkpoints) > 0L
# The machine that runs the job: the newest attempt names it.
machine_of <- function(job) {
  ids <- vapply(machines, function(machine) machine$id, "")
  machines[[match(utils::tail(jobHistory(job)$attempts$machine, 1L), ids)]]
}

claim("while a job runs, its attempt and its checkpoints are shown", {
  job <- send("goes on")
  until("a checkpoint is at the market", recorded(job))
  running <- viewJob(job)
  print(running)
  shown <- utils::capture.output(print(running))
  expect(
    running$state == "running", nrow(running$attempts) == 1L, is.na(running$attempts$outcome), isTRUE(running$checkpoint),
    !is.na(running$checkpoint_interval), !is.na(running$checkpoint_at), any(grepl("^  checkpoints +every ", shown)),
    any(grepl("^ +1 .* running", shown)), any(grepl("main\\.R:[0-9]+", shown))
  )
  newest <- utils::tail(running$checkpoints, 1L)
  expect(
    newest$attempt == 1, newest$size > 0, newest$sent > 0, newest$sent <= newest$size + 1e6, newest$pause_seconds >= 0, newest$file == "main.R",
    newest$line == 3, newest$usable
  )
  lines <- utils::capture.output(plotJob(job, text = TRUE))
  writeLines(lines)
  expect(grepl("running, 1 attempt", lines[[1L]]), any(grepl("goes on", lines)), any(grepl("checkpoint$|checkpoint ", lines)))
})

claim("after kill -9 of its agent, the other machine goes on from a checkpoint, and the value is that of plain R", {
  killed <- machine_of(job)
  before <- utils::tail(jobHistory(job)$checkpoints, 1L)
  tools::pskill(agent_pid(killed), 9L)
  until("another attempt runs", function() viewJob(job)$attempt >= 2 && viewJob(job)$state == "running")
  waitJob(job, timeout = 300)
  where <- new.env()
  loadJob(job, envir = where)
  expect(identical(where$walk, expected), where$i == rounds)
  # Each line once: the log continues with that of the checkpoint.
  expect(identical(trimws(rounds_in(job)), paste("round", seq_len(rounds))))
})

claim("the history names both machines, what was saved and what was paid", {
  history <- jobHistory(job)
  print(history)
  attempts <- history$attempts
  last <- nrow(attempts)
  expect(
    last >= 2L, attempts$outcome[[1L]] == "lost", attempts$outcome[[last]] == "completed", attempts$machine[[1L]] == killed$id,
    attempts$machine[[last]] != killed$id, attempts$checkpoints[[1L]] >= 1, attempts$resumed_from[[last]] >= before$sequence,
    attempts$saved_seconds[[1L]] > 0, attempts$paid[[1L]] > 0, !is.unsorted(attempts$assigned_at), all(is.na(attempts$machine_name))
  )
  shown <- utils::capture.output(print(viewJob(job)))
  expect(any(grepl(" lost ", shown)), any(grepl(" completed +from [0-9]+", shown)))
  lines <- utils::capture.output(drawn <- plotJob(job, text = TRUE))
  writeLines(lines)
  expect(
    grepl(sprintf("completed, %d attempts", last), lines[[1L]]), grepl("^1 lost", lines[[2L]]), any(grepl("end of the job", lines)),
    identical(drawn$attempts, attempts)
  )
  plot_file <- file.path(scratch, "plot.png")
  grDevices::png(plot_file)
  plotJob(job)
  grDevices::dev.off()
  expect(file.size(plot_file) > 1000)
})

claim("a job is moved to the other machine when its owner asks for it", {
  # The machine that was killed is lent again.
  client <- as.list(remotist:::r_session)
  list2env(lender, envir = remotist:::r_session)
  startVolunteer(killed)
  until("the market sees it", function() viewMachine(killed)$state == "idle")
  list2env(client, envir = remotist:::r_session)
  moved <- send("moves")
  until("it runs", function() viewJob(moved)$state == "running")
  from <- machine_of(moved)
  expect(grepl("is being moved", said(migrateJob(moved))))
  until("it runs elsewhere", function() viewJob(moved)$attempt >= 2 && viewJob(moved)$state == "running")
  expect(machine_of(moved)$id != from$id)
  waitJob(moved, timeout = 300)
  where <- new.env()
  loadJob(moved, envir = where)
  attempts <- jobHistory(moved)$attempts
  print(attempts)
  expect(identical(where$walk, expected), attempts$outcome[[1L]] == "handed_back", !is.na(attempts$resumed_from[[2L]]))
  refused <- raised(migrateJob(moved), "remotist_wrong_state")
  expect(grepl("has ended", conditionMessage(refused)))
})

claim("a job without checkpoints says so, and has none", {
  without <- send("without", checkpoint = FALSE)
  until("it runs", function() viewJob(without)$state == "running")
  until("its first round is over", function() length(rounds_in(without)) > 1L)
  shown <- utils::capture.output(print(viewJob(without)))
  expect(any(grepl("checkpoint = FALSE", shown)), nrow(jobHistory(without)$checkpoints) == 0L)
  cancelJob(without)
})
