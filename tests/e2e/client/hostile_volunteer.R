# A volunteer that returns prepared results and file names changes nothing in the user's session or home.
source("tests/e2e/lib/session.R")
source("tests/e2e/lib/agent.R")

# A home of our own, full of things that must stay as they are.
home <- file.path(scratch, "home")
dir.create(file.path(home, "work"), recursive = TRUE)
writeLines("mine", file.path(home, ".Rprofile"))
writeLines("mine", file.path(home, "work", "keep.txt"))
file.symlink(home, file.path(home, "work", "link"))
Sys.setenv(HOME = home)
# Links are not followed: one leads round in a circle.
look_at_home <- function() {
  files <- sort(system2("find", c(shQuote(home), "-type", "f", "-not", "-path", shQuote("*/work/out/*")), stdout = TRUE))
  tools::md5sum(files)
}

# A machine of nobody but this test: only it is large enough for the test's jobs.
new_account("villain")
machine <- addMachine("villain", cpu = 200, disc = 100000, ram = 100000, price = 0)
token <- function() {
  remotist:::parse_body(remotist:::send_request("POST", paste0("/machine/", machine$id, "/startVolunteer"), list()))$token
}
villain <- as.list(remotist:::r_session)
new_account("victim")
victim <- as.list(remotist:::r_session)
as_user <- function(who, code) {
  mine <- as.list(remotist:::r_session)
  list2env(who, envir = remotist:::r_session)
  on.exit(list2env(mine, envir = remotist:::r_session))
  force(code)
}

# The victim's job, ended by the villain with these files.
job_ended_with <- function(...) {
  job <- addJob("victim", "main.R", cpu = 200, folder_path = job_folder("main.R" = "x <- 1"))
  given <- as_user(villain, token())
  ended <- run_one_job(as.integer(Sys.getenv("REMOTIST_OWN_SOCKET")), given, list(...))
  expect(ended == job$id)
  waitJob(job, timeout = 240)
  job
}
result <- function(bytes) list(role = "output", path = "result.rds", bytes = bytes)
made <- function(path) list(role = "files", path = path, bytes = charToRaw("theirs"))

trap <- function(...) {
  writeLines("ran", file.path(home, "trapped"))
  stop("ran")
}
sprung <- function() file.exists(file.path(home, "trapped"))

claim("a result full of traps: plain data comes, the session stays as it was", {
  # A script's user may have things of these names.
  mine <- "mine"
  c2 <- 5
  evil <- list(
    x = 1:3, mine = "theirs", T = FALSE, c = 3, print = function(...) trap(), .First = trap, .Last = trap, `if` = trap,
    .Random.seed = 1L, env = globalenv(), call = quote(trap()), promise = local({
      delayedAssign("p", trap())
      environment()
    }),
    frame = structure(list(a = 1), class = "data.frame", row.names = 1L, hook = trap), s3 = structure(list(), class = "remotist_trap_class"),
    formula = y ~ trap(), nested = list(list(list(trap)))
  )
  job <- job_ended_with(result(serialize(evil, NULL)))
  where <- list2env(list(mine = mine, c2 = c2), envir = new.env())
  names <- words <- NULL
  session_now <- function() list(search(), options(), ls(globalenv(), all.names = TRUE), loadedNamespaces(), look_at_home())
  before <- NULL
  before <- session_now()
  words <- said(names <- loadJob(job, envir = where))
  expect(
    setequal(names, c("x", "s3")), identical(where$mine, "mine"), setequal(ls(where, all.names = TRUE), c("mine", "c2", "x", "s3")),
    identical(session_now(), before), !sprung()
  )
  for (omitted in c("print: a function", ".First: a function", "env: an environment", "formula: code", "T: base R has an object of this name", "mine: a variable of this name exists")) expect(grepl(omitted, words, fixed = TRUE))
})

claim("with trust the same result is loaded as it is", {
  job <- job_ended_with(result(serialize(list(f = function() 42, x = 1), NULL)))
  where <- new.env()
  loadJob(job, envir = where, trust = TRUE)
  expect(where$f() == 42)
})

claim("a stream that R's own reader stumbles over does no harm", {
  # The type that a compact vector claims: R 4.5 crashes on it.
  bytes <- serialize(list(x = 1:1000), NULL)
  at <- grepRaw(as.raw(c(0, 0, 0, 13, 0, 0, 0, 1, 0, 0, 0, 13)), bytes, fixed = TRUE)
  bytes[at + 8:11] <- as.raw(c(0x7f, 0xed, 0, 0))
  job <- job_ended_with(result(bytes))
  where <- new.env()
  loadJob(job, envir = where)
  expect(length(ls(where)) == 0L)
  for (bad in list(charToRaw("not R at all"), serialize(globalenv(), NULL), utils::head(serialize(list(x = 1:10 + 0.5), NULL), -3L))) {
    job <- job_ended_with(result(bad))
    raised(loadJob(job, envir = where), "remotist_damaged")
  }
  raised(loadJob(job_ended_with(), envir = where), "remotist_damaged")
  expect(length(ls(where)) == 0L)
})

claim("file names that the market lets pass change nothing of ours", {
  out <- file.path(home, "work", "out")
  dir.create(out)
  writeLines("mine", file.path(out, "mine.txt"))
  file.symlink(home, file.path(out, "way"))
  before <- look_at_home()
  job <- job_ended_with(
    result(serialize(list(), NULL)), made(".Rprofile"), made("sub/.RPROFILE"), made(".Renviron"), made(".RData"), made(".git/config"), made("a/.Git/hooks/x"),
    made("way/escaped.txt"), made("mine.txt"), made("A.txt"), made("a.txt"), made("CON"), made("nul.txt"), made("C:evil"),
    made("dot."), made(".ssh/authorized_keys"), made(".bash_profile"), made("a/.local/bin/ls"), made("HEAD"), made("desktop.ini"), made("SSH~1"), made("~evil"), made("fine/good.txt"), made("D/1"), made("d/2")
  )
  words <- said(written <- downloadJob(job, out))
  expect(
    identical(basename(written), "good.txt"), identical(look_at_home(), before), identical(readLines(file.path(out, "mine.txt")), "mine"),
    setequal(list.files(out, all.files = TRUE, no.. = TRUE), c("mine.txt", "way", "fine")),
    identical(list.files(file.path(out, "fine"), all.files = TRUE, no.. = TRUE), "good.txt"), !file.exists(file.path(home, "escaped.txt"))
  )
})

claim("the home folder is no place for a stranger's files", {
  before <- look_at_home()
  job <- job_ended_with(result(serialize(list(), NULL)), made("bin/ls"))
  raised(downloadJob(job, "~"), "remotist_invalid_argument")
  expect(identical(look_at_home(), before))
})

claim("paths out of the folder do not even pass the market", {
  for (path in c("../evil", "/etc/evil", "a/../../evil", "a\\b", "a\nb")) {
    caught <- tryCatch(
      {
        job_ended_with(made(path))
        NULL
      },
      error = conditionMessage
    )
    expect(!is.null(caught))
  }
  for (id in listJobs()$id) suppressMessages(try(cancelJob(id), silent = TRUE))
})

claim("words of the job cannot act on the terminal", {
  job <- job_ended_with(result(serialize(list(), NULL)), list(role = "log", path = "log.txt", bytes = charToRaw("\033[2J\033]0;owned\007{stop('ran')}")))
  words <- said(waitJob(job, log = TRUE))
  expect(!grepl("\033", words, fixed = TRUE), grepl("<U+001B>", words, fixed = TRUE))
})
expect(!sprung())
