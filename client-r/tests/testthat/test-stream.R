# A result as a runner writes it.
result_of <- function(...) serialize(list(...), NULL)

plain <- list(
  int = 3:1, seq = 1:1000, real = c(1.5, NA), text = c("a", NA, "\u00e9"), flag = c(TRUE, NA), cx = 1i, bytes = as.raw(1:3), none = NULL,
  sorted = sort(c(3, 1, 2)), numbers = as.character(1:5), nested = list(a = list(b = list(1, "x"))), frame = datasets::iris,
  matrix = matrix(1:6, 2, dimnames = list(NULL, letters[1:3])), when = as.POSIXct("2026-02-01", tz = "UTC"), day = as.Date("2026-02-01"),
  parts = as.POSIXlt("2026-02-01", tz = "UTC"), series = stats::ts(1:12, start = 2000, frequency = 12), counts = table(c("a", "b", "a")),
  pairs = pairlist(a = 1, 2), empty = list(), dated = data.frame(d = as.Date("2026-02-01") + 0:2, f = factor(c("u", "v", "u")))
)

# Numbers with either end first.
orders <- if (.Platform$endian == "little") c(TRUE, FALSE) else TRUE

test_that("plain data is read exactly as it was, in both versions and orders of the format", {
  for (version in 2:3) {
    for (xdr in orders) {
      read <- read_result(serialize(plain, NULL, version = version, xdr = xdr))
      expect_identical(read$values, plain)
      expect_length(read$omitted, 0L)
      for (one in plain) expect_identical(read_value(serialize(one, NULL, version = version, xdr = xdr)), list(value = one))
    }
  }
})

test_that("a single value is plain data or is omitted", {
  for (xdr in orders) {
    value <- function(x) read_value(serialize(x, NULL, xdr = xdr))
    expect_identical(value(function() 1), list(omitted = "a function"))
    expect_identical(value(list(1, globalenv())), list(omitted = "an environment"))
    expect_identical(value(y ~ x), list(omitted = "code"))
    odd <- serialize(structure(11:16, dim = c(2L, 3L)), NULL, xdr = xdr)
    at <- grepRaw(writeBin(2:3, raw(), endian = if (xdr) "big" else "little"), odd, fixed = TRUE)
    odd[at + if (xdr) 3L else 0L] <- as.raw(9)
    expect_identical(read_value(odd), list(omitted = "an inconsistent object"))
    bytes <- serialize(1:3 + 0, NULL, xdr = xdr)
    for (bad in list(raw(), bytes[-length(bytes)], c(bytes, as.raw(0)), c(charToRaw(if (xdr) "B" else "X"), bytes[-1L]))) {
      expect_error(read_value(bad), class = "remotist_stream")
    }
  }
})

test_that("everything that is not plain data is omitted, at any depth", {
  methods::setClass("remotistTestClass", representation(a = "numeric"), where = globalenv())
  on.exit(methods::removeClass("remotistTestClass", where = globalenv()))
  compiled <- compiler::cmpfun(function(x) {
    for (i in 1:3) x <- x + if (x > 1) quote(a + b) else 2
    x
  })
  hostile <- list(
    fun = function(x) x, compiled = compiled, builtin = sum, special = `if`, env = new.env(), global = globalenv(), base = baseenv(),
    space = asNamespace("stats"), call = quote(f(x)), name = quote(x), formula = y ~ x, expr = expression(a + b),
    s4 = methods::new("remotistTestClass", a = 1), in_list = list(1, list(function() 1)), in_attribute = structure(1, hook = function() 1),
    in_nested_attribute = structure(list(), x = structure(1, y = globalenv())), model = stats::lm(mpg ~ wt, datasets::mtcars),
    frame = structure(datasets::iris, remark = quote(x)), missing = alist(a = )
  )
  # Plain ones between them: what comes after must still be found and be right.
  mixed <- list()
  for (name in names(hostile)) mixed[c(name, paste0("after_", name))] <- list(hostile[[name]], datasets::iris)
  for (version in 2:3) {
    for (xdr in orders) {
      read <- read_result(serialize(mixed, NULL, version = version, xdr = xdr))
      expect_identical(names(read$omitted), names(hostile))
      expect_identical(read$values, mixed[paste0("after_", names(hostile))])
    }
  }
  expect_identical(read$omitted[["formula"]], "code")
  expect_identical(read$omitted[["in_attribute"]], "a function")
  expect_identical(read$omitted[["s4"]], "an S4 object")
})

