# Jobs that do not complete.
source("tests/e2e/lib/session.R")
new_account("endings")
send <- function(name, ..., code) addJob(name, "main.R", ram = 512, disc = 100, folder_path = job_folder("main.R" = code), ...)

claim("the job's error is raised here, with call and traceback", {
  job <- send("error", code = c("f <- function(n) g(n)", "g <- function(n) { local_n <- n + 1; stop('no ', n) }", "y <- 3", "f(y)"))
  caught <- raised(waitJob(job, timeout = 240), "remotist_job_failed")
  expect(
    inherits(caught, "remotist_error"), caught$code == "r_error", caught$job == job$id, caught$failed_call == "g(n)",
    identical(caught$traceback, c("g(n)", "f(y)")), grepl("no 3", conditionMessage(caught), fixed = TRUE)
  )
  cat(conditionMessage(caught), "\n")
  error <- jobError(job)
  print(error)
  expect(error$message == "no 3", is.null(error$frame))
  trusted <- jobError(job, trust = TRUE)
  expect(trusted$frame$local_n == 4, trusted$globals$y == 3, is.function(trusted$globals$f))
  raised(loadJob(job), "remotist_no_result")
})

claim("a job that runs is cancelled, then deleted", {
  job <- send("cancel", code = "cat('begun\\n'); Sys.sleep(600)")
  until("it prints", function() "begun" %in% jobLog(job))
  refused <- raised(deleteJob(job), "remotist_wrong_state")
  expect(grepl("cancelJob", conditionMessage(refused)))
  late <- raised(waitJob(job, timeout = 1), "remotist_timeout")
  expect(grepl("continues", conditionMessage(late)))
  cancelJob(job)
  raised(waitJob(job, timeout = 240), "remotist_job_cancelled")
  deleteJob(job)
  raised(viewJob(job), "remotist_not_found")
  expect(!job$id %in% listJobs()$id)
  # Its machine stops first, and says how long it ran.
  until("it is paid", function() account()$held == 0)
})

claim("a job whose deadline passes expires", {
  job <- send("late", deadline = 3, code = "Sys.sleep(600)")
  raised(waitJob(job, timeout = 240), "remotist_job_expired")
})

claim("a job whose price is used up says so", {
  job <- send("dear", price = 0.0005, code = "repeat {}")
  caught <- raised(waitJob(job, timeout = 240), "remotist_job_failed")
  expect(caught$code == "price_used_up", grepl("higher", conditionMessage(caught)))
})

claim("the log is shown while the job runs", {
  job <- send("talk", code = "for (i in 1:4) { cat('line', i, '\\n'); Sys.sleep(1) }")
  words <- said(waitJob(job, timeout = 240, log = TRUE))
  expect(grepl("line 1", words), grepl("line 4", words))
})
