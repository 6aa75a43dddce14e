test_that("control characters are escaped", {
  expect_identical(clean_text("a\033[2Jb"), "a<U+001B>[2Jb")
  expect_identical(clean_text("\u202egnp.exe"), "<U+202E>gnp.exe")
  expect_identical(clean_text(c("plain \u00e9", NA)), c("plain \u00e9", NA))
  expect_identical(clean_text("tab\there"), "tab\there")
  expect_true(validUTF8(clean_text("\xff\xfe")))
  expect_identical(clean_text("a\u2028b\u061c"), "a<U+2028>b<U+061C>")
  # Marked as bytes, which R itself refuses to translate.
  odd <- c("caf\xe9\033[2J", "plain")
  Encoding(odd) <- "bytes"
  expect_identical(clean_text(odd), c("caf<e9><U+001B>[2J", "plain"))
  expect_identical(short_text(c(strrep("x", 300), NA, "y\033")), c(paste0(strrep("x", 200), "..."), NA, "y<U+001B>"))
  expect_identical(short_text(NULL), character())
})

test_that("bytes and credits are formatted with few digits", {
  expect_identical(vapply(c(0, 1, 999, 1000, 1234567, 5e9, 1e15), bytes_text, ""), c("0 bytes", "1 byte", "999 bytes", "1 kB", "1.23 MB", "5 GB", "1000 TB"))
  expect_identical(credits_text(1), "1 credit")
  expect_identical(credits_text(0.000001), "0.000001 credits")
  expect_identical(credits_text(1234567.5), "1,234,567.5 credits")
})

test_that("lengths of time have at most two units", {
  seconds <- c(0, 0.0123, 0.9994, 0.9996, 4.25, 9.96, 59.4, 59.6, 60, 293, 3599.6, 3600, 7385, 86400, 93600, 86400 * 400)
  expect_identical(vapply(seconds, duration_text, ""), c(
    "0 ms", "12.3 ms", "999 ms", "1.0 s", "4.2 s", "10 s", "59 s", "1 min", "1 min", "4 min 53 s", "1 h", "1 h", "2 h 3 min", "1 d", "1 d 2 h", "400 d"
  ))
})

test_that("columns are aligned by width, and empty ones are not printed", {
  expect_snapshot(print_columns(list(n = c("1", "10"), none = c("", ""), name = c("\u4e2d\u6587", "a\tb"), end = c("", "x"))))
})

test_that("times of the market are parsed", {
  expect_identical(format(time_of("2026-02-01T10:20:30.500Z"), "%H:%M:%S", tz = "UTC"), "10:20:30")
  expect_true(is.na(time_of(NULL)))
  expect_true(is.na(time_of("soon")))
})
