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

test_that("hostile names change nothing", {
  dir <- file.path(tempfile("down-"), "in")
  names <- c("../out.txt", "/tmp/remotist-absolute", ".Rprofile", "sub/.git/config", "A.txt", "a.TXT", "CON", "D/x", "d/y", "e", "E/z", "fine.txt")
  expect_snapshot(download(lapply(names, text_file), dir), transform = without_folders)
  expect_identical(list.files(dirname(dir), recursive = TRUE, all.files = TRUE), "in/fine.txt")
  expect_false(file.exists("/tmp/remotist-absolute"))
})

test_that("what is there stays, unless told otherwise", {
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

test_that("a file that arrives damaged leaves nothing behind", {
  dir <- tempfile("down-")
  expect_error(suppressMessages(download(list(list(path = "a.txt", size = 99, text = "short")), dir)), class = "remotist_damaged")
  expect_length(list.files(dir, all.files = TRUE, no.. = TRUE), 0L)
})

test_that("no files, and wrong arguments, are told", {
  expect_snapshot(download(list(), tempfile()))
  expect_snapshot(error = TRUE, {
    downloadJob(job_id)
    downloadJob(job_id, 1)
    downloadJob(job_id, tempdir(), overwrite = "yes")
  })
})
