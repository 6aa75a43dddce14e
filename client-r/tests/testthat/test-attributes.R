fits <- function(x) identical(read_value(serialize(x, NULL)), list(value = x))

# Attributes that R's own functions would refuse to set.
forged <- function(x, from, to) {
  bytes <- serialize(x, NULL)
  at <- grepRaw(from, bytes, fixed = TRUE)
  bytes[at + seq_along(to) - 1L] <- to
  read_value(bytes)
}

test_that("attributes that R itself writes are accepted", {
  for (x in list(
    1:3, letters, datasets::iris, datasets::mtcars, datasets::Titanic, datasets::AirPassengers, as.POSIXlt("2026-02-01"), data.frame(),
    list(a = NULL), factor(character()), addNA(factor(c("a", NA))), pairlist(a = 1), as.POSIXlt(c("2026-02-01 10:00", NA), tz = "UTC"), as.POSIXlt(c(a = as.POSIXct("2026-02-01", tz = "UTC"))),
    lapply(1:3, function(i) data.frame(a = 1:3, b = i)),
    structure(list(a = 1, m = matrix(1:2, 1)), class = "data.frame", row.names = 1L), data.frame(a = 1:3)[c(3, 1), , drop = FALSE],
    data.frame(a = 1:2, row.names = c("x", "y")), stats::na.omit(data.frame(a = c(1, NA))), as.difftime(3, units = "mins"), Sys.Date(), Sys.time(),
    structure(1:3, comment = "mine", unit = structure("m", class = "unit")), numeric_version("1.2.3"), array(1:24, 2:4), scale(matrix(1:6, 2))
  )) {
    expect_true(fits(x))
  }
})

test_that("a matrix larger than its data, or with dimensions of another type, is inconsistent", {
  expect_identical(forged(matrix(11:16, 2L, 3L), int(2L, 3L), int(2000L, 3000L)), inconsistent)
  # R takes the halves of the numbers for numbers of rows.
  wide <- with_attributes(14, c(int(1), dbl(7)), dim = c(int(14, 1), dbl(1)))
  expect_identical(read_item_of(wide), inconsistent)
  expect_identical(read_item_of(with_attributes(19, c(int(1), nil), dim = c(int(14, 1), dbl(1)))), inconsistent)
  for (dim in list(c(int(13, 1), int(NA)), int(13, 0), c(int(13, 2), int(-1, -1)), strings("1"))) {
    expect_identical(read_item_of(with_attributes(14, c(int(1), dbl(7)), dim = dim)), inconsistent)
  }
})

test_that("a factor with codes beyond its levels is inconsistent", {
  expect_identical(forged(factor(c("a", "b")), int(2L, 1L, 2L), int(2L, 1L, 77L)), inconsistent)
  codes <- c(int(2), int(1, 2))
  expect_identical(read_item_of(with_attributes(13, codes, levels = strings("a", "a"), class = strings("factor"))), inconsistent)
  expect_identical(read_item_of(with_attributes(13, codes, levels = c(int(13, 2), int(1, 2)), class = strings("factor"))), inconsistent)
  expect_identical(read_item_of(with_attributes(14, c(int(1), dbl(1)), levels = strings("a"), class = strings("factor"))), inconsistent)
})

test_that("levels may have names", {
  named <- structure(c(1L, 2L, NA), levels = c(x = "a", y = "b"), class = "factor")
  expect_true(fits(named))
  expect_output(print(named), "Levels: a b")
  levels <- function(...) read_item_of(with_attributes(13, c(int(2), int(1, 2)), levels = with_attributes(16, c(int(2), chars(charToRaw("a")), chars(charToRaw("b"))), ...), class = strings("factor")))
  # Nothing else than names.
  expect_identical(levels(dim = c(int(13, 1), int(2))), inconsistent)
  expect_identical(levels(names = strings("x", "y"), other = strings("z")), inconsistent)
  expect_identical(levels(class = strings("remotist_trap")), inconsistent)
})

