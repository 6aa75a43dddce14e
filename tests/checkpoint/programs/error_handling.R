# A pipeline that meets bad records: tryCatch with finally, warnings, calling handlers, restarts, conditions of its own.
set.seed(404)
condition <- function(class, message, ...) {
  structure(class = c(class, "condition"), list(message = message, call = NULL, ...))
}
records <- sprintf("%d;%s;%.2f", 1:900, sample(c("a", "b", "c"), 900, TRUE), rlnorm(900))
broken <- sample(900, 90)
records[broken] <- mapply(function(by, record) sub(";", by, record),
                          sample(c(",", ";;", ";x"), 90, TRUE), records[broken])

parse_record <- function(record) {
  parts <- strsplit(record, ";", fixed = TRUE)[[1]]
  if (length(parts) != 3) {
    withRestarts(stop(condition(c("bad_record", "error"), paste("parts:", length(parts)), record = record)),
                 skip_record = function() NULL,
                 use_value = function(value) value)
  } else {
    value <- as.numeric(parts[3])
    if (!parts[2] %in% c("a", "b", "c")) warning("unknown kind ", parts[2])
    list(id = as.integer(parts[1]), kind = parts[2], value = value)
  }
}

skipped <- 0
replaced <- 0
warned <- character(0)
parsed <- withCallingHandlers(
  lapply(records, parse_record),
  bad_record = function(e) {
    if (grepl(",", e$record)) {
      replaced <<- replaced + 1
      invokeRestart("use_value", list(id = NA, kind = "?", value = 0))
    }
    skipped <<- skipped + 1
    invokeRestart("skip_record")
  },
  warning = function(w) {
    warned <<- c(warned, conditionMessage(w))
    invokeRestart("muffleWarning")
  }
)
parsed <- Filter(Negate(is.null), parsed)
total <- sum(vapply(parsed, `[[`, 0, "value"))

newton <- function(f, df, x, rounds = 50) {
  for (i in seq_len(rounds)) {
    slope <- df(x)
    if (abs(slope) < 1e-9) signalCondition(condition("flat", "no slope", at = x))
    if (!is.finite(x) || abs(x) > 1e6) stop("diverged")
    step <- f(x) / slope
    x <- x - step
    if (abs(step) < 1e-12) return(x)
  }
  warning("no convergence")
  x
}
finished <- 0
outcomes <- character(0)
for (start in seq(-6, 6, by = 0.02)) {
  outcome <- tryCatch({
    root <- newton(function(x) x^3 - 2 * x + 2, function(x) 3 * x^2 - 2, start)
    sprintf("root %.6f", root)
  }, flat = function(c) "flat", warning = function(w) conditionMessage(w), error = function(e) conditionMessage(e),
  finally = finished <- finished + 1)
  outcomes <- c(outcomes, outcome)
}
outcome_counts <- table(outcomes)

attempt <- function(tries) {
  for (k in seq_len(tries)) {
    result <- try(if (runif(1) < 0.75) stop("failed at ", k) else k, silent = TRUE)
    if (!inherits(result, "try-error")) return(result)
  }
  NA_integer_
}
attempts <- sapply(rep(8, 1500), attempt)
nested <- tryCatch({
  tryCatch(stop("inner"), error = function(e) stop(paste("outer of", conditionMessage(e))))
}, error = conditionMessage)
