# Files of a folder that are not uploaded.

# Repositories, editor state, and files that may hold secrets or a workspace; at any depth, without regard to case.
never_uploaded <- c(".git", ".rproj.user", ".rdata", ".renviron", ".rhistory", ".remotistignore")

# The rules of .remotistignore, one per line, with the syntax of .gitignore: `*` and `?` within a name, `**` across folders, a
# slash at the end for folders only, a slash elsewhere for a path relative to the folder, `!` to include a path again.
read_ignore <- function(folder) {
  file <- file.path(folder, ".remotistignore")
  if (!file.exists(file)) return(list())
  lines <- trimws(readLines(file, warn = FALSE, encoding = "UTF-8"), "right")
  lines <- lines[nzchar(lines) & !startsWith(lines, "#")]
  lapply(lines, ignore_rule)
}

ignore_rule <- function(line) {
  negated <- startsWith(line, "!")
  if (negated) line <- substring(line, 2L)
  folders_only <- endsWith(line, "/")
  if (folders_only) line <- sub("/+$", "", line)
  from_top <- grepl("/", line, fixed = TRUE)
  line <- sub("^/+", "", line)
  list(pattern = glob_pattern(line, from_top), negated = negated, folders_only = folders_only)
}

glob_pattern <- function(glob, from_top) {
  characters <- strsplit(glob, "")[[1L]]
  out <- character()
  i <- 1L
  while (i <= length(characters)) {
    character <- characters[[i]]
    if (character == "*" && i < length(characters) && characters[[i + 1L]] == "*") {
      i <- i + 1L
      if (i < length(characters) && characters[[i + 1L]] == "/") {
        i <- i + 1L
        out <- c(out, "(.*/)?")
      } else {
        out <- c(out, ".*")
      }
    } else if (character == "*") {
      out <- c(out, "[^/]*")
    } else if (character == "?") {
      out <- c(out, "[^/]")
    } else if (grepl("[[:alnum:]_/ -]", character)) {
      out <- c(out, character)
    } else {
      out <- c(out, "\\", character)
    }
    i <- i + 1L
  }
  paste0(if (from_top) "^" else "(^|/)", paste(out, collapse = ""), "$")
}

# The last rule that matches a path decides.
is_ignored <- function(path, is_folder, rules) {
  if (tolower(basename(path)) %in% never_uploaded) return(TRUE)
  for (rule in rev(rules)) {
    if (rule$folders_only && !is_folder) next
    if (grepl(rule$pattern, path)) return(!rule$negated)
  }
  FALSE
}