test_that("strings marked as bytes are loaded, and omitted where R would raise an error", {
  odd <- only_bytes(0xe9)
  one <- c(int(1), dbl(1))
  expect_identical(read_item_of(with_attributes(14, one, names = byte_strings(0xe9)))$value, stats::setNames(1, odd))
  factor <- read_item_of(with_attributes(13, c(int(1), int(1)), levels = byte_strings(0xe9), class = strings("factor")))$value
  expect_identical(levels(factor), odd)
  expect_output(print(factor), "Levels: ")
  expect_identical(as.integer(factor), 1L)
  reason <- "names that are not valid UTF-8 (the script can convert them with iconv())"
  row <- c(int(13, 1), int(1))
  for (stream in list(
    with_attributes(19, c(int(1), row), names = byte_strings(0xe9)),
    with_attributes(19, c(int(1), row), names = byte_strings(0xe9), row.names = row, class = strings("data.frame")),
    with_attributes(19, c(int(1), row), names = strings("a"), row.names = byte_strings(0xe9), class = strings("data.frame")),
    with_attributes(14, one, dim = row, dimnames = c(int(19, 1), byte_strings(0xe9))), with_attributes(14, one, dim = row, names = byte_strings(0xe9)),
    with_attributes(14, one, dim = row, dimnames = with_attributes(19, c(int(1), nil), names = byte_strings(0xe9)))
  )) {
    expect_match(read_item_of(stream)$omitted, reason, fixed = TRUE)
  }
  # R acts upon these.
  for (name in c("class", "tzone")) {
    expect_identical(read_item_of(do.call(with_attributes, c(list(14, one), stats::setNames(list(byte_strings(0xe9)), name)))), inconsistent)
  }
  # As R writes what it read from a file in another encoding.
  frame <- data.frame(a = 1)
  names(frame) <- "caf\xe9"
  read <- read_result(serialize(list(bad = frame, good = data.frame(a = "caf\xe9")), NULL))
  expect_match(read$omitted[["bad"]], reason, fixed = TRUE)
  expect_identical(read$values$good$a, only_bytes(charToRaw("caf\xe9")))
  expect_error(read_result(c(header(), with_attributes(19, c(int(1), nil), names = byte_strings(0xe9), bits = -256L))), "the name of a variable is not valid UTF-8", class = "remotist_stream")
})

test_that("a data frame whose columns have other lengths is inconsistent", {
  expect_false(fits(structure(list(a = 1:3, b = 1:2), names = c("a", "b"), class = "data.frame", row.names = 1:3)))
  expect_false(fits(list(1, list(structure(list(a = 1:3), names = "a", class = "data.frame", row.names = 1:4)))))
  expect_false(fits(structure(list(a = 1:3), class = "data.frame", row.names = c(NA, -4L))))
  expect_false(fits(structure(list(1:3), class = "data.frame", row.names = 1:3)))
  expect_false(fits(structure(list(a = 1:3), class = "data.frame")))
})

# A data.table of two rows as data.table writes it: its pointer is a pointer to a pointer.
table_of <- function(..., class = strings("data.table", "data.frame"), columns = c(int(13, 2), int(3, 4), int(13, 2), int(5, 6))) {
  pointer <- c(int(22), nil, int(22), nil, nil)
  rows <- c(int(13, 2), int(NA, -2))
  read_item_of(with_attributes(19, c(int(2), columns), names = strings("a", "b"), row.names = rows, class = class, .internal.selfref = pointer, ...))
}

