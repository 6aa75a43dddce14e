# Drawings for terminals: lines of text, in blocks of eighths where the terminal has them.

block_eighths <- function() {
  if (cli::is_utf8_output()) c("\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588") else c("_", "_", ".", "-", "-", "=", "=", "#")
}

# Heights from 1 to `most`; NA where there is nothing to draw. All the same: half.
heights_of <- function(y, most) {
  y[!is.finite(y)] <- NA
  if (all(is.na(y))) return(rep(NA_real_, length(y)))
  # Divided first: the difference of two large numbers may be infinite.
  scale <- max(abs(y), na.rm = TRUE)
  if (scale > 0) y <- y / scale
  low <- min(y, na.rm = TRUE)
  high <- max(y, na.rm = TRUE)
  if (low == high) return(ifelse(is.na(y), NA, ceiling(most / 2)))
  pmax(1, ceiling((y - low) / (high - low) * most))
}

# One line.
sparkline <- function(y) {
  marks <- block_eighths()
  heights <- heights_of(y, 8)
  paste(ifelse(is.na(heights), " ", marks[heights]), collapse = "")
}

# `y` as a filled area of so many rows, with the highest and lowest value beside it.
area_lines <- function(y, rows) {
  marks <- block_eighths()
  heights <- heights_of(y, 8 * rows)
  lines <- vapply(rows:1, function(row) {
    fill <- pmin(8, pmax(0, heights - 8 * (row - 1)))
    paste(ifelse(is.na(fill) | fill == 0, " ", marks[pmax(1, fill)]), collapse = "")
  }, "")
  finite <- y[is.finite(y)]
  ends <- if (length(finite)) number_text(range(finite)) else c("", "")
  labels <- c(ends[[2L]], rep("", rows - 2L), ends[[1L]])
  paste0(formatC(labels, width = max(nchar(labels))), " ", if (cli::is_utf8_output()) "\u2502" else "|", lines)
}

number_text <- function(x) trimws(vapply(x, function(one) format(one, digits = 6L), ""))

# The value that a variable had at each of `n` times from the first to the last.
over_time <- function(y, times, n) {
  times <- cummax(as.numeric(times))
  at <- seq(times[[1L]], times[[length(times)]], length.out = n)
  # The last one by itself: its time may be missed by a hair.
  c(y[findInterval(at[-n], times)], y[[length(y)]])
}

# `n` of its elements, evenly; fewer when it has fewer.
evenly <- function(y, n) if (length(y) <= n) y else y[round(seq(1, length(y), length.out = n))]
