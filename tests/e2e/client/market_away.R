# The market is killed while sessions wait; it comes back after longer than a call's retries take.
source("tests/e2e/lib/session.R")
email <- new_account("away")
state <- Sys.getenv("REMOTIST_STATE")
market_pid <- function() as.integer(strsplit(readLines(file.path(state, "run", "market.pid"))[[1L]], " ")[[1L]][[1L]])

# Returns at once; the market comes back by itself when the session has seen for some time that it is away.
take_market_away <- function() {
  tools::pskill(market_pid(), 9L)
  system2("sh", c("-c", shQuote(sprintf("sleep 5; exec script/up --state '%s'", state))), wait = FALSE, stdout = FALSE, stderr = FALSE)
}
send <- function(name) {
  code <- "i <- 0L; while (i < 15L) { i <- i + 1L; Sys.sleep(1) }"
  addJob(name, "main.R", ram = 512, disc = 100, folder_path = job_folder("main.R" = code), partialResultsVars = "i")
}

claim("watchVar() outlasts an outage, and sees the job end", {
  job <- send("watched")
  seen <- integer()
  words <- said(done <- watchVar(job, "i", function(value, time) {
    seen <<- c(seen, value)
    # Once: should the machine's lease run out meanwhile, the job begins anew.
    if (value == 2L && sum(seen == 2L) == 1L) take_market_away()
  }))
  expect(seen[[length(seen)]] == 15L, done$state == "completed", grepl("is not affected", words), grepl("The market can be reached again", words))
})

claim("waitJob() outlasts an outage", {
  job <- send("waited for")
  watchVar(job, "i", function(value, time) stopWatching())
  take_market_away()
  words <- said(done <- waitJob(job, timeout = 200))
  expect(done$state == "completed", grepl("is not affected", words), grepl("The market can be reached again", words))
})
