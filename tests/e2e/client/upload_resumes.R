# An upload that breaks off goes on where it stopped, and leaves no half-made job.
source("tests/e2e/lib/session.R")
email <- new_account("upload")

bytes <- as.raw(sample(0:255, 60 * 2^20, TRUE))
folder <- job_folder("main.R" = "digest <- unname(tools::md5sum('data.bin'))", "data.bin" = bytes)
names <- remotist:::chunks_of(file.path(folder, "data.bin"))$name
left <- function() length(remotist:::missing_chunks(names, NULL))
upload <- c(
  sprintf("login('%s', '%s')", email, password),
  sprintf("addJob('large', 'main.R', ram = 512, disc = 500, folder_path = '%s')", folder), "cat('done\\n')"
)

claim("R is killed in the middle of an upload: no job is there, and what arrived stays", {
  out <- another_session(upload)
  until("a part has arrived", function() left() <= length(names) - 5L)
  tools::pskill(pid_of(out), 9L)
  expect(!"done" %in% lines_of(out), left() > 0L, nrow(listJobs()) == 0L)
})

claim("Ctrl-C in the middle tells how to go on", {
  before <- left()
  out <- another_session(upload)
  until("more has arrived", function() left() <= before - 5L)
  tools::pskill(pid_of(out), 2L)
  until("it says so", function() any(grepl("The upload was interrupted", lines_of(out))), 20)
  expect(!"done" %in% lines_of(out), left() > 0L, nrow(listJobs()) == 0L)
})

claim("the next addJob sends only what is missing", {
  missing <- left()
  expect(missing < length(names) - 9L)
  used <- account()$storage_used
  words <- said(job <- addJob("large", "main.R", ram = 512, disc = 500, folder_path = folder))
  expect(grepl("were uploaded before", words), account()$storage_used - used <= missing * 2^20 + 2^20)
  waitJob(job, timeout = 120)
  where <- new.env()
  loadJob(job, envir = where)
  expect(identical(where$digest, unname(tools::md5sum(file.path(folder, "data.bin")))))
})

claim("a market that restarts in the middle costs nothing", {
  bytes <- as.raw(sample(0:255, 30 * 2^20, TRUE))
  folder <- job_folder("main.R" = "digest <- unname(tools::md5sum('data.bin'))", "data.bin" = bytes)
  names <- remotist:::chunks_of(file.path(folder, "data.bin"))$name
  out <- another_session(c(
    sprintf("login('%s', '%s')", email, password),
    sprintf("job <- addJob('large', 'main.R', ram = 512, disc = 500, folder_path = '%s')", folder),
    "cat('submitted\\n')", "waitJob(job, timeout = 120)", "where <- new.env()", "loadJob(job, envir = where)", "cat('digest', where$digest, '\\n')"
  ))
  until("a part has arrived", function() length(remotist:::missing_chunks(names, NULL)) <= length(names) - 3L)
  market <- as.integer(readLines(file.path(Sys.getenv("REMOTIST_STATE"), "run", "market.pid"))[[1L]])
  tools::pskill(market, 9L)
  system2("script/up", c("--state", shQuote(Sys.getenv("REMOTIST_STATE"))), stdout = FALSE)
  until("the result is there", function() any(grepl("^digest ", lines_of(out))), 120, told_by(out))
  expect(grepl(tools::md5sum(file.path(folder, "data.bin")), grep("^digest ", lines_of(out), value = TRUE), fixed = TRUE))
})
