# The market is killed while sessions wait; it comes back when they have said so.
source("tests/e2e/lib/session.R")
email <- new_account("away")
state <- Sys.getenv("REMOTIST_STATE")
market_pid <- function() as.integer(strsplit(readLines(file.path(state, "run", "market.pid"))[[1L]], " ")[[1L]][[1L]])

kill_market <- function() tools::pskill(market_pid(), 9L)
# What the code tells the user; the market is started again when that is its absence.
said_while_away <- function(code) {
  said(withCallingHandlers(code, message = function(m) {
    if (grepl("is not affected", gsub("[[:space:]]+", " ", conditionMessage(m)))) {
      system2("script/up", c("--state", shQuote(state)), wait = FALSE, stdout = FALSE, stderr = FALSE)
    }
  }))
}
send <- function(name) {
  code <- "i <- 0L; while (i < 15L) { i <- i + 1L; Sys.sleep(1) }"
  addJob(name, "main.R", ram = 512, disc = 100, folder_path = job_folder("main.R" = code), partialResultsVars = "i")
}

claim("watchVar() outlasts an outage, and sees the job end", {
  job <- send("watched")
  seen <- integer()
  words <- said_while_away(done <- watchVar(job, "i", function(value, time) {
    seen <<- c(seen, value)
    # Once: should the machine's lease run out meanwhile, the job begins anew.
    if (value == 2L && sum(seen == 2L) == 1L) kill_market()
  }))
  expect(seen[[length(seen)]] == 15L, done$state == "completed", grepl("is not affected", words), grepl("The market can be reached again", words))
})

claim("waitJob() outlasts an outage", {
  job <- send("waited for")
  watchVar(job, "i", function(value, time) stopWatching())
  kill_market()
  words <- said_while_away(done <- waitJob(job, timeout = 240))
  expect(done$state == "completed", grepl("is not affected", words), grepl("The market can be reached again", words))
})
