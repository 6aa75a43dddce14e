# Lending this machine from R.
source("tests/e2e/lib/session.R")
# The agent's control socket has a short name.
short <- tempfile("v", "/tmp")
dir.create(short, mode = "0700")
Sys.setenv(R_USER_DATA_DIR = short)

new_account("lender")
machine <- addMachine("from R", cpu = 3, disc = 2000, ram = 3000, price = 3600)
at_end <- function() {
  suppressMessages(try(stopVolunteer(now = TRUE), silent = TRUE))
  unlink(short, recursive = TRUE)
}
invisible(reg.finalizer(environment(), function(e) at_end(), onexit = TRUE))

claim("the machine takes jobs, and its token is nobody else's", {
  expect(viewMachine(machine)$state == "offline")
  startVolunteer(machine)
  until("the market sees it", function() viewMachine(machine)$state == "idle")
  folder <- file.path(short, "R", "remotist", "volunteer", machine$id)
  expect(identical(format(file.mode(folder)), "700"), identical(format(file.mode(file.path(folder, "login.json"))), "600"))
  token <- remotist:::r_session$token
  for (process in list.files("/proc", "^[0-9]+$", full.names = TRUE)) {
    for (part in c("cmdline", "environ")) {
      text <- tryCatch(suppressWarnings(readBin(file.path(process, part), "raw", 1e5)), error = function(e) raw())
      expect(!length(grepRaw(charToRaw(token), text, fixed = TRUE)))
    }
  }
  expect(grepl("already", said(startVolunteer(machine$id))))
})

claim("it says whether it is free", {
  state <- tryCatch(setVolunteerState("busy"), remotist_not_found = function(e) NULL)
  if (is.null(state)) {
    cat("   skipped: this market has no POST /volunteer/setState\n")
  } else {
    until("the market knows", function() viewMachine(machine)$state == "paused")
    setVolunteerState("free")
    until("the market knows", function() viewMachine(machine)$state == "idle")
  }
})

claim("somebody's job runs on it and pays", {
  lender <- as.list(remotist:::r_session)
  new_account("client")
  # Only this machine lends as many cores, or says so.
  job <- addJob("three cores", "main.R", cpu = 3, ram = 512, disc = 100, price = 50, folder_path = job_folder("main.R" = "t0 <- proc.time()[[1]]; while (proc.time()[[1]] - t0 < 0.5) {}; x <- 1"))
  waitJob(job, timeout = 240)
  expect(account()$balance < 100)
  list2env(lender, envir = remotist:::r_session)
  cat("the lender has", account()$balance, "credits\n")
  expect(account()$balance > 100.1)
})

claim("it is lent no longer", {
  expect(identical(stopVolunteer(), machine$id))
  expect(grepl("lends no machine", said(stopVolunteer())))
  until("the market knows", function() viewMachine(machine)$state == "offline")
})
