# From a script in a folder to its result in this session.
source("tests/e2e/lib/session.R")

new_account("round")
before <- account()
expect(before$balance == 100, before$held == 0)

set.seed(7)
measured <- data.frame(g = factor(sample(c("a", "b"), 1000, TRUE)), x = rnorm(1000))
noise <- as.raw(sample(0:255, 2.5 * 2^20, TRUE))
folder <- job_folder(
  "main.R" = c(
    "source('R/means.R')",
    "measured <- readRDS('data/measured.rds')",
    "result <- means(measured)",
    "when <- as.Date('2026-02-01') + 0:2",
    "matrix <- outer(1:3, 1:4, '+')",
    "digest <- unname(tools::md5sum('data/noise.bin'))",
    "cat('grüße from the job\\n')",
    "message('and a message')",
    "remotist::progress(0.5, 'half way')",
    "dir.create('plots')",
    "writeBin(rev(readBin('data/noise.bin', 'raw', 3e6)), 'plots/reversed.bin')",
    "writeLines('changed', 'notes.txt')",
    "writeBin(1:10, 'ints.bin')",
    "invisible(file.create('zz-empty.txt'))",
    "model <- lm(x ~ g, measured)",
    "t0 <- proc.time()[[1]]; while (proc.time()[[1]] - t0 < 0.3) {}"
  ),
  "R/means.R" = "means <- function(t) aggregate(x ~ g, t, mean)",
  "data/noise.bin" = noise,
  "notes.txt" = "as it was",
  ".Renviron" = "SECRET=1",
  "raw/unneeded.csv" = "1,2",
  ".remotistignore" = "raw/"
)
saveRDS(measured, file.path(folder, "data/measured.rds"))

claim("what is sent is shown, and what stays at home", {
  words <- said(job <- addJob("means by group", "main.R", ram = 512, disc = 200, price = 2, deadline = 600, folder_path = folder))
  expect(grepl("5 files", words), grepl("2.6[0-9] MB", words), grepl(".Renviron", words, fixed = TRUE), grepl("raw/", words))
  print(job)
  expect(inherits(job, "remotist_job"), account()$held == 2 || viewJob(job)$state == "completed")
})

claim("the job is waited for, and works wherever an id is asked", {
  done <- waitJob(job, timeout = 240)
  expect(done$state == "completed", viewJob(job)$state == "completed", viewJob(job$id)$id == job$id, job$id %in% listJobs()$id)
})

claim("its variables are here, as if computed here; what is no plain data is not", {
  where <- new.env()
  words <- said(names <- loadJob(job, envir = where))
  local <- aggregate(x ~ g, measured, mean)
  expect(
    identical(where$result, local), identical(where$measured, measured), identical(where$when, as.Date("2026-02-01") + 0:2),
    identical(where$digest, unname(tools::md5sum(file.path(folder, "data/noise.bin")))),
    !exists("means", where, inherits = FALSE), !exists("model", where, inherits = FALSE),
    # A name of base R.
    !exists("matrix", where, inherits = FALSE), grepl("matrix: base R has an object of this name", words), grepl("means: a function", words)
  )
  trusted <- new.env()
  loadJob(job, envir = trusted, trust = TRUE)
  expect(is.function(trusted$means), inherits(trusted$model, "lm"), identical(trusted$matrix, outer(1:3, 1:4, "+")))
})

claim("nothing comes into the global environment unasked", expect(!exists("digest", globalenv(), inherits = FALSE)))

claim("its files are here", {
  dir <- file.path(scratch, "files")
  written <- downloadJob(job, dir)
  expect(
    setequal(list.files(dir, recursive = TRUE, all.files = TRUE), c("notes.txt", "plots/reversed.bin", "ints.bin", "zz-empty.txt")),
    identical(readBin(file.path(dir, "ints.bin"), "integer", 20L), 1:10), file.size(file.path(dir, "zz-empty.txt")) == 0,
    identical(readBin(file.path(dir, "plots/reversed.bin"), "raw", 3e6), rev(noise)),
    identical(readLines(file.path(dir, "notes.txt")), "changed"), length(written) == 4L
  )
})

claim("its log is here", expect(identical(jobLog(job), c("gr\u00fc\u00dfe from the job", "and a message"))))

claim("credits moved, and what was held came back", {
  after <- account()
  print(after)
  expect(after$balance < 100, after$balance > 99.9, after$held == 0, after$storage_used > 2.5 * 2^20)
})

claim("a result of megabytes comes in pieces", {
  job <- addJob("large", "main.R", folder_path = job_folder("main.R" = "set.seed(1); x <- runif(4e5); s <- as.character(1:2e4)"), ram = 512, disc = 100)
  waitJob(job, timeout = 240)
  where <- new.env()
  loadJob(job, envir = where)
  set.seed(1)
  expect(identical(where$x, runif(4e5)), identical(where$s, as.character(1:2e4)))
})

claim("who is logged out has to log in again", {
  logout()
  raised(viewJob(job), "remotist_unauthenticated")
})