test_that("a data.table is read without its pointer and its indices", {
  bare <- structure(list(a = 3:4, b = 5:6), row.names = c(NA, -2L), class = c("data.table", "data.frame"))
  expect_identical(table_of(), list(value = bare))
  # data.table follows the numbers of an index without looking whether there are so many rows.
  index <- with_attributes(13, int(0), `__a` = c(int(13, 2), int(100000000, 200000000)))
  expect_identical(table_of(index = index), list(value = bare))
  # Not even one of two.
  expect_identical(table_of(index = index, index = index), list(value = bare))
  expect_identical(table_of(sorted = strings("a")), list(value = structure(bare, sorted = "a")))
  # Of what else is in it, and of what comes after it, the pointer hides nothing.
  expect_identical(table_of(hook = int(253)), list(omitted = "an environment"))
  expect_identical(read_item_of(int(19, 2), with_attributes(14, c(int(1), dbl(1)), .internal.selfref = int(253)), int(253)), list(omitted = "an environment"))
  expect_identical(read_item_of(with_attributes(14, c(int(1), dbl(1)), .internal.selfref = int(253)))$value, 1)
  for (version in 2:3) {
    skip_if_not_installed("data.table")
    table <- data.table::data.table(a = 3:1, b = letters[1:3], key = "a")
    data.table::setindexv(table, "b")
    read <- read_value(serialize(table, NULL, version = version))$value
    expect_identical(as.list(read), as.list(table))
    expect_identical(attr(read, "sorted"), "a")
    expect_null(attr(read, "index"))
  }
})

test_that("an inconsistent data.table is omitted", {
  expect_identical(table_of(class = strings("data.table")), inconsistent)
  expect_identical(table_of(sorted = strings("z")), inconsistent)
  expect_identical(table_of(sorted = strings("a", "a")), inconsistent)
  expect_identical(table_of(sorted = c(int(13, 1), int(1))), inconsistent)
  # Two rows, but four numbers: its own code counts these.
  wide <- c(with_attributes(13, c(int(4), int(1, 2, 3, 4)), dim = c(int(13, 2), int(2, 2))), int(13, 2), int(5, 6))
  expect_identical(table_of(columns = wide), inconsistent)
})

test_that("attributes that R interprets have no attributes of their own", {
  # Names with dimensions that are not theirs: to print them reads behind their end.
  odd <- function(text) with_attributes(16, c(int(1), chars(charToRaw(text))), dim = c(int(13, 2), int(1, 1)))
  one <- c(int(1), dbl(1))
  for (name in c("names", "class", "tzone", "comment")) {
    expect_identical(read_item_of(do.call(with_attributes, c(list(14, one), stats::setNames(list(odd("a")), name)))), inconsistent)
  }
  matrix <- with_attributes(14, one, dim = with_attributes(13, c(int(1), int(1)), x = c(int(13, 1), int(1))))
  expect_identical(read_item_of(matrix), inconsistent)
  labelled <- with_attributes(14, one, dim = c(int(13, 1), int(1)), dimnames = c(int(19, 1), odd("a")))
  expect_identical(read_item_of(labelled), inconsistent)
})

test_that("times, dates and time series are numbers with consistent attributes", {
  for (class in c("Date", "POSIXct", "difftime")) {
    expect_identical(read_item_of(with_attributes(16, c(int(1), chars(charToRaw("a"))), class = strings(class))), inconsistent)
  }
  parts <- unclass(as.POSIXlt("2026-02-01", tz = "UTC"))
  expect_false(fits(structure(parts[-1L], class = "POSIXlt")))
  expect_false(fits(structure(replace(parts, "mon", list("1")), class = "POSIXlt")))
  expect_false(fits(structure(replace(parts, "mon", list(1:2)), class = "POSIXlt", balanced = TRUE)))
  series <- with_attributes(14, c(int(2), dbl(1, 2)), tsp = c(int(14, 3), dbl(1, 9, 1)))
  expect_identical(read_item_of(series), inconsistent)
})

