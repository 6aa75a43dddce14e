# Cleans untidy measurements and collects the warnings on the way: muffled, counted, turned into errors, kept for the end.
set.seed(451)
raw <- sprintf("%.3f", rnorm(1200, 50, 20))
raw[sample(1200, 80)] <- sample(c("n/a", "12,5", "", "--", "1e400", "0x1F"), 80, TRUE)

heard <- character(0)
hear <- function(code) {
  withCallingHandlers(code, warning = function(w) {
    heard <<- c(heard, conditionMessage(w))
    invokeRestart("muffleWarning")
  })
}

to_number <- function(text, position) {
  if (!nzchar(text)) {
    warning("empty at ", position, call. = FALSE)
    return(NA_real_)
  }
  if (grepl(",", text, fixed = TRUE)) {
    warning("comma at ", position)
    text <- sub(",", ".", text, fixed = TRUE)
  }
  as.numeric(text)
}

values <- numeric(length(raw))
for (i in seq_along(raw)) values[i] <- hear(to_number(raw[i], i))
kinds <- table(sub(" at [0-9]+$", "", heard))

roots <- suppressWarnings(sqrt(values - 40))
strict <- function(x) {
  old <- options(warn = 2)
  on.exit(options(old))
  tryCatch(sqrt(x), error = function(e) "an error now")
}
strictness <- lapply(c(4, -4), strict)

counts <- integer(0)
for (size in 2:90) {
  n <- 0L
  result <- withCallingHandlers({
    total <- 0
    for (k in seq_len(size * 10)) {
      total <- total + k
      if (k %% size == 0) warning("checkpoint of ", k)
      if (k %% 100 == 0) message("hundred")
    }
    total
  }, warning = function(w) {
    n <<- n + 1L
    tryInvokeRestart("muffleWarning")
  }, message = function(m) tryInvokeRestart("muffleMessage"))
  counts[as.character(size)] <- n
}

careful_mean <- function(v, trim) {
  if (anyNA(v)) warning("missing values left out")
  v <- v[is.finite(v)]
  mean(v, trim = trim)
}
trimmed <- sapply(seq(0, 0.4, by = 0.1), function(trim) suppressWarnings(careful_mean(values, trim)))
first_warning <- tryCatch(careful_mean(values, 0), warning = function(w) class(w))
converted <- tryCatch(as.integer("3000000000"), warning = conditionMessage)
recycled <- hear(1:6 + 1:4)
pending <- careful_mean(values, 0.05)
median_of_rest <- median(values[is.finite(values)])
draws <- replicate(6000, hear(mean(sample(values[is.finite(values)], 20))))
