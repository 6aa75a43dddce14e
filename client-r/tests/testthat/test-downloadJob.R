download <- function(files, dir, ...) {
  logged_in()
  routes <- list()
  routes[[paste0("GET /job/", job_id, "/files")]] <- do.call(file_page, files)
  with_market(routes, downloadJob(job_id, dir, ...))
}
text_file <- function(path, text = "theirs") list(path = path, size = nchar(text, "bytes"), text = text)

test_that("files are written below the folder", {
  dir <- tempfile("down-")
  expect_snapshot(written <- download(list(text_file("a.txt"), text_file("plots/b.txt", "b"), inline_file("c.bin", as.raw(0:255))), dir), transform = without_folders)
  expect_identical(sort(list.files(dir, recursive = TRUE, all.files = TRUE)), c("a.txt", "c.bin", "plots/b.txt"))
  expect_identical(readBin(file.path(dir, "c.bin"), "raw", 300), as.raw(0:255))
  expect_length(written, 3L)
})

test_that("empty files are written, also when they come last or alone", {
  dir <- tempfile("down-")
  suppressMessages(download(list(text_file("b.txt", "a\n"), text_file("e.txt", ""), inline_file("f.bin", raw())), dir))
  expect_identical(file.size(file.path(dir, c("b.txt", "e.txt", "f.bin"))), c(2, 0, 0))
  suppressMessages(download(list(text_file("g.txt", "")), dir))
  expect_identical(file.size(file.path(dir, "g.txt")), 0)
})

test_that("files with hostile names are not written", {
  dir <- file.path(tempfile("down-"), "in")
  names <- c("../out.txt", "/tmp/remotist-absolute", ".Rprofile", "sub/.git/config", "A.txt", "a.TXT", "CON", "D/x", "d/y", "e", "E/z", "fine.txt")
  expect_snapshot(download(lapply(names, text_file), dir), transform = without_folders)
  expect_identical(list.files(dirname(dir), recursive = TRUE, all.files = TRUE), "in/fine.txt")
  expect_false(file.exists("/tmp/remotist-absolute"))
})

test_that("existing files are replaced only with overwrite = TRUE", {
  dir <- a_folder("a.txt" = "mine", "b/keep" = "mine")
  expect_snapshot(download(list(text_file("a.txt"), text_file("b")), dir), transform = without_folders)
  expect_identical(readLines(file.path(dir, "a.txt"), warn = FALSE), "mine")
  suppressMessages(download(list(text_file("a.txt")), dir, overwrite = TRUE))
  expect_identical(readLines(file.path(dir, "a.txt"), warn = FALSE), "theirs")
})

test_that("no file is written through a link", {
  skip_on_os("windows")
  outside <- a_folder("target.txt" = "mine")
  dir <- a_folder("x" = "x")
  file.symlink(outside, file.path(dir, "sub"))
  file.symlink(file.path(outside, "target.txt"), file.path(dir, "link.txt"))
  file.symlink(file.path(outside, "new.txt"), file.path(dir, "dangling.txt"))
  expect_snapshot(
    download(list(text_file("sub/evil.txt"), text_file("link.txt"), text_file("dangling.txt")), dir, overwrite = TRUE),
    transform = without_folders
  )
  expect_identical(list.files(outside), "target.txt")
  expect_identical(readLines(file.path(outside, "target.txt"), warn = FALSE), "mine")
})

test_that("a damaged file leaves no file behind", {
  dir <- tempfile("down-")
  expect_error(suppressMessages(download(list(list(path = "a.txt", size = 99, text = "short")), dir)), class = "remotist_damaged")
  expect_length(list.files(dir, all.files = TRUE, no.. = TRUE), 0L)
})

test_that("no dot file, no repository and no file of an R library is written; other files are", {
  dir <- tempfile("down-")
  before <- Sys.getenv("R_LIBS_USER")
  on.exit(Sys.setenv(R_LIBS_USER = before), add = TRUE)
  Sys.setenv(R_LIBS_USER = file.path(dir, "lib", "4.5"))
  names <- c(".ssh/authorized_keys", ".bash_profile", ".local/bin/ls", "HEAD", "config", "repo/HEAD", "lib/4.5/pkg/R/pkg.R", "lib/fine.txt")
  expect_snapshot(download(lapply(names, text_file), dir), transform = without_folders)
  expect_identical(sort(list.files(dir, recursive = TRUE, all.files = TRUE)), c("config", "lib/fine.txt"))
})

test_that("the home folder, a root and an R library are refused before any request", {
  home <- a_folder("x" = "x")
  before <- Sys.getenv("HOME")
  there <- setwd(home)
  on.exit({
    setwd(there)
    Sys.setenv(HOME = before)
  }, add = TRUE)
  Sys.setenv(HOME = home)
  logged_in()
  here <- market(list())
  for (dir in c("~", ".", home, "/", .libPaths()[[1L]], R.home())) {
    httr2::with_mocked_responses(here$mock, expect_error(downloadJob(job_id, dir), class = "remotist_invalid_argument"))
  }
  httr2::with_mocked_responses(here$mock, expect_snapshot(downloadJob(job_id, "~"), error = TRUE))
  expect_length(here$received(), 0L)
  expect_identical(list.files(home, all.files = TRUE, no.. = TRUE), "x")
})

test_that("a job without files is reported, and invalid arguments are refused", {
  expect_snapshot(download(list(), tempfile()))
  expect_snapshot(error = TRUE, {
    downloadJob(job_id)
    downloadJob(job_id, 1)
    downloadJob(job_id, tempdir(), overwrite = "yes")
  })
})