test_that("compact row names are limited where no column has as many elements", {
  frame <- data.frame(a = raw(2e6))
  read <- read_value(serialize(rep(list(frame), 40L), NULL))
  expect_length(read$value, 40L)
  rows <- attribute_cells(row.names = c(int(13, 2), int(NA, -2000000000)))
  expect_identical(read_item_of(int(19L + 512L, 1), nil, rows)$omitted, "a compact vector that is too long")
})

test_that("an attribute occurs once, and the number of attributes is limited", {
  twice <- with_attributes(14, c(int(1), dbl(1)), x = c(int(14, 1), dbl(1)), x = c(int(14, 1), dbl(1)))
  expect_identical(read_item_of(twice), inconsistent)
  many <- function(n) {
    cells <- stats::setNames(rep(list(c(int(14, 1), dbl(1))), n), paste0("a", seq_len(n)))
    read_item_of(do.call(with_attributes, c(list(14, c(int(1), dbl(1))), cells)))
  }
  expect_length(attributes(many(attributes_max)$value), attributes_max)
  expect_identical(many(attributes_max + 1L)$omitted, "an object with too many attributes")
})

test_that("no method of the value's class is called", {
  for (generic in c("length", "names", "dim", "print", "format", "[[", "$", "as.list", "levels", "dimnames")) {
    registerS3method(generic, "remotist_trap", function(x, ...) stop("ran"), envir = globalenv())
  }
  read <- read_value(serialize(structure(list(a = 1), class = "remotist_trap"), NULL))
  expect_identical(unclass(read$value), list(a = 1))
  frame <- structure(list(a = structure(list(1), class = "remotist_trap")), class = "data.frame", row.names = 1L)
  expect_null(read_value(serialize(frame, NULL))$omitted)
})

test_that("no method of an attribute's class is called", {
  called <- character()
  trap <- function(name) function(x, ...) {
    called <<- c(called, name)
    NULL
  }
  for (generic in c("as.character", "length", "[[", "mtfrm", "is.na", "anyNA", "unique", "duplicated", "as.vector")) {
    registerS3method(generic, "remotist_spy", trap(generic), envir = globalenv())
  }
  # R compares what it is given by as.character(), of which a class may have its own; that of srcref opens a file or an address.
  spy <- with_attributes(16, c(int(1), chars(charToRaw("data.frame"))), class = strings("remotist_spy"))
  numbers <- with_attributes(13, c(int(1), int(1)), class = strings("remotist_spy"))
  listed <- with_attributes(19, c(int(1), strings("a")), class = strings("remotist_spy"))
  rows <- c(int(13, 2), int(NA, -1))
  one <- c(int(13, 1), int(1))
  for (stream in list(
    with_attributes(19, c(int(1), one), row.names = rows, class = spy), with_attributes(19, c(int(1), one), class = spy),
    with_attributes(14, c(int(1), dbl(1)), tsp = c(int(14, 3), dbl(1, 1, 1)), dim = numbers), with_attributes(14, c(int(1), dbl(1)), dim = numbers),
    with_attributes(14, c(int(1), dbl(1)), dimnames = listed, dim = one), with_attributes(14, c(int(1), dbl(1)), names = spy),
    with_attributes(13, c(int(1), int(1)), levels = spy, class = strings("factor")), with_attributes(13, c(int(1), int(1)), contrasts = numbers, levels = strings("a"), class = strings("factor")),
    with_attributes(14, c(int(1), dbl(1)), tzone = spy, class = strings("POSIXct")), with_attributes(14, c(int(1), dbl(1)), units = spy, class = strings("difftime"))
  )) {
    expect_named(read_item_of(stream), "omitted")
  }
  expect_identical(called, character())
})