test_that("reading loads no package", {
  # tcltk is there and not loaded; R's own reader would load it to find the namespace.
  skip_if("tcltk" %in% loadedNamespaces())
  name <- charToRaw("tcltk")
  string <- function(text) c(as.raw(c(0, 4, 0, 9)), writeBin(length(text), raw(), endian = "big"), text)
  bytes <- result_of(x = NULL)
  at <- which(bytes == as.raw(0xfe))[[1L]]
  space <- c(as.raw(c(0, 0, 0, 249, 0, 0, 0, 0, 0, 0, 0, 2)), string(name), string(charToRaw("1.0")))
  read <- read_result(c(bytes[seq_len(at - 4L)], space, bytes[(at + 1L):length(bytes)]))
  expect_identical(read$omitted, c(x = "an environment"))
  expect_false("tcltk" %in% loadedNamespaces())
})

test_that("compact vectors are accepted only with a state that R itself writes", {
  change <- function(bytes, from, to) {
    at <- grepRaw(from, bytes)
    stopifnot(length(from) == length(to), length(at) == 1L)
    bytes[at + seq_along(to) - 1L] <- to
    bytes
  }
  bytes <- result_of(x = 1:1000)
  expect_identical(read_result(change(bytes, charToRaw("compact_intseq"), charToRaw("compact_intsex")))$omitted[["x"]], "an object of an unknown kind")
  expect_identical(read_result(change(bytes, charToRaw("base"), charToRaw("utls")))$omitted[["x"]], "an object of an unknown kind")
  endless <- change(bytes, writeBin(1000, raw(), endian = "big"), writeBin(1e300, raw(), endian = "big"))
  expect_identical(read_result(endless)$omitted[["x"]], "an object of an unknown kind")
  type <- as.raw(c(0, 0, 0, 13, 0, 0, 0, 1, 0, 0, 0, 13))
  expect_identical(read_result(change(bytes, type, replace(type, 12L, as.raw(14))))$omitted[["x"]], "an object of an unknown kind")
})

test_that("compact vectors are expanded up to a limit, which is checked first", {
  n <- expanded_bytes_max / 4
  expect_identical(read_item_of(compact("compact_intseq", 13, sequence_state(n)))$value[c(1, n)], c(1L, as.integer(n)))
  expect_identical(read_item_of(compact("compact_intseq", 13, sequence_state(n + 1)))$omitted, "a compact vector that is too long")
  # A factor of so many elements: to look at its codes would unfold them.
  levels <- attribute_cells(levels = strings("a"), class = strings("factor"))
  expect_identical(read_item_of(compact("compact_intseq", 13, sequence_state(3e8), levels))$omitted, "a compact vector that is too long")
  # Many that are each within the limit, and text that numbers stand for.
  half <- compact("compact_intseq", 13, sequence_state(n / 2))
  expect_identical(read_item_of(int(19, 3), half, half, half)$omitted, "a compact vector that is too long")
  text <- compact("deferred_string", 16, c(int(2), half, int(13, 1, 0)))
  expect_identical(read_item_of(text)$omitted, "a compact vector that is too long")
  rows <- with_attributes(19, int(0), row.names = c(int(13, 2), int(NA, -2000000000)), class = strings("data.frame"))
  expect_identical(read_item_of(rows)$omitted, "a compact vector that is too long")
})

test_that("an S4 bit is refused at any depth", {
  skip_if("tcltk" %in% loadedNamespaces())
  bit <- 65536L
  class <- with_attributes(16, c(int(1), chars(charToRaw("tclVar"))), package = strings("tcltk"))
  hostile <- list(
    with_attributes(14, c(int(1), dbl(1)), class = class, bits = bit),
    c(int(2L + 512L + 256L + bit), attribute_cells(class = class), c(int(14, 1), dbl(1)), nil),
    compact("compact_intseq", 13, sequence_state(5), attribute_cells(class = class), 238L + 512L + 256L + bit),
    c(int(19, 1), compact("compact_intseq", 13, sequence_state(5), nil, 238L + bit))
  )
  for (one in hostile) expect_identical(read_item_of(one), list(omitted = "an S4 object"))
  expect_false("tcltk" %in% loadedNamespaces())
})

test_that("the encoding of text follows from its bytes and marks, not from the header", {
  unmarked <- c(int(16, 1), chars(as.raw(c(0xc3, 0xa9)), 0L))
  for (encoding in c("ISO-8859-1", "UTF-16", "IBM1047", "UTF-7", "", strrep("x", 1000))) {
    expect_identical(read_value(c(header(encoding), unmarked)), list(value = "\u00e9"))
  }
  text <- function(bytes, flags) read_item_of(int(16, 1), chars(as.raw(bytes), flags))
  expect_identical(text(0xe9, 0x4000L)$value, "\u00e9")
  expect_identical(Encoding(text(0xe9, 0x2000L)$value), "bytes")
  expect_identical(Encoding(text(0xe9, 0L)$value), "bytes")
  expect_identical(text(0xe9, 0x8000L)$omitted, "text that is not valid UTF-8")
  expect_error(text(c(0x61, 0, 0x62), 0L), class = "remotist_stream")
  for (bytes in list(charToRaw("caf\xe9"), as.raw(c(0x63, 0xff, 0x28)))) for (flags in c(0L, 0x2000L)) expect_identical(text(bytes, flags)$value, only_bytes(bytes))
})

