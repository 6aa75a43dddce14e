# Streams, paths and error documents that are changed at random, and what must hold of each of them. tests/fuzz/streams.R throws a
# million at their readers.

mutation_values <- function() {
  # Small ones, without what happens to be around.
  closure <- as.function(alist(x = , x + 1), envir = globalenv())
  formula <- y ~ x
  attr(formula, ".Environment") <- globalenv()
  list(
    ints = 3:1, sequence = 1:100, reals = c(1.5, NA, Inf), wide = as.numeric(1:50), text = c("a", NA, "\u00e9", ""), flags = c(TRUE, NA), cx = 1i,
    bytes = as.raw(1:3), none = NULL, sorted = sort(c(3, 1, 2)), numbers = as.character(1:20), nested = list(a = list(b = list(1, "x")), 2L),
    frame = data.frame(x = c(1.5, 2), g = factor(c("u", "v")), t = c("p", "q")), rows = data.frame(a = 1:2, row.names = c("r", "s")),
    matrix = matrix(1:6, 2, dimnames = list(NULL, letters[1:3])), cube = array(1:8, c(2, 2, 2)), listed = structure(list(1, "a", NULL, 2), dim = c(2L, 2L)),
    when = as.POSIXct("2026-02-01", tz = "UTC"), day = as.Date("2026-02-01") + 0:1, took = as.difftime(2, units = "mins"),
    parts = as.POSIXlt("2026-02-01", tz = "UTC"), series = stats::ts(1:6, start = 2000, frequency = 12), counts = table(c("a", "b", "a")),
    pairs = pairlist(a = 1, 2), levels = factor(c("u", "v", NA), levels = c("u", "v")), noted = structure(1:2, comment = "c", other = list(1, names = "n")),
    many = paste0("s", 1:40), call = quote(f(x, y = 2)), closure = closure, env = list2env(list(a = 1), parent = emptyenv()), formula = formula,
    # As data.table has it, with another pointer.
    table = structure(list(a = 1:2, b = c("p", "q")), row.names = c(NA, -2L), class = c("data.table", "data.frame"), sorted = "a", .internal.selfref = globalenv()),
    nines = rep("nine-long", 20), chosen = structure(factor(c("u", "v")), contrasts = "contr.sum"), named_levels = structure(1:2, levels = c(a = "x", b = "y"), class = "factor"),
    empty = matrix(integer(), 0L, 3L), lisbon = as.POSIXct(0, tz = "Europe/Lisbon"),
    names = c(a = 1, b = 2), deep = list(list(list(list(list(1L))))), omitted = stats::na.omit(c(1, NA))
  )
}

# A stream each with its places that look like words of flags or lengths.
mutation_corpus <- function() {
  values <- mutation_values()
  streams <- list()
  for (value in values) {
    for (version in 2:3) for (xdr in if (.Platform$endian == "little") c(TRUE, FALSE) else TRUE) {
      streams[[length(streams) + 1L]] <- serialize(value, NULL, version = version, xdr = xdr)
    }
  }
  streams[[length(streams) + 1L]] <- serialize(values[c("ints", "text", "frame", "sequence")], NULL)
  lapply(streams, function(bytes) {
    endian <- if (bytes[[1L]] == charToRaw("X")) "big" else "little"
    from <- 15:(length(bytes) - 3L)
    byte <- function(i) as.integer(bytes[from + if (endian == "big") 4L - i else i - 1L])
    likely <- byte(4L) == 0L & byte(3L) <= 4L & (byte(2L) < 8L | byte(2L) %in% c(32L, 64L, 128L))
    list(bytes = bytes, endian = endian, places = from[likely])
  })
}

mutation_types <- c(0:25, 238:255)
mutation_bits <- c(0L, 256L, 512L, 1024L, 768L, 1280L, 4096L, 8192L, 16384L, 32768L, 65536L, 262144L, 66304L, 1792L)
mutation_lengths <- c(0:5, 8L, 100L, 255L, 65536L, .Machine$integer.max, -1L, -2L, NA)