test_that("a class whose print method has effects is omitted at any depth", {
  # To print this runs the code in its title.
  author <- structure(list(list(given = "A", family = "B")), class = "person")
  entry <- structure(list(structure(list(title = "\\Sexpr[stage=install]{options(remotist.ran = TRUE)}", author = author, year = "2026"), bibtype = "Misc")), class = "bibentry")
  reason <- "an object of class bibentry, whose print method has effects"
  for (x in list(entry, list(1, entry), structure(1, note = entry), structure(list(a = entry), class = "data.frame", row.names = 1L), structure(entry, class = c("mine", "bibentry")))) {
    expect_identical(read_value(serialize(x, NULL)), list(omitted = reason))
  }
  expect_identical(read_result(serialize(list(x = entry, y = 1), NULL))[c("values", "omitted")], list(values = list(y = 1), omitted = c(x = reason)))
  for (class in classes_with_effects) expect_match(read_value(serialize(structure(list(1), class = class), NULL))$omitted, class, fixed = TRUE)
  expect_true(fits(structure(list(1), class = c("mine", "yours"))))
})

test_that("of R's own packages only the omitted classes have print methods with effects", {
  table <- get(".__S3MethodsTable__.", baseenv())
  own <- rownames(utils::installed.packages(priority = "base"))
  acts <- c("system", "system2", "shell.exec", "browseURL", "file.show", "parse_Rd", ".getHelpFile", "getSrcLines", "replayPlot", "startDynamicHelp", "printhsearchInternal", "sys.source", "readRDS")
  for (where in list(table, baseenv())) {
    for (name in grep("^(print|format|summary|str|as[.]character|toString|length|names|dim)[.]", ls(where, all.names = TRUE), value = TRUE)) {
      method <- get(name, where)
      if (!is.function(method) || is.primitive(method) || !environmentName(topenv(environment(method))) %in% own) next
      class <- sub("^(as[.]character|[^.]*)[.]", "", name)
      if (any(acts %in% all.names(body(method)))) expect_true(class %in% classes_with_effects, info = name)
    }
  }
})

test_that("contrasts are numbers or names of R's own functions", {
  with_contrasts <- function(x) structure(factor(c("a", "b")), contrasts = x)
  for (x in list("contr.sum", stats::contr.treatment(2), matrix(1:2, 2))) expect_true(fits(with_contrasts(x)))
  # R calls a function of this name with the levels as soon as a model is fitted.
  for (x in list("source", "system", c("contr.sum", "source"), NA_character_, list("source"), structure("contr.sum", class = "x"))) {
    expect_identical(read_value(serialize(with_contrasts(x), NULL)), list(omitted = "a factor whose contrasts name an unknown function"))
  }
})

test_that("a time zone must not be a file path", {
  in_zone <- function(...) structure(0, class = c("POSIXct", "POSIXt"), tzone = c(...))
  zones <- list("UTC", "", "Europe/Lisbon", "Etc/GMT+5", "<+03>-3", "CET-1CEST,M3.5.0,M10.5.0/3", c("Europe/Lisbon", "WET", "WEST"), c("Asia/Dubai", "+04", "   "))
  for (zone in zones) expect_true(fits(in_zone(zone)))
  for (zone in list("/dev/zero", ":/etc/passwd", "../../x", "\\\\host\\share", "C:/x", "~/x", c("UTC", "/x", ""))) {
    expect_identical(read_value(serialize(in_zone(zone), NULL)), list(omitted = "a time whose time zone is a file path"))
  }
})

test_that("rows and columns without elements are limited", {
  empty <- function(...) read_item_of(with_attributes(13, int(0), dim = c(int(13, ...length()), int(...)), bits = -256L))
  expect_identical(empty(0, 5), list(value = matrix(integer(), 0L, 5L)))
  most <- expanded_bytes_max / 8
  expect_identical(dim(empty(0, most)$value), as.integer(c(0, most)))
  expect_identical(empty(0, most + 1)$omitted, "a compact vector that is too long")
  # To print it would take 2 billion lines.
  expect_identical(empty(2000000000, 0)$omitted, "a compact vector that is too long")
  expect_identical(empty(2147483647, 2147483647, 0)$omitted, "a compact vector that is too long")
})
