# Learns a Markov chain of letters and of words from a text and babbles in its manner.
set.seed(1913)
text <- "the owner of the machine was out and the machine was idle and the job that had waited came to the machine and the job
began to count the stars and the stars were many and the owner came back and the machine was his and the job went out of the
machine with all that it had counted and it waited and another machine was idle and the job came to that machine and it went on
to count the stars where it had stopped and no star was counted twice and no star was lost and the owner of the job was glad"
text <- gsub("\\s+", " ", text)

learn <- function(tokens, order) {
  model <- new.env()
  for (i in seq_len(length(tokens) - order)) {
    key <- paste(tokens[i:(i + order - 1)], collapse = "|")
    following <- tokens[i + order]
    seen <- model[[key]]
    if (is.null(seen)) seen <- integer(0)
    seen[following] <- if (is.na(seen[following])) 1L else seen[following] + 1L
    model[[key]] <- seen
  }
  model
}

babble <- function(model, start, length_wanted) {
  out <- start
  order <- length(start)
  while (length(out) < length_wanted) {
    key <- paste(tail(out, order), collapse = "|")
    options <- model[[key]]
    if (is.null(options)) {
      out <- c(out, start)
      next
    }
    out <- c(out, names(options)[sample.int(length(options), 1, prob = options)])
  }
  out[1:length_wanted]
}

characters <- strsplit(text, "")[[1]]
words <- strsplit(text, " ")[[1]]
models <- list()
for (order in 1:4) models[[order]] <- learn(characters, order)
samples <- sapply(seq_along(models), function(order) {
  paste(babble(models[[order]], characters[1:order], 2500), collapse = "")
})
word_model <- learn(words, 2)
sentences <- replicate(200, paste(babble(word_model, words[1:2], 25), collapse = " "))

entropy <- function(model) {
  total <- 0
  weight <- 0
  for (key in sort(ls(model))) {
    counts <- model[[key]]
    p <- counts / sum(counts)
    total <- total + sum(counts) * -sum(p * log2(p))
    weight <- weight + sum(counts)
  }
  total / weight
}
entropies <- vapply(models, entropy, 0)
real_words <- mean(strsplit(samples[4], " ")[[1]] %in% words)
babbled <- sort(table(unlist(strsplit(sentences, " "))), decreasing = TRUE)[1:8]
writeLines(strwrap(sentences, 60), "babble.txt")
