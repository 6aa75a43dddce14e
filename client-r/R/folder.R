# The folder that goes with a job.

files_most <- 10000L
path_bytes_most <- 255L

# A data frame of path (below the folder, with slashes), size and whether it is code; what was left out is in its
# attribute "left_out".
read_folder <- function(folder, call) {
  rules <- read_ignore(folder)
  top <- normalizePath(folder, "/")
  found <- character()
  left_out <- character()
  waiting <- ""
  while (length(waiting)) {
    below <- waiting[[1L]]
    waiting <- waiting[-1L]
    here <- if (nzchar(below)) file.path(folder, below) else folder
    for (name in list.files(here, all.files = TRUE, no.. = TRUE)) {
      path <- if (nzchar(below)) paste0(below, "/", name) else name
      full <- file.path(folder, path)
      is_folder <- dir.exists(full)
      if (is_ignored(path, is_folder, rules) || leads_away(full, is_folder, top)) {
        left_out <- c(left_out, if (is_folder) paste0(path, "/") else path)
      } else if (is_folder) {
        waiting <- c(waiting, path)
      } else {
        found <- c(found, path)
      }
      if (length(found) > files_most) abort_many_files(folder, call)
    }
  }
  found <- sort(enc2utf8(found), method = "radix")
  check_sent_paths(found, call)
  files <- data.frame(path = found, size = file.size(file.path(folder, found)), is_code = grepl("\\.[rR]$", found))
  attr(files, "left_out") <- sort(setdiff(left_out, ".remotistignore"))
  files
}

# A link to a folder may lead round in a circle, and a link out of the folder to what was not meant to be sent.
leads_away <- function(full, is_folder, top) {
  link <- Sys.readlink(full)
  if (is.na(link) || !nzchar(link)) return(FALSE)
  if (is_folder || !file.exists(full)) return(TRUE)
  !startsWith(normalizePath(full, "/"), paste0(top, "/"))
}

abort_many_files <- function(folder, call) {
  most <- count_text(files_most)
  abort_remotist("too_large", c(
    "{.file {folder}} has more than {most} files, the most that a job may bring.",
    i = "Name another {.arg folder_path}, list what is not needed in {.file .remotistignore}, or pack the files into an archive that the script unpacks."
  ), call = call)
}

check_sent_paths <- function(paths, call) {
  bad <- paths[!is_file_path(paths)]
  if (!length(bad)) return(invisible())
  shown <- clean_text(bad[[1L]])
  abort_remotist("invalid_argument", c(
    "A file has a name that the market does not take: {.file {shown}}.",
    x = "A path may have 255 bytes of UTF-8, without backslashes and control characters.",
    i = "Rename it, or list it in {.file .remotistignore}."
  ), argument = "folder_path", call = call)
}

check_folder <- function(folder, call) {
  if (!is_string(folder) || !dir.exists(folder)) {
    abort_argument("folder_path", "must be a folder that exists", folder, call = call)
  }
  real <- real_path(folder)
  if (real == "" || real %in% home_folders()) {
    abort_argument("folder_path", "must be a folder with the job's files only", folder,
      "This is your home folder or the root of the disc, and everything in it would be sent: put the job's files into a folder of their own.",
      call = call
    )
  }
  folder
}

show_folder <- function(folder, files, name) {
  count <- nrow(files)
  total <- bytes_text(sum(files$size))
  biggest <- files[order(-files$size, files$path), ][seq_len(min(5L, count)), ]
  lines <- sprintf("%s (%s)", clean_text(biggest$path), vapply(biggest$size, bytes_text, ""))
  more <- count - nrow(biggest)
  left_out <- clean_text(attr(files, "left_out"))
  cli::cli_inform(c(
    "Job {.val {name}}: sending {count} file{?s}, {total}, from {.file {folder}}",
    bullets(lines, "*"),
    if (more > 0) c(" " = "and {more} smaller one{?s}"),
    if (length(left_out)) c(i = "left out: {.file {left_out}}")
  ))
}

# Lines for cli whose text is shown as it is.
bullets <- function(lines, sign) {
  lines <- gsub("}", "}}", gsub("{", "{{", lines, fixed = TRUE), fixed = TRUE)
  names(lines) <- rep(sign, length(lines))
  lines
}
