# Plots as text for terminals, with block characters in steps of one eighth where the terminal has them.

block_eighths <- function() {
  if (cli::is_utf8_output()) c("\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588") else c("_", "_", ".", "-", "-", "=", "=", "#")
}

# Heights from 1 to `height_max`; NA for values that are not finite. Equal values get half of it.
heights_of <- function(y, height_max) {
  y[!is.finite(y)] <- NA
  if (all(is.na(y))) return(rep(NA_real_, length(y)))
  # Scaled first, because the difference of two large numbers may be infinite.
  scale <- max(abs(y), na.rm = TRUE)
  if (scale > 0) y <- y / scale
  low <- min(y, na.rm = TRUE)
  high <- max(y, na.rm = TRUE)
  if (low == high) return(ifelse(is.na(y), NA, ceiling(height_max / 2)))
  pmax(1, ceiling((y - low) / (high - low) * height_max))
}

# A plot in one line.
sparkline <- function(y) {
  marks <- block_eighths()
  heights <- heights_of(y, 8)
  paste(ifelse(is.na(heights), " ", marks[heights]), collapse = "")
}

# `y` as a filled area of `rows` lines, labelled with its largest and smallest value.
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

# The value of a variable at `n` equidistant times from the first to the last.
resample_over_time <- function(y, times, n) {
  times <- cummax(as.numeric(times))
  at <- seq(times[[1L]], times[[length(times)]], length.out = n)
  # The last value is added by itself, because rounding may put the last time before it.
  c(y[findInterval(at[-n], times)], y[[length(y)]])
}

# At most `n` elements of `y`, at even distances.
sample_evenly <- function(y, n) if (length(y) <= n) y else y[round(seq(1, length(y), length.out = n))]
