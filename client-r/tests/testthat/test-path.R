test_that("names that lead elsewhere, or that a system acts upon, are refused", {
  bad <- c(
    "", "/etc/passwd", "~/x", "C:/x", "c:x", "..", "../x", "a/../../x", "a/..", "./x", "a//b", "a/", "a\\b", "\\\\host\\x", "a\nb", "a\033b",
    ".Rprofile", ".RPROFILE", "sub/.Renviron", ".RData", "a/.git/config", ".GIT/hooks/post-checkout", "git~1/config", ".git\u200c/config",
    "CON", "nul.txt", "a/Com1", "lpt9.csv", "x.", "x ", "a./b", "a?b", "a*b", "a:b", "a|b", strrep("a", 256), "\xff"
  )
  for (path in bad) expect_type(path_risk(path), "character")
})

test_that("ordinary names are not", {
  for (path in c("a.txt", "plots/out 1.png", "a..b", "...x", "\u00e9t\u00e9.csv", ".hidden", "icon", "console.log", "gitignore", ".gitignore", strrep("a", 255))) {
    expect_null(path_risk(path), label = path)
  }
})