any_of <- function(x) x[[sample.int(length(x), 1L)]]

mutated <- function(corpus) {
  one <- any_of(corpus)
  bytes <- one$bytes
  for (round in seq_len(sample.int(4L, 1L, prob = c(8, 2, 1, 1)))) {
    size <- length(bytes)
    if (size < 20L) break
    at <- any_of(one$places)
    word <- function(n) if (at + 3L <= size) bytes[at + 0:3] <<- writeBin(as.integer(n), raw(), endian = one$endian)
    switch(sample.int(8L, 1L, prob = c(2, 2, 2, 0.3, 1, 1, 3, 2)),
      bytes[[sample.int(size, 1L)]] <- as.raw(sample.int(256L, 1L) - 1L),
      word(any_of(mutation_types) + any_of(mutation_bits)),
      word(any_of(mutation_lengths)),
      bytes <- bytes[seq_len(sample.int(size, 1L))],
      {
        # What follows comes from another stream.
        other <- any_of(corpus)
        bytes <- c(bytes[seq_len(min(at, size))], other$bytes[any_of(other$places):length(other$bytes)])
      },
      {
        # A piece comes twice, or not at all.
        to <- min(at + sample.int(40L, 1L), size)
        piece <- bytes[min(at, size):to]
        bytes <- if (stats::runif(1) < 0.5) append(bytes, piece, min(at, size) - 1L) else bytes[-(min(at, size):to)]
      },
      {
        # One bit.
        i <- sample.int(size, 1L)
        bytes[[i]] <- xor(bytes[[i]], as.raw(2^(sample.int(8L, 1L) - 1L)))
      },
      {
        # A word from elsewhere in the stream.
        from <- any_of(one$places)
        if (max(at, from) + 3L <= size) bytes[at + 0:3] <- bytes[from + 0:3]
      }
    )
  }
  bytes
}

# What went wrong with a stream, or NULL.
mutation_fault <- function(bytes, whole, sink_to) {
  read <- tryCatch(
    if (whole) read_result(bytes) else read_value(bytes),
    remotist_stream = function(e) NULL, error = function(e) paste("unclassed error:", conditionMessage(e)), warning = function(w) paste("warning:", conditionMessage(w))
  )
  if (is.character(read)) return(read)
  values <- if (whole) read$values else read["value"]
  if (is.null(read) || !whole && is.null(read$value)) return(NULL)
  if (length(read$omitted) && !all(nzchar(read$omitted))) return("something is left out without a reason")
  tryCatch(use_values(values, length(bytes), sink_to), error = function(e) paste("unusable:", conditionMessage(e)))
}

use_values <- function(values, size, sink_to) {
  if (!identical(unserialize(serialize(values, NULL)), values)) return("it is not the same after R wrote and read it")
  if (as.numeric(utils::object.size(values)) > 200 * size + 2 * expanded_bytes_max) return("it is too large")
  sink(sink_to)
  on.exit(sink())
  for (value in values) {
    # What a method of a class makes of odd data is its own affair, but R must survive it.
    try(print(value, max = 20L), silent = TRUE)
    try(utils::str(value, list.len = 5L), silent = TRUE)
    print(bare(value), max = 20L)
  }
  NULL
}

# Without classes and text that is marked as bytes, which R refuses to show in places, all through.
bare <- function(x) {
  if (is.character(x)) x[Encoding(x) == "bytes"] <- "bytes"
  if (is.list(x)) x <- rapply_bare(x)
  if (is.object(x)) unclass(x) else x
}

rapply_bare <- function(x) {
  kept <- attributes(x)
  kept$class <- NULL
  x <- lapply(unclass(x), bare)
  attributes(x) <- kept
  x
}

