# Makes a text, counts its words, finds its anagrams and palindromes, and breaks its Caesar cipher.
set.seed(1605)
syllables <- c("qui", "xo", "te", "ro", "ci", "nan", "san", "cho", "dul", "ne", "a", "man", "cha", "la", "mo", "li", "no")
make_word <- function() paste(sample(syllables, sample(1:3, 1), replace = TRUE), collapse = "")
vocabulary <- unique(replicate(1200, make_word()))
lines <- vapply(1:1800, function(i) {
  words <- sample(vocabulary, sample(6:12, 1), replace = TRUE, prob = 1 / seq_along(vocabulary))
  line <- paste(words, collapse = sample(c(" ", ", "), 1, prob = c(0.9, 0.1)))
  substr(line, 1, 1) <- toupper(substr(line, 1, 1))
  paste0(line, sample(c(".", "!", "?"), 1))
}, "")

counts <- list()
for (line in lines) {
  for (word in strsplit(tolower(gsub("[[:punct:]]", "", line)), "\\s+")[[1]]) {
    counts[[word]] <- if (is.null(counts[[word]])) 1L else counts[[word]] + 1L
  }
}
counts <- sort(unlist(counts), decreasing = TRUE)
top <- head(counts, 10)

key_of <- function(word) paste(sort(strsplit(word, NULL)[[1]]), collapse = "")
anagrams <- Filter(function(group) length(group) > 1, split(names(counts), sapply(names(counts), key_of)))
palindromes <- Filter(function(w) w == paste(rev(strsplit(w, "")[[1]]), collapse = ""), names(counts))

caesar <- function(text, by) {
  alphabet <- paste(letters, collapse = "")
  turned <- paste(letters[(seq_along(letters) + by - 1) %% 26 + 1], collapse = "")
  chartr(paste0(alphabet, toupper(alphabet)), paste0(turned, toupper(turned)), text)
}
secret <- caesar(lines, 11)
letter_shares <- function(text) {
  found <- regmatches(text, gregexpr("[a-z]", text))
  prop.table(table(factor(unlist(found), letters)))
}
usual <- letter_shares(lines[1:100])
scores <- numeric(26)
for (by in 0:25) scores[by + 1] <- sum(abs(letter_shares(caesar(secret[101:200], -by)) - usual))
broken <- which.min(scores) - 1
decoded <- caesar(secret, -broken)

camel <- gsub("\\b([a-z])(\\w*)", "\\U\\1\\L\\2", lines[1:5], perl = TRUE)
exclaimed <- grepl("!$", lines)
longest <- regmatches(lines, regexpr("\\w{9,}", lines))
report <- sprintf("%-12s %4d %5.2f%%", names(top), top, 100 * top / sum(counts))
