# Bits: CRC-32, a linear feedback register, Gray codes, a Bloom filter, Huffman coding.
set.seed(32)
# An unsigned number of 32 bits as two halves, since R's integers have a sign.
crc_table <- lapply(0:255, function(n) {
  high <- 0L
  low <- n
  for (k in 1:8) {
    odd <- bitwAnd(low, 1L)
    low <- bitwOr(bitwShiftR(low, 1L), bitwShiftL(bitwAnd(high, 1L), 15L))
    high <- bitwShiftR(high, 1L)
    if (odd == 1L) {
      high <- bitwXor(high, 0xEDB8L)
      low <- bitwXor(low, 0x8320L)
    }
  }
  c(high, low)
})
crc32 <- function(bytes) {
  high <- 0xFFFFL
  low <- 0xFFFFL
  for (byte in as.integer(bytes)) {
    entry <- crc_table[[bitwAnd(bitwXor(low, byte), 255L) + 1L]]
    low <- bitwXor(bitwOr(bitwShiftR(low, 8L), bitwShiftL(bitwAnd(high, 255L), 8L)), entry[2])
    high <- bitwXor(bitwShiftR(high, 8L), entry[1])
  }
  sprintf("%04x%04x", bitwXor(high, 0xFFFFL), bitwXor(low, 0xFFFFL))
}
known <- crc32(charToRaw("123456789"))
sums <- vapply(1:40, function(i) crc32(as.raw(sample(0:255, 300, TRUE))), "")

register <- 0xACE1L
period <- 0L
repeat {
  taps <- vapply(c(0L, 2L, 3L, 5L), function(by) bitwShiftR(register, by), 0)
  bit <- bitwAnd(Reduce(bitwXor, as.integer(taps)), 1L)
  register <- bitwOr(bitwShiftR(register, 1L), bitwShiftL(bit, 15L))
  period <- period + 1L
  if (register == 0xACE1L || period == 14000L) break
}

gray <- vapply(0:255, function(i) bitwXor(i, bitwShiftR(i, 1L)), 0L)
one_apart <- all(vapply(1:255, function(i) sum(as.integer(intToBits(bitwXor(gray[i], gray[i + 1])))), 0L) == 1L)

filter_bits <- raw(512)
slots <- function(word) {
  h <- c(17, 31, 127)
  for (code in utf8ToInt(word)) h <- (h * c(33, 65, 129) + code) %% 4096
  h
}
for (word in sprintf("word%d", 1:250)) for (slot in slots(word)) {
  at <- slot %/% 8 + 1
  filter_bits[at] <- filter_bits[at] | as.raw(bitwShiftL(1L, slot %% 8))
}
is_set <- function(slot) (filter_bits[slot %/% 8 + 1] & as.raw(bitwShiftL(1L, slot %% 8))) != 0
contains <- function(word) all(vapply(slots(word), is_set, NA))
false_alarms <- mean(sapply(sprintf("other%d", 1:600), contains))

huffman <- function(text) {
  trees <- lapply(split(strsplit(text, "")[[1]], strsplit(text, "")[[1]]), function(v) list(n = length(v), symbol = v[1]))
  while (length(trees) > 1) {
    trees <- trees[order(sapply(trees, `[[`, "n"), method = "radix")]
    trees <- c(list(list(n = trees[[1]]$n + trees[[2]]$n, zero = trees[[1]], one = trees[[2]])), trees[-(1:2)])
  }
  codes <- c()
  descend <- function(tree, prefix) {
    if (!is.null(tree$symbol)) return(codes[tree$symbol] <<- prefix)
    descend(tree$zero, paste0(prefix, 0))
    descend(tree$one, paste0(prefix, 1))
  }
  descend(trees[[1]], "")
  codes
}
codes <- huffman(paste(rep(c("a cycle that nobody uses", "is lent to somebody who needs it"), 3), collapse = " "))
bits <- vapply(codes, nchar, 0L)
