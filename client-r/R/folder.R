# The folder that addJob() uploads.

# A data frame of the files: path (relative to the folder, with slashes), size and whether it is code. The paths that are not
# uploaded are in its attribute "omitted".
read_folder <- function(folder, call) {
  rules <- read_ignore(folder)
  top <- normalizePath(folder, "/")
  found <- character()
  omitted <- character()
  pending <- ""
  while (length(pending)) {
    below <- pending[[1L]]
    pending <- pending[-1L]
    here <- if (nzchar(below)) file.path(folder, below) else folder
    for (name in list.files(here, all.files = TRUE, no.. = TRUE)) {
      path <- if (nzchar(below)) paste0(below, "/", name) else name
      full <- file.path(folder, path)
      is_folder <- dir.exists(full)
      if (is_ignored(path, is_folder, rules) || links_outside(full, is_folder, top)) {
        omitted <- c(omitted, if (is_folder) paste0(path, "/") else path)
      } else if (is_folder) {
        pending <- c(pending, path)
      } else {
        found <- c(found, path)
      }
      if (length(found) > job_files_max) abort_many_files(folder, call)
    }
  }
  found <- sort(enc2utf8(found), method = "radix")
  check_sent_paths(found, call)
  files <- data.frame(path = found, size = file.size(file.path(folder, found)), is_code = grepl("\\.[rR]$", found))
  attr(files, "omitted") <- sort(setdiff(omitted, ".remotistignore"))
  files
}

# A link to a folder may form a cycle, and a link out of the folder may point to files that the user does not mean to upload.
links_outside <- function(full, is_folder, top) {
  link <- Sys.readlink(full)
  if (is.na(link) || !nzchar(link)) return(FALSE)
  if (is_folder || !file.exists(full)) return(TRUE)
  !startsWith(normalizePath(full, "/"), paste0(top, "/"))
}

abort_many_files <- function(folder, call) {
  limit <- count_text(job_files_max)
  abort_remotist("too_large", c(
    "{.file {folder}} has more than {limit} files, the maximum for a job.",
    i = "Give another {.arg folder_path}, exclude files with {.file .remotistignore}, or pack them into an archive that the script unpacks."
  ), call = call)
}

check_sent_paths <- function(paths, call) {
  bad <- paths[!is_file_path(paths)]
  if (!length(bad)) return(invisible())
  shown <- clean_text(bad[[1L]])
  abort_remotist("invalid_argument", c(
    "The market does not accept the path of a file: {.file {shown}}.",
    x = "A path may have at most {path_bytes_max} bytes of UTF-8, and no backslashes or control characters.",
    i = "Rename the file, or exclude it with {.file .remotistignore}."
  ), argument = "folder_path", call = call)
}

check_folder <- function(folder, call) {
  if (!is_string(folder) || !dir.exists(folder)) {
    abort_argument("folder_path", "must be an existing folder", folder, call = call)
  }
  real <- real_path(folder)
  if (real == "" || real %in% home_folders()) {
    abort_argument("folder_path", "must be a folder with the files of the job only", folder,
      "This is your home folder or the root of a disc, and all of it would be uploaded. Put the files of the job into a folder of their own.",
      call = call
    )
  }
  folder
}

inform_upload <- function(folder, files, name) {
  count <- nrow(files)
  total <- bytes_text(sum(files$size))
  biggest <- files[order(-files$size, files$path), ][seq_len(min(5L, count)), ]
  lines <- sprintf("%s (%s)", clean_text(biggest$path), vapply(biggest$size, bytes_text, ""))
  more <- count - nrow(biggest)
  omitted <- clean_text(attr(files, "omitted"))
  cli::cli_inform(c(
    "Job {.val {name}}: uploading {count} file{?s} ({total}) from {.file {folder}}",
    bullets(lines, "*"),
    if (more > 0) c(" " = "and {more} smaller file{?s}"),
    if (length(omitted)) c(i = "Excluded: {.file {omitted}}")
  ))
}

# Lines for cli that are shown without interpolation.
bullets <- function(lines, symbol) {
  lines <- gsub("}", "}}", gsub("{", "{{", lines, fixed = TRUE), fixed = TRUE)
  names(lines) <- rep(symbol, length(lines))
  lines
}
