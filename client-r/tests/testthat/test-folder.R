test_that("a folder is read without excluded files", {
  folder <- a_folder("main.R" = "1", "data/x.csv" = "2", ".git/config" = "3", ".Rhistory" = "4", "raw/big.bin" = "5", ".remotistignore" = "raw/\n# a remark\n\n")
  files <- read_folder(folder, NULL)
  expect_identical(files$path, c("data/x.csv", "main.R"))
  expect_identical(files$is_code, c(FALSE, TRUE))
  expect_identical(attr(files, "omitted"), c(".Rhistory", ".git/", "raw/"))
})

test_that("links out of the folder and cycles of links are not followed", {
  skip_on_os("windows")
  secret <- a_folder("secret.txt" = "s")
  folder <- a_folder("main.R" = "1")
  file.symlink(file.path(secret, "secret.txt"), file.path(folder, "notes.txt"))
  file.symlink(folder, file.path(folder, "again"))
  file.symlink("main.R", file.path(folder, "same.R"))
  files <- read_folder(folder, NULL)
  expect_identical(files$path, c("main.R", "same.R"))
  expect_identical(attr(files, "omitted"), c("again/", "notes.txt"))
})

test_that("the home folder and missing folders are refused", {
  expect_snapshot(error = TRUE, {
    check_folder("/nowhere/at/all", NULL)
    check_folder(c("a", "b"), NULL)
    check_folder("/", NULL)
  })
})

test_that("the uploaded files are listed with their sizes", {
  folder <- a_folder("main.R" = "x <- 1", "a{1}.csv" = strrep("x", 2000), ".Rhistory" = "h")
  expect_snapshot(inform_upload(folder, read_folder(folder, NULL), "a {job}"), transform = without_folders)
})
