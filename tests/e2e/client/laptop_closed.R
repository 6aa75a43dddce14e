# The session that sent a job may end in any way; the job goes on, and another session collects it.
source("tests/e2e/lib/session.R")
email <- new_account("laptop")
logout()

claim("R is killed after addJob; a new session, logged in by what was remembered, collects the result", {
  folder <- job_folder("main.R" = "Sys.sleep(2); x <- 'collected later'")
  out <- another_session(c(
    sprintf("login('%s', '%s', remember = TRUE)", email, password),
    sprintf("job <- addJob('laptop', 'main.R', ram = 512, disc = 100, folder_path = '%s')", folder),
    "cat('id', job$id, '\\n')", "Sys.sleep(600)"
  ))
  until("the other session has sent its job", function() any(grepl("^id ", lines_of(out))))
  tools::pskill(pid_of(out), 9L)
  until("it is gone", function() !dir.exists(file.path("/proc", pid_of(out))) || any(grepl("^State:\\s+Z", readLines(file.path("/proc", pid_of(out), "status")))))
  # This session has no token: the one in the file is taken up.
  jobs <- listJobs()
  id <- sub("^id (\\S+).*", "\\1", grep("^id ", lines_of(out), value = TRUE))
  expect(identical(jobs$id, id))
  waitJob(id, timeout = 240)
  where <- new.env()
  loadJob(id, envir = where)
  expect(identical(where$x, "collected later"))
  mode <- format(file.mode(list.files(Sys.getenv("R_USER_CONFIG_DIR"), "session", recursive = TRUE, full.names = TRUE)))
  expect(identical(mode, "600"))
})

claim("Ctrl-C while waiting only detaches", {
  job <- addJob("detach", "main.R", ram = 512, disc = 100, folder_path = job_folder("main.R" = "Sys.sleep(3600)"))
  out <- another_session(c(sprintf("waitJob('%s')", job$id), "cat('went on\\n')"))
  until("it waits", function() any(grepl("queued|assigned|running", lines_of(out))), otherwise = told_by(out))
  tools::pskill(pid_of(out), 2L)
  until("it went on", function() "went on" %in% lines_of(out), otherwise = told_by(out))
  words <- paste(lines_of(out), collapse = " ")
  expect(grepl("Stopped waiting", words), grepl("continues", words))
  until("it runs", function() viewJob(job)$state == "running")
  cancelJob(job)
})
