# Streams put together by hand, numbers big end first: what no R would write.
int <- function(...) writeBin(as.integer(c(...)), raw(), endian = "big")
dbl <- function(...) writeBin(as.double(c(...)), raw(), endian = "big")
header <- function(encoding = "UTF-8") c(charToRaw("X\n"), int(3, 263424, 197888, nchar(encoding)), charToRaw(encoding))
chars <- function(text, flags = 0x40000L) c(int(9L + flags, length(text)), text)
symbol <- function(name) c(int(1), chars(charToRaw(name)))
strings <- function(...) c(int(16, ...length()), unlist(lapply(list(...), function(one) chars(charToRaw(one)))))
nil <- int(254)
# Text that is marked as bytes, and one such string.
byte_strings <- function(...) c(int(16, ...length()), unlist(lapply(list(...), function(one) chars(as.raw(one), 0x2000L))))
only_bytes <- function(bytes) {
  text <- rawToChar(as.raw(bytes))
  Encoding(text) <- "bytes"
  text
}
# The flags of a vector: object, has attributes; and its attributes.
with_attributes <- function(type, body, ..., bits = 0L) c(int(type + 0x300L + bits), body, attribute_cells(...))
attribute_cells <- function(..., cell = 1026L) {
  cells <- list(...)
  c(unlist(lapply(names(cells), function(name) c(int(cell), symbol(name), cells[[name]]))), nil)
}
compact <- function(class, type, state, attributes = nil, flags = 238L) {
  c(int(flags), int(2), symbol(class), int(2), symbol("base"), int(2), int(13, 1, type), nil, state, attributes)
}
sequence_state <- function(n, first = 1, step = 1) c(int(14, 3), dbl(n, first, step))
read_item_of <- function(...) read_value(c(header(), ...))
inconsistent <- list(omitted = "an inconsistent object")
