# An upload that breaks off goes on where it stopped, and leaves no half-made job.
source("tests/e2e/lib/session.R")
email <- new_account("upload")

bytes <- as.raw(sample(0:255, 40 * 2^20, TRUE))
folder <- job_folder("main.R" = "digest <- unname(tools::md5sum('data.bin'))", "data.bin" = bytes)
names <- remotist:::chunks_of(file.path(folder, "data.bin"))$name
left <- function() length(remotist:::missing_chunks(names, NULL))
upload <- c(
  sprintf("login('%s', '%s')", email, password),
  sprintf("addJob('large', 'main.R', ram = 512, disc = 500, folder_path = '%s')", folder), "cat('done\\n')"
)
# Another session that has uploaded so many chunks and waits before the next one until the file `go` exists.
paused_upload <- function(lines, chunks, go = file.path(scratch, "never")) {
  out <- another_session(c(
    "begun <- 0L",
    sprintf("pause <- quote(if ((begun <<- begun + 1L) == %dL) { cat('paused\\n'); while (!file.exists('%s')) Sys.sleep(0.1) })", chunks + 1L, go),
    "suppressMessages(trace('read_chunk', pause, where = asNamespace('remotist'), print = FALSE))", lines
  ))
  until("a part has arrived", function() "paused" %in% lines_of(out), otherwise = told_by(out))
  out
}

claim("R is killed in the middle of an upload: no job is there, and what arrived stays", {
  out <- paused_upload(upload, 5L)
  tools::pskill(pid_of(out), 9L)
  expect(!"done" %in% lines_of(out), left() == length(names) - 5L, nrow(listJobs()) == 0L)
})

claim("Ctrl-C in the middle tells how to go on", {
  out <- paused_upload(upload, 7L)
  tools::pskill(pid_of(out), 2L)
  until("it says so", function() any(grepl("The upload was interrupted", lines_of(out))), otherwise = told_by(out))
  expect(!"done" %in% lines_of(out), left() == length(names) - 12L, nrow(listJobs()) == 0L)
})

claim("the next addJob sends only what is missing", {
  missing <- left()
  used <- account()$storage_used
  words <- said(job <- addJob("large", "main.R", ram = 512, disc = 500, folder_path = folder))
  expect(grepl("were uploaded before", words), account()$storage_used - used <= missing * 2^20 + 2^20)
  waitJob(job, timeout = 240)
  where <- new.env()
  loadJob(job, envir = where)
  expect(identical(where$digest, unname(tools::md5sum(file.path(folder, "data.bin")))))
})

claim("a market that restarts in the middle costs nothing", {
  bytes <- as.raw(sample(0:255, 30 * 2^20, TRUE))
  folder <- job_folder("main.R" = "digest <- unname(tools::md5sum('data.bin'))", "data.bin" = bytes)
  go <- file.path(scratch, "go")
  out <- paused_upload(c(
    sprintf("login('%s', '%s')", email, password),
    sprintf("job <- addJob('large', 'main.R', ram = 512, disc = 500, folder_path = '%s')", folder),
    "cat('submitted\\n')", "waitJob(job, timeout = 240)", "where <- new.env()", "loadJob(job, envir = where)", "cat('digest', where$digest, '\\n')"
  ), 3L, go)
  market <- as.integer(readLines(file.path(Sys.getenv("REMOTIST_STATE"), "run", "market.pid"))[[1L]])
  tools::pskill(market, 9L)
  file.create(go)
  system2("script/up", c("--state", shQuote(Sys.getenv("REMOTIST_STATE"))), stdout = FALSE)
  until("the result is there", function() any(grepl("^digest ", lines_of(out))), otherwise = told_by(out))
  expect(grepl(tools::md5sum(file.path(folder, "data.bin")), grep("^digest ", lines_of(out), value = TRUE), fixed = TRUE))
})
