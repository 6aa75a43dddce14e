# Formats values for messages and printed objects.

# A text in UTF-8; bytes that are not are escaped. JSON can contain them, too: as one half of a surrogate pair.
utf8_text <- function(text) {
  text <- as.character(text)
  # enc2utf8() fails for strings marked as bytes.
  is_bytes <- Encoding(text) == "bytes"
  Encoding(text[is_bytes]) <- "UTF-8"
  iconv(enc2utf8(text), "UTF-8", "UTF-8", sub = "byte")
}

# Escapes control characters, which could act on the terminal, in a text from an unknown machine.
clean_text <- function(text) {
  text <- utf8_text(text)
  odd <- grepl("[[:cntrl:]\u0080-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", text, perl = FALSE)
  text[which(odd)] <- vapply(text[which(odd)], function(one) {
    points <- utf8ToInt(one)
    bad <- points < 32L & points != 9L | points >= 127L & points < 160L | points %in% c(1564L, 8206L, 8207L, 8232:8238, 8294:8297)
    parts <- intToUtf8(points, multiple = TRUE)
    parts[bad] <- sprintf("<U+%04X>", points[bad])
    paste(parts, collapse = "")
  }, "", USE.NAMES = FALSE)
  text
}

# Truncates a text, so that a long name does not fill the screen.
short_text <- function(text, chars_max = 200L) {
  text <- clean_text(text)
  is_long <- !is.na(text) & nchar(text) > chars_max
  text[is_long] <- paste0(substr(text[is_long], 1L, chars_max), "...")
  text
}

# The same for a text of several lines.
clean_lines <- function(text) {
  if (is.na(text)) NA_character_ else paste(clean_text(strsplit(utf8_text(text), "\n", fixed = TRUE)[[1L]]), collapse = "\n")
}

# Begins with a capital letter and ends with a full stop.
sentence <- function(text) {
  text <- clean_text(text)
  paste0(toupper(substr(text, 1L, 1L)), sub("\\.$", "", substring(text, 2L)), ".")
}

bytes_text <- function(bytes) {
  if (bytes < 1000) return(paste(bytes, if (bytes == 1) "byte" else "bytes"))
  units <- c("kB", "MB", "GB", "TB")
  power <- min(floor(log10(bytes) / 3), length(units))
  paste(format(signif(bytes / 1000^power, 3), scientific = FALSE), units[[power]])
}

credits_text <- function(credits) {
  paste(
    format(round(credits, 6), scientific = FALSE, big.mark = ",", drop0trailing = TRUE, trim = TRUE, digits = 15),
    if (isTRUE(credits == 1)) "credit" else "credits"
  )
}

# A time such as 2026-02-01T00:00:00.000Z; NA for NULL or another text.
time_of <- function(text) {
  if (!is_string(text)) return(as.POSIXct(NA, tz = "UTC"))
  as.POSIXct(sub("Z$", "", text), tz = "UTC", format = "%Y-%m-%dT%H:%M:%OS", optional = TRUE)
}

time_text <- function(time) {
  if (is.na(time)) "" else format(time, "%Y-%m-%d %H:%M:%S", tz = "", usetz = FALSE)
}

# A length of time in at most two units.
duration_text <- function(seconds) {
  if (seconds < 0.9995) return(paste(format(signif(1000 * seconds, 3), scientific = FALSE), "ms"))
  if (seconds < 9.95) return(paste(format(round(seconds, 1), nsmall = 1L), "s"))
  seconds <- round(seconds)
  if (seconds < 60) return(paste(seconds, "s"))
  sizes <- c(d = 86400, h = 3600, min = 60, s = 1)
  unit <- which(seconds >= sizes)[[1L]]
  rest <- floor(seconds %% sizes[[unit]] / sizes[[unit + 1L]])
  paste0(count_text(floor(seconds / sizes[[unit]])), " ", names(sizes)[[unit]], if (rest > 0) paste0(" ", rest, " ", names(sizes)[[unit + 1L]]))
}

# Prints columns of text under their names, without those that are empty.
print_columns <- function(columns) {
  columns <- columns[vapply(columns, function(column) any(nzchar(column)), NA)]
  cells <- lapply(names(columns), function(name) {
    cell <- c(name, gsub("\t", " ", columns[[name]], fixed = TRUE))
    paste0(cell, strrep(" ", max(nchar(cell, "width")) - nchar(cell, "width")))
  })
  cat(paste0("    ", sub(" +$", "", do.call(paste, c(cells, sep = "  "))), "\n"), sep = "")
}

# Prints names and values in two columns, without those that are empty.
print_table <- function(title, rows) {
  rows <- rows[!vapply(rows, function(value) is.null(value) || is.na(value) || !nzchar(value), NA)]
  width <- max(nchar(names(rows)))
  cat(cli::format_inline("{.strong {title}}"), "\n", sep = "")
  for (name in names(rows)) cat("  ", formatC(name, width = -width), "  ", rows[[name]], "\n", sep = "")
}
