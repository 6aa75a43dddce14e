# What of a folder is not sent.

# Repositories, editors' files, and what may hold secrets or a whole workspace; at any level, in any case.
never_sent <- c(".git", ".rproj.user", ".rdata", ".renviron", ".rhistory", ".remotistignore")

# The rules of .remotistignore, one a line, as .gitignore has them: `*` and `?` within a name, `**` across folders, a
# slash at the end for folders only, a slash elsewhere for a path from the top, `!` to take something back in.
read_ignore <- function(folder) {
  file <- file.path(folder, ".remotistignore")
  if (!file.exists(file)) return(list())
  lines <- trimws(readLines(file, warn = FALSE, encoding = "UTF-8"), "right")
  lines <- lines[nzchar(lines) & !startsWith(lines, "#")]
  lapply(lines, ignore_rule)
}

ignore_rule <- function(line) {
  back_in <- startsWith(line, "!")
  if (back_in) line <- substring(line, 2L)
  folders_only <- endsWith(line, "/")
  if (folders_only) line <- sub("/+$", "", line)
  from_top <- grepl("/", line, fixed = TRUE)
  line <- sub("^/+", "", line)
  list(pattern = glob_pattern(line, from_top), back_in = back_in, folders_only = folders_only)
}

glob_pattern <- function(glob, from_top) {
  signs <- strsplit(glob, "")[[1L]]
  out <- character()
  i <- 1L
  while (i <= length(signs)) {
    sign <- signs[[i]]
    if (sign == "*" && i < length(signs) && signs[[i + 1L]] == "*") {
      i <- i + 1L
      if (i < length(signs) && signs[[i + 1L]] == "/") {
        i <- i + 1L
        out <- c(out, "(.*/)?")
      } else {
        out <- c(out, ".*")
      }
    } else if (sign == "*") {
      out <- c(out, "[^/]*")
    } else if (sign == "?") {
      out <- c(out, "[^/]")
    } else if (grepl("[[:alnum:]_/ -]", sign)) {
      out <- c(out, sign)
    } else {
      out <- c(out, "\\", sign)
    }
    i <- i + 1L
  }
  paste0(if (from_top) "^" else "(^|/)", paste(out, collapse = ""), "$")
}

# The last rule that speaks of a path counts.
is_ignored <- function(path, is_folder, rules) {
  if (tolower(basename(path)) %in% never_sent) return(TRUE)
  for (rule in rev(rules)) {
    if (rule$folders_only && !is_folder) next
    if (grepl(rule$pattern, path)) return(!rule$back_in)
  }
  FALSE
}
