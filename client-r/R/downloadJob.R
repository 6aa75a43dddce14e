#' Download the files of a job
#'
#' Writes the files that the script created or changed to a folder. They come from a machine
#' that you do not know, so their paths are checked. A file is omitted, with a message, when
#'
#' * its path leaves the folder, passes a symbolic link, or is inside an R library;
#' * a component of its path begins with a dot (`.Rprofile`, `.ssh/authorized_keys`, `.git/config`);
#' * git, a desktop or Windows interprets its name (`HEAD`, `desktop.ini`, `CON`);
#' * its path differs from that of another file only in case;
#' * a file exists at its path, unless you set `overwrite = TRUE`.
#'
#' Do not open downloaded files with [load()] or [readRDS()] unless you trust the machine: reading
#' them can run code.
#'
#' @inheritParams viewJob
#' @param dir The folder to write to, created if it does not exist. Your home folder, the root of a
#'   disc and R libraries are refused.
#' @param overwrite Whether to replace existing files.
#' @returns The paths of the files that were written, invisibly.
#' @seealso [loadJob()] for the variables of the script
#' @examplesIf nzchar(Sys.getenv("REMOTIST_URL")) && nzchar(Sys.getenv("REMOTIST_VOLUNTEERS"))
#' email <- paste0(basename(tempfile("files-")), "@example.org")
#' register(email, "correct horse battery")
#' login(email, "correct horse battery")
#' folder <- tempfile()
#' dir.create(folder)
#' writeLines("writeLines('hello', 'hello.txt')", file.path(folder, "main.R"))
#' job <- addJob("a file", "main.R", folder_path = folder)
#' waitJob(job)
#' downloadJob(job, tempfile())
#' deleteJob(job)
#' logout()
#' @export
downloadJob <- function(id, dir, overwrite = FALSE) {
  call <- environment()
  check_required(c("id", "dir"), call)
  id <- id_of(id, "id", "job", call)
  if (!is_string(dir) || !nzchar(dir)) abort_argument("dir", "must be the path of a folder", dir, call = call)
  check_flag(overwrite, "overwrite", call)
  check_download_folder(dir, call)
  files <- list_files(id, "files", call)
  if (!length(files)) {
    cli::cli_inform(c(i = "Job {.val {id}} has no files."))
    return(invisible(character()))
  }
  dir <- create_folder(dir, call)
  risks <- file_risks(files, dir, overwrite)
  safe <- files[is.na(risks)]
  total <- sum(vapply(safe, function(file) as.numeric(file$size), 0))
  # The bar must not end at the last byte: empty files may follow.
  bar <- cli::cli_progress_bar(
    total = max(total, 1), format = "Downloading {cli::pb_bar} {cli::pb_percent} of {bytes_text(total)}", auto_terminate = FALSE
  )
  bar_frame <- environment()
  written <- vapply(safe, function(file) {
    write_file(id, file, dir, function(n) cli::cli_progress_update(inc = n, id = bar, .envir = bar_frame), call)
  }, "")
  cli::cli_progress_done(id = bar)
  inform_written(dir, written, total, files[!is.na(risks)], risks[!is.na(risks)])
  invisible(written)
}

check_download_folder <- function(dir, call) {
  risk <- folder_risk(dir)
  if (is.null(risk)) return(invisible())
  abort_argument("dir", "must be a folder for the files of the job only", I(paste0("\"", clean_text(dir), "\": ", risk)),
    "A machine that you do not know chose the names of these files. Give a new folder, such as {.code downloadJob(id, \"results\")}.",
    call = call
  )
}

create_folder <- function(dir, call) {
  if (!dir.exists(dir) && !dir.create(dir, recursive = TRUE, showWarnings = FALSE)) {
    abort_remotist("invalid_argument", c(
      "The folder {.file {dir}} cannot be created.",
      i = "Give a {.arg dir} that you can write to."
    ), argument = "dir", call = call)
  }
  real_path(dir)
}