test_that("the flags of a string are its type, at most one encoding, and whether it is ASCII", {
  known <- c(0L, 0x2000L, 0x4000L, 0x8000L)
  known <- c(known, known + 0x40000L)
  # One by one, and many at once.
  for (count in c(1L, 40L)) for (order in c("big", "little")) {
    word <- function(...) writeBin(as.integer(c(...)), raw(), endian = order)
    head <- c(charToRaw(if (order == "big") "X\n" else "B\n"), word(2, 263424, 131840, 16, count))
    # The last string has these flags.
    read <- function(flags) read_value(c(head, rep(c(word(0x40009L, 1), charToRaw("a")), count - 1L), word(flags, 1), charToRaw("b")))
    if (order == "little" && .Platform$endian != "little") next
    for (flags in known) expect_identical(read(9L + flags), list(value = c(rep("a", count - 1L), "b")), info = flags)
    # Each other bit; two encodings; another type; the bits that R keeps to itself.
    odd <- c(2^setdiff(8:30, c(13:15, 18)), 0x6000, 0xc000, 0xa000, 0xe000, 0x20000, 0x60000, 0x1000)
    for (flags in odd) expect_error(read(9L + as.integer(flags)), "where a string is expected", class = "remotist_stream", info = flags)
    for (flags in c(0L, 1L, 10L, 16L, 25L, 137L, 254L, 255L, -9L)) expect_error(read(flags), class = "remotist_stream", info = flags)
  }
  # A symbol's name likewise.
  expect_identical(names(attributes(read_item_of(int(14L + 512L, 0), int(1026, 1), chars(charToRaw("x"), 0L), int(13, 0), nil)$value)), "x")
  expect_error(read_item_of(int(14L + 512L, 0), int(1026, 1), chars(charToRaw("x"), 0x1000L), int(13, 0), nil), class = "remotist_stream")
})

test_that("strings read in runs equal strings read one by one, at any offset", {
  seed <- as.integer(Sys.getenv("REMOTIST_TEST_SEED", as.character(Sys.getpid())))
  set.seed(seed)
  for (round in 1:20) {
    pool <- c(NA, "", "a", "\u00e9", "\t", strrep("x", 9), strrep("\u4e2d", 300), strrep("y", 70000), "\t\t\t\t\t")
    # Lengths whose words look like a string's head.
    pool <- c(pool, strrep("z", 9), strrep("w", 2304))
    texts <- sample(pool, sample(c(10L, 100L, 3000L), 1L), TRUE, c(rep(1, 7), 0.01, rep(1, 3)))
    for (xdr in orders) expect_identical(read_value(serialize(texts, NULL, xdr = xdr)), list(value = texts), info = paste("seed", seed))
  }
})

test_that("strings whose length looks like a string's header are read in runs, too", {
  # Nine bytes each. One by one they took sixty times as long.
  n <- 3000L
  texts <- sprintf("id-%06d", seq_len(n))
  for (xdr in orders) {
    bytes <- serialize(texts, NULL, version = 2, xdr = xdr)
    s <- new_stream(bytes)
    s$endian <- if (xdr) "big" else "little"
    s$at <- 23
    expect_length(string_run(s, n)$flags, n)
    expect_identical(read_value(bytes), list(value = texts))
  }
})

test_that("a long string takes memory in proportion", {
  n <- 5e7
  bytes <- c(header(), int(16, 1), int(0x40009L, n), rep(as.raw(65), n))
  before <- gc(reset = TRUE)
  expect_identical(nchar(read_value(bytes)$value), as.integer(n))
  expect_lt(gc()[2L, 6L] - before[2L, 2L], 9 * n / 2^20)
})

test_that("deferred strings are accepted only with a valid scipen", {
  text <- function(penalty) read_item_of(compact("deferred_string", 16, c(int(2), int(14, 1), dbl(100000), int(13, 1, penalty))))
  expect_identical(text(0), list(value = "1e+05"))
  expect_identical(text(9999), list(value = "100000"))
  before <- getOption("scipen")
  for (penalty in c(-10, 10000, NA)) expect_no_warning(expect_identical(text(penalty)$omitted, "an object of an unknown kind"))
  expect_no_warning(text(-9))
  expect_identical(getOption("scipen"), before)
})

