test_that("the same paths are valid as in the market and the agents", {
  table <- jsonlite::read_json(test_path("file-paths.json"))
  for (row in table) {
    path <- if (is.null(row$hex)) {
      strrep(row$path, if (is.null(row$times)) 1L else row$times)
    } else {
      rawToChar(as.raw(strtoi(substring(row$hex, seq(1L, nchar(row$hex), 2L), seq(2L, nchar(row$hex), 2L)), 16L)))
    }
    kept <- if (!is.null(row$kept)) strrep(row$kept, if (is.null(row$times)) 1L else row$times)
    expect_identical(is_file_path(path), identical(path, kept), label = deparse(path))
    if (!is.null(kept)) expect_true(is_file_path(kept))
  }
  expect_identical(is_file_path(c("a", "a\nb", "\xff", "b/c")), c(TRUE, FALSE, FALSE, TRUE))
})

test_that("paths that leave the folder, or that a system interprets, are refused", {
  bad <- c(
    "", "/etc/passwd", "~/x", "C:/x", "c:x", "..", "../x", "a/../../x", "a/..", "./x", "a//b", "a/", "a\\b", "\\\\host\\x", "a\nb", "a\033b",
    ".Rprofile", ".RPROFILE", "sub/.Renviron", ".RData", "a/.git/config", ".GIT/hooks/post-checkout", "git~1/config", ".git\u200c/config",
    ".ssh/authorized_keys", ".bash_profile", ".hidden", "a/.b/c", "...x", ".gitignore", ".config/autostart/x.desktop", ".local/bin/ls", ".R/Makevars",
    "\u200b.ssh/x", " .ssh/x", "\u00ad.x", "HEAD", "repo/head", "Desktop.ini", "a/AUTORUN.INF", "x.lnk", "a.URL", "b.scf", "c.library-ms",
    "SSH~1/x", "GIT~1", "com\u00b9", "CONIN$", "file.txt:stream", "a/b:c",
    "CON", "nul.txt", "a/Com1", "lpt9.csv", "x.", "x ", "a./b", "a?b", "a*b", "a:b", "a|b", strrep("a", 256), "\xff"
  )
  for (path in bad) expect_type(path_risk(path), "character")
})

test_that("any random text is a path to write, or refused, and an error document or none", {
  seed <- as.integer(Sys.getenv("REMOTIST_TEST_SEED", as.character(Sys.getpid())))
  set.seed(seed)
  texts <- mutation_texts()
  for (round in 1:2000) {
    fault <- text_fault(bytes <- mutated_text(texts))
    if (!is.null(fault)) break
  }
  expect_null(fault, info = paste("seed", seed, "round", round, "bytes", paste(bytes, collapse = " ")))
})

test_that("ordinary paths are accepted", {
  for (path in c("a.txt", "plots/out 1.png", "a..b", "\u00e9t\u00e9.csv", "icon", "console.log", "a%5Cb", "new%0Aline", "gitignore", "HEAD.txt", "header", "a~b", "file.R~", "urls", "config", strrep("a", 255))) {
    expect_null(path_risk(path), label = path)
  }
})

test_that("links in a path are resolved, also when the path does not exist", {
  skip_on_os("windows")
  top <- real_path(a_folder("sub/x" = "x"))
  file.symlink(file.path(top, "sub"), file.path(top, "link"))
  expect_identical(real_path(file.path(top, "link", "new", "..", "other", ".")), file.path(top, "sub", "other"))
  expect_identical(real_path(paste0(top, "/")), top)
  expect_identical(real_path("/"), "")
})

test_that("home folders, roots and R libraries are refused", {
  home <- a_folder("R/lib/pkg/DESCRIPTION" = "x", "work/x" = "x")
  before <- Sys.getenv(c("HOME", "R_LIBS_USER"))
  on.exit(do.call(Sys.setenv, as.list(before)))
  Sys.setenv(HOME = home, R_LIBS_USER = file.path(home, "R", "user", "4.5"))
  expect_identical(folder_risk(home), "your home folder")
  expect_identical(folder_risk(file.path(home, "work", "..")), "your home folder")
  expect_identical(folder_risk(file.path(home, "no", "..")), "your home folder")
  expect_identical(folder_risk(dirname(home)), "a folder that contains your home folder")
  expect_identical(folder_risk("/"), "the root of a disc")
  for (dir in c(R.home(), file.path(R.home(), "etc"), .libPaths()[[1L]], file.path(.libPaths()[[1L]], "new"), file.path(home, "R", "user", "4.5", "new"))) {
    expect_identical(folder_risk(dir), "an R library")
  }
  expect_null(folder_risk(file.path(home, "work")))
  expect_null(folder_risk(file.path(home, "new", "deep")))
})
