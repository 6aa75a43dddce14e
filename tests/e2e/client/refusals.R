# What the market refuses, and a market that is not there.
source("tests/e2e/lib/session.R")
email <- new_account("refusals")
small <- job_folder("main.R" = "x <- 1")
large <- job_folder("main.R" = "x <- 1", "data.bin" = as.raw(sample(0:255, 20000, TRUE)))
words_of <- function(condition) {
  cat(conditionMessage(condition), "\n")
  gsub("[[:space:]]+", " ", conditionMessage(condition))
}

claim("an e-mail that is taken, a wrong password", {
  expect(grepl("login", words_of(raised(register(email, password), "remotist_email_taken"))))
  expect(grepl("password", words_of(raised(login(email, "not the password"), "remotist_wrong_credentials"))))
})

claim("a price above the balance, of a script and of a folder, leaves no job", {
  for (folder in c(small, large)) {
    expect(grepl("price", words_of(raised(addJob("dear", "main.R", price = 101, folder_path = folder), "remotist_insufficient_credits"))))
  }
  expect(nrow(listJobs()) == 0L, account()$balance == 100)
})

claim("a full storage", {
  in_database(sprintf("UPDATE storage SET quota_bytes = 5000 FROM account WHERE account.id = storage.account_id AND account.email = '%s'", email))
  expect(grepl("deleteJob", words_of(tryCatch(addJob("large", "main.R", folder_path = large), remotist_quota_exceeded = function(e) e$parent))))
  expect(nrow(listJobs()) == 0L)
})

claim("jobs and machines that are not there, or not ours", {
  nobody <- "01940000-0000-7000-8000-000000000001"
  for (look in list(viewJob, waitJob, loadJob, jobLog, jobError, cancelJob, deleteJob, viewMachine)) raised(look(nobody), "remotist_not_found")
  raised(downloadJob(nobody, file.path(scratch, "none")), "remotist_not_found")
  job <- addJob("mine", "main.R", cpu = 256, folder_path = small)
  new_account("other")
  raised(viewJob(job), "remotist_not_found")
  login(email, password)
  cancelJob(job)
  # Once more is as good as once.
  expect(cancelJob(job)$state == "cancelled")
})

claim("a login that has expired", {
  in_database(sprintf("UPDATE login_token SET created_at = now() - interval '2 h', expires_at = now() - interval '1 h' FROM account WHERE account.id = login_token.account_id AND account.email = '%s'", email))
  expect(grepl("login", words_of(raised(listJobs(), "remotist_unauthenticated"))))
  raised(addJob("late", "main.R", folder_path = small), "remotist_unauthenticated")
  login(email, password)
  expect(nrow(listJobs()) == 1L)
})

claim("a password that is changed ends the other sessions", {
  out <- another_session(c(
    sprintf("login('%s', '%s')", email, password), "cat('in\\n')",
    sprintf("while (!file.exists('%s')) Sys.sleep(0.1)", file.path(scratch, "changed")),
    "tryCatch(account(), remotist_unauthenticated = function(e) cat('out again\\n'))"
  ))
  until("it is logged in", function() "in" %in% lines_of(out))
  expect(changePassword(password, "another horse battery") >= 1L)
  file.create(file.path(scratch, "changed"))
  until("it is out", function() "out again" %in% lines_of(out))
  login(email, "another horse battery")
})

claim("a certificate of nobody known", {
  authority <- Sys.getenv("REMOTIST_CA_FILE")
  Sys.setenv(REMOTIST_CA_FILE = "")
  caught <- raised(login(email, "another horse battery"), "remotist_unreachable")
  Sys.setenv(REMOTIST_CA_FILE = authority)
  expect(grepl("REMOTIST_CA_FILE", words_of(caught)))
})

claim("a market that is not there", {
  expect(grepl("cannot be reached", words_of(raised(login(email, "another horse battery", url = "http://127.0.0.1:1"), "remotist_unreachable"))))
})