# Paths of files and documents error.json, which a machine sends as text: as raw vectors.
mutation_texts <- function() {
  paths <- c(
    "a.txt", "plots/out 1.png", "a..b", "\u00e9t\u00e9.csv", "console.log", "a%5Cb", "a/b/c/d", ".git/config", "sub/../x", "C:/x", "nul.txt", "SSH~1/x",
    "\u200b.ssh/x", "HEAD", "x.lnk", strrep("a/", 127), strrep("\u00e9", 127)
  )
  documents <- c(
    '{"message": "no 3\\nsecond line", "call": "f(y)", "traceback": ["g(n)", "f(y)"]}', '{"message": "\\u202e\\u001b[31m\\ud83d\\ude00", "traceback": []}',
    '{"message": {"a": 1}, "call": 5, "traceback": ["x", 1, null, ["y"]]}', '{"message": "", "call": null, "traceback": "x", "other": 1e300}', "[1, 2]", "{}", '"text"'
  )
  lapply(c(paths, documents), function(text) charToRaw(enc2utf8(text)))
}

mutation_pieces <- c(
  lapply(c("/", "//", ".", "..", "~", "\\", ":", " ", "~1", "nul.", ".lnk", "\u200b", "\u202e", "\u0085", "\u00b9", "[", "]", "{", "}", '"', ",", ":null", "1e999", "\\u0000", "\\ud800", "\\n"), function(text) charToRaw(enc2utf8(text))),
  lapply(c(0x00, 0x0a, 0x1b, 0x7f, 0x80, 0xc3, 0xff), as.raw)
)

mutated_text <- function(texts) {
  bytes <- any_of(texts)
  for (round in seq_len(sample.int(6L, 1L))) {
    size <- length(bytes)
    if (!size) break
    at <- sample.int(size, 1L)
    bytes <- switch(sample.int(5L, 1L, prob = c(3, 2, 1, 1, 1)),
      append(bytes, any_of(mutation_pieces), at - 1L),
      replace(bytes, at, as.raw(sample.int(256L, 1L) - 1L)),
      bytes[-(at:min(size, at + sample.int(10L, 1L)))],
      c(bytes[seq_len(at)], any_of(texts)),
      rep(bytes, 2L)
    )
  }
  bytes
}

# What went wrong with a text as a path or as an error document, or NULL.
text_fault <- function(bytes) {
  tryCatch(c(path_fault(bytes), document_fault(bytes))[1L], error = function(e) paste("unclassed error:", conditionMessage(e)), warning = function(w) paste("warning:", conditionMessage(w)))
}

path_fault <- function(bytes) {
  path <- rawToChar(bytes[bytes != as.raw(0L)])
  Encoding(path) <- "UTF-8"
  risk <- path_risk(path)
  if (!is.null(risk)) return(if (!is_string(risk) || !nzchar(risk)) "a path is refused without a reason")
  if (!is_file_path(path)) return("a path that may be written is not valid")
  if (any(grepl("^[.]|[. ]$", strsplit(path, "/", fixed = TRUE)[[1L]]))) return("a path that may be written has a component with a dot")
  if (!is_within(real_path(file.path("/nowhere", path)), "/nowhere")) "a path that may be written leaves the folder"
}

document_fault <- function(bytes) {
  file <- list(path = "error.json", size = length(bytes), base64 = jsonlite::base64_enc(bytes))
  document <- error_document("an id", file, environment())
  if (!is.null(document$message) && !is_string(document$message)) return("the message of an error is no text")
  if (!is.null(document$call) && !is_string(document$call)) return("the call of an error is no text")
  if (!is.character(document$traceback)) return("the traceback of an error is no text")
  texts <- c(document$message, document$call, document$traceback)
  if (anyNA(texts) || !all(validUTF8(texts))) return("a text of an error is not UTF-8")
  lines <- unlist(strsplit(as.character(c(document$message, document$call)), "\n", fixed = TRUE))
  if (any(grepl("[\u0001-\u0008\u000a-\u001f\u007f-\u009f\u202a-\u202e]", c(lines, document$traceback), perl = TRUE))) "a text of an error has control characters"
}