# For each file the reason why it is not written, or NA. Of files whose paths differ only in case none is written.
file_risks <- function(files, dir, overwrite) {
  paths <- vapply(files, function(file) enc2utf8(file$path), "")
  risks <- vapply(paths, function(path) {
    risk <- path_risk(path)
    if (is.null(risk)) NA_character_ else risk
  }, "", USE.NAMES = FALSE)
  keys <- fold_case(paths)
  collides <- duplicated(keys) | duplicated(keys, fromLast = TRUE)
  risks[is.na(risks) & collides] <- "its path differs from that of another file only in case"
  risks[is.na(risks) & folder_collides(paths)] <- "its folder differs from another folder or file only in case"
  libraries <- library_folders()
  for (i in which(is.na(risks))) {
    target <- file.path(dir, paths[[i]])
    if (any(is_within(target, libraries))) {
      risks[[i]] <- "its path is inside an R library"
    } else if (passes_link(dir, paths[[i]])) {
      risks[[i]] <- "its path passes a symbolic link"
    } else if (dir.exists(target)) {
      risks[[i]] <- "a folder exists at its path"
    } else if (file.exists(target) && !overwrite) {
      risks[[i]] <- "a file exists at its path"
    }
  }
  risks
}

# Whether a parent folder of a file occurs in two spellings that differ in case, or is also a file.
folder_collides <- function(paths) {
  parents <- lapply(strsplit(paths, "/", fixed = TRUE), function(parts) {
    vapply(seq_len(length(parts) - 1L), function(i) paste(parts[seq_len(i)], collapse = "/"), "")
  })
  known <- unique(unlist(parents))
  twice <- known[fold_case(known) %in% fold_case(known)[duplicated(fold_case(known))] | fold_case(known) %in% fold_case(paths)]
  vapply(parents, function(own) any(own %in% twice), NA) | fold_case(paths) %in% fold_case(known)
}

# Writes a temporary file and renames it, so that the path never has an incomplete file.
write_file <- function(id, file, dir, on_written, call) {
  target <- file.path(dir, file$path)
  dir.create(dirname(target), recursive = TRUE, showWarnings = FALSE)
  # passes_link() does not see every kind of link that Windows has.
  if (!is_within(real_path(dirname(target)), dir)) abort_not_written(file, dir, call)
  temporary <- tempfile(".remotist-", dirname(target))
  to <- file(temporary, "wb")
  on.exit({
    if (!is.null(to)) close(to)
    unlink(temporary)
  })
  read_file(id, file, function(bytes) {
    writeBin(bytes, to)
    on_written(length(bytes))
  }, call)
  close(to)
  to <- NULL
  if (passes_link(dir, file$path) || !file.rename(temporary, target)) abort_not_written(file, dir, call)
  target
}

abort_not_written <- function(file, dir, call) {
  path <- clean_text(file$path)
  abort_remotist("not_written", c(
    "{.file {path}} could not be written.",
    x = "Its path in {.file {dir}} is in use or cannot be written.",
    i = "Give an empty folder that you can write to."
  ), call = call)
}

inform_written <- function(dir, written, total, refused, risks) {
  count <- length(written)
  size <- bytes_text(total)
  lines <- sprintf("%s: %s", clean_text(vapply(refused, function(file) file$path, "")), risks)
  more <- length(lines) - 20L
  if (more > 0L) lines <- lines[1:20]
  cli::cli_inform(c(
    v = "Wrote {count} file{?s} ({size}) to {.file {dir}}.",
    if (length(lines)) c("!" = "Omitted:"),
    bullets(lines, "*"),
    if (more > 0L) c(" " = "and {more} more"),
    if (any(risks == "a file exists at its path")) c(i = "To replace existing files: {.code downloadJob(id, dir, overwrite = TRUE)}.")
  ))
}