test_that("logical values are TRUE, FALSE or NA", {
  expect_identical(read_item_of(int(10, 3), int(0, 1, NA)), list(value = c(FALSE, TRUE, NA)))
  expect_identical(read_item_of(int(10, 1), int(77)), inconsistent)
})

test_that("lists that each claim the rest of the stream take no memory", {
  claims <- int(rep(c(19, 100000), 300), rep(254, 100000))
  before <- gc(reset = TRUE)
  expect_error(read_item_of(claims), class = "remotist_stream")
  expect_lt(gc()[2L, 6L] - before[2L, 6L], 50)
})

test_that("the cost of a reference does not depend on their number", {
  # Of a hundred thousand names, each of which is used again: minutes when it was quadratic.
  n <- 100000L
  cells <- function(i, tag) c(int(1026L), tag, nil)
  first <- lapply(seq_len(n), function(i) cells(i, c(int(1), chars(charToRaw(sprintf("k%06d", i))))))
  again <- lapply(seq_len(n), function(i) cells(i, int(i * 256L + 255L)))
  setTimeLimit(cpu = 100, transient = TRUE)
  on.exit(setTimeLimit())
  read <- read_item_of(unlist(first), unlist(again), nil)
  expect_identical(names(read$value), rep(sprintf("k%06d", seq_len(n)), 2L))
})

test_that("a length beyond the stream allocates no memory", {
  bytes <- result_of(x = list(1, 2))
  at <- grepRaw(as.raw(c(0, 0, 0, 19, 0, 0, 0, 2)), bytes, fixed = TRUE)
  bytes[at + 4:7] <- as.raw(c(0x7f, 0xff, 0xff, 0xff))
  expect_error(read_result(bytes), class = "remotist_stream")
})

test_that("a stream that is nested too deeply is refused", {
  deep <- list()
  for (i in 1:1000) deep <- list(deep)
  expect_error(read_result(result_of(x = deep)), class = "remotist_stream")
  # In attributes, in attributes of their cells, and in what is left out.
  in_value <- c(int(14, 1), dbl(1))
  for (i in 1:1000) in_value <- with_attributes(14, c(int(1), dbl(1)), x = in_value)
  expect_error(read_item_of(in_value), class = "remotist_stream")
  cells <- int(14L + 512L, 0, rep(1026L + 512L, 100000))
  expect_error(read_item_of(cells), class = "remotist_stream")
  expect_error(read_item_of(int(rep(c(4, 0), 5000))), class = "remotist_stream")
  expect_error(read_item_of(rep(c(int(21, 1)), 5000)), class = "remotist_stream")
  wrapped <- int(14, 0)
  for (i in 1:1000) wrapped <- compact("wrap_real", 14, c(int(2), wrapped, int(13, 2, 0, 0)))
  expect_error(read_item_of(wrapped), class = "remotist_stream")
})

test_that("a stream nested to the limit is read", {
  deep <- NULL
  for (i in seq_len(depth_max - 1L)) deep <- list(deep)
  expect_identical(read_value(serialize(deep, NULL)), list(value = deep))
  expect_error(read_value(serialize(list(deep), NULL)), class = "remotist_stream")
})

test_that("a stream that is not a list of variables is refused", {
  for (bad in list(raw(), charToRaw("hello"), serialize(1, NULL), serialize(list(1), NULL), serialize(list(a = 1, a = 2), NULL), serialize(list(a = 1), NULL, ascii = TRUE), c(result_of(a = 1), as.raw(0)), utils::head(result_of(a = 1:3), -1L))) {
    expect_error(read_result(bad), class = "remotist_stream")
  }
  expect_length(read_result(serialize(list(), NULL))$values, 0L)
})

test_that("the corpus of the random changes is read as R reads it", {
  for (one in mutation_corpus()) {
    read <- read_value(one$bytes)
    if (is.null(read$omitted)) expect_identical(read, list(value = unserialize(one$bytes)))
  }
})

test_that("any random change is detected or harmless", {
  seed <- as.integer(Sys.getenv("REMOTIST_TEST_SEED", as.character(Sys.getpid())))
  set.seed(seed)
  corpus <- mutation_corpus()
  to <- file(tempfile(), "wb")
  on.exit(close(to))
  for (round in 1:3000) {
    fault <- suppressWarnings(mutation_fault(mutated(corpus), round %% 4L == 0L, to))
    if (!is.null(fault)) break
  }
  expect_null(fault, info = paste("seed", seed, "round", round))
})
