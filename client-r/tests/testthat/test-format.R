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

test_that("times of the market are parsed", {
  expect_identical(format(time_of("2026-02-01T10:20:30.500Z"), "%H:%M:%S", tz = "UTC"), "10:20:30")
  expect_true(is.na(time_of(NULL)))
  expect_true(is.na(time_of("soon")))
})
