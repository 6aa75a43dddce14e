#' Download the files that a job made
#'
#' Writes the files that the script made or changed below a folder of yours. Who ran
#' the job is unknown to you, so their names are distrusted. A file is left out, with a
#' message, when
#'
#' * its name leads out of the folder, through a link or into a library of R;
#' * a part of its name begins with a dot (`.Rprofile`, `.ssh/authorized_keys`, `.git/config`);
#' * its name is one that git, a desktop or Windows would act upon (`HEAD`, `desktop.ini`, `CON`);
#' * it differs from another one's only in case;
#' * a file of yours stands in its place, unless you say `overwrite = TRUE`.
#'
#' Look into files before you open them: R can be made to run code by [load()] and [readRDS()].
#'
#' @inheritParams viewJob
#' @param dir The folder; made if it does not exist. Your home folder, the root of a disc and
#'   a library of R are refused.
#' @param overwrite Whether to replace files that are there already.
#' @returns The paths of the files that were written, invisibly.
#' @seealso [loadJob()] for the variables
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
  check_given(c("id", "dir"), call)
  id <- id_of(id, "id", "job", call)
  if (!is_string(dir) || !nzchar(dir)) abort_argument("dir", "must be the folder to write to", dir, call = call)
  check_flag(overwrite, "overwrite", call)
  check_download_folder(dir, call)
  files <- list_files(id, "files", call)
  if (!length(files)) {
    cli::cli_inform(c(i = "Job {.val {id}} has made no files."))
    return(invisible(character()))
  }
  dir <- made_folder(dir, call)
  risks <- file_risks(files, dir, overwrite)
  safe <- files[is.na(risks)]
  total <- sum(vapply(safe, function(file) as.numeric(file$size), 0))
  # Not to be ended by its last byte: empty files may come after that.
  bar <- cli::cli_progress_bar(
    total = max(total, 1), format = "Downloading {cli::pb_bar} {cli::pb_percent} of {bytes_text(total)}", auto_terminate = FALSE
  )
  here <- environment()
  written <- vapply(safe, function(file) {
    write_file(id, file, dir, function(n) cli::cli_progress_update(inc = n, id = bar, .envir = here), call)
  }, "")
  cli::cli_progress_done(id = bar)
  tell_written(dir, written, total, files[!is.na(risks)], risks[!is.na(risks)])
  invisible(written)
}

check_download_folder <- function(dir, call) {
  risk <- folder_risk(dir)
  if (is.null(risk)) return(invisible())
  abort_argument("dir", "must be a folder for the job's files only", I(paste0("\"", clean_text(dir), "\": ", risk)),
    "A stranger's machine made these files and chose their names. Name a new folder, such as {.code downloadJob(id, \"results\")}.",
    call = call
  )
}

made_folder <- function(dir, call) {
  if (!dir.exists(dir) && !dir.create(dir, recursive = TRUE, showWarnings = FALSE)) {
    abort_remotist("invalid_argument", c(
      "{.arg dir} cannot be made: {.file {dir}}.",
      i = "Name a folder that you may write to."
    ), argument = "dir", call = call)
  }
  real_path(dir)
}

# For each file why it is not written, or NA. Of names that differ only in case none is: which was meant is not known.
file_risks <- function(files, dir, overwrite) {
  paths <- vapply(files, function(file) enc2utf8(file$path), "")
  risks <- vapply(paths, function(path) {
    risk <- path_risk(path)
    if (is.null(risk)) NA_character_ else risk
  }, "", USE.NAMES = FALSE)
  keys <- folded(paths)
  collides <- duplicated(keys) | duplicated(keys, fromLast = TRUE)
  risks[is.na(risks) & collides] <- "a name that another one has, too, but for case"
  risks[is.na(risks) & folder_collides(paths)] <- "a folder that another one has, too, but for case"
  libraries <- library_folders()
  for (i in which(is.na(risks))) {
    target <- file.path(dir, paths[[i]])
    if (any(is_within(target, libraries))) {
      risks[[i]] <- "a place in a library of R"
    } else if (passes_link(dir, paths[[i]])) {
      risks[[i]] <- "a link of yours on its way"
    } else if (dir.exists(target)) {
      risks[[i]] <- "a folder of yours in its place"
    } else if (file.exists(target) && !overwrite) {
      risks[[i]] <- "a file of yours in its place"
    }
  }
  risks
}

# Whether a folder on the way to a file is written in two ways, or is itself a file.
folder_collides <- function(paths) {
  parents <- lapply(strsplit(paths, "/", fixed = TRUE), function(parts) {
    vapply(seq_len(length(parts) - 1L), function(i) paste(parts[seq_len(i)], collapse = "/"), "")
  })
  known <- unique(unlist(parents))
  twice <- known[folded(known) %in% folded(known)[duplicated(folded(known))] | folded(known) %in% folded(paths)]
  vapply(parents, function(some) any(some %in% twice), NA) | folded(paths) %in% folded(known)
}

# Beside its place first, then moved there at once: nobody finds half a file.
write_file <- function(id, file, dir, tell, call) {
  target <- file.path(dir, file$path)
  dir.create(dirname(target), recursive = TRUE, showWarnings = FALSE)
  # Not every link shows itself to passes_link(): Windows has several kinds.
  if (!is_within(real_path(dirname(target)), dir)) abort_not_written(file, dir, call)
  half <- tempfile(".remotist-", dirname(target))
  to <- file(half, "wb")
  on.exit({
    if (!is.null(to)) close(to)
    unlink(half)
  })
  read_file(id, file, function(bytes) {
    writeBin(bytes, to)
    tell(length(bytes))
  }, call)
  close(to)
  to <- NULL
  if (passes_link(dir, file$path) || !file.rename(half, target)) abort_not_written(file, dir, call)
  target
}

abort_not_written <- function(file, dir, call) {
  path <- clean_text(file$path)
  abort_remotist("not_written", c(
    "{.file {path}} could not be written.",
    x = "Something stands in its place in {.file {dir}}.",
    i = "Name an empty folder."
  ), call = call)
}

tell_written <- function(dir, written, total, refused, risks) {
  count <- length(written)
  size <- bytes_text(total)
  lines <- sprintf("%s: %s", clean_text(vapply(refused, function(file) file$path, "")), risks)
  more <- length(lines) - 20L
  if (more > 0L) lines <- lines[1:20]
  cli::cli_inform(c(
    v = "Wrote {count} file{?s}, {size}, to {.file {dir}}.",
    if (length(lines)) c("!" = "Not written:"),
    bullets(lines, "*"),
    if (more > 0L) c(" " = "and {more} more"),
    if (any(risks == "a file of yours in its place")) c(i = "To replace your files: {.code downloadJob(id, dir, overwrite = TRUE)}.")
  ))
}
