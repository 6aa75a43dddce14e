# Checks of file paths that an unknown machine chose.

# Whether a path is valid for a file of a job: the rule of core/file_path.h, which market and agents use. Both are tested with
# tests/testthat/file-paths.json.
is_file_path <- function(path) {
  good <- validUTF8(path)
  path[!good] <- ""
  Encoding(path) <- "UTF-8"
  good & nzchar(path) & nchar(path, "bytes") <= path_bytes_max &
    !grepl("[\u0001-\u001f\u007f-\u009f\\\\]", path, perl = TRUE) & !grepl("(^|/)(|\\.|\\.\\.)(/|$)", path, perl = TRUE)
}

# Names that a system interprets when it shows or enters a folder. A folder with a file HEAD can be a git repository whose
# configuration names programs to run; shortcuts can make Windows log in to another machine.
refused_names <- c("head", "desktop.ini", "autorun.inf", "thumbs.db")
refused_extensions <- "\\.(lnk|url|scf|library-ms|searchconnector-ms)$"
windows_device_names <- "^(con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3]|conin\\$|conout\\$|clock\\$)(\\.|$)"

# The reason why a path may not be written below a folder on some system; NULL when it may.
path_risk <- function(path) {
  if (!nzchar(path) || !validUTF8(path)) return("its path is empty or not valid UTF-8")
  if (grepl("[[:cntrl:]]", path)) return("its path has control characters")
  if (nchar(path, "bytes") > path_bytes_max) return("its path is too long")
  if (grepl("^[/~]|^[A-Za-z]:|\\\\", path)) return("its path is not relative to the folder, or leaves it")
  if (grepl("[<>:\"|?*]", path)) return("its path has characters that Windows does not allow")
  parts <- strsplit(path, "/", fixed = TRUE)[[1L]]
  if (endsWith(path, "/") || any(parts %in% c("", ".", ".."))) return("its path is not relative to the folder, or leaves it")
  if (any(grepl("[. ]$", parts))) return("a component of its path ends in a dot or space")
  # Some systems ignore invisible characters and case.
  visible <- tolower(gsub("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]", "", parts))
  if (any(startsWith(trimws(visible), "."))) return("a component of its path begins with a dot")
  if (any(visible %in% refused_names) || any(grepl(refused_extensions, visible))) return("git or a desktop interprets its name")
  if (any(grepl(windows_device_names, visible))) return("its name is reserved on Windows")
  # A short name may refer to an existing file, such as SSH~1 to .ssh.
  if (any(grepl("^[^.]{0,7}~[0-9]+(\\.|$)", visible))) return("Windows may take its name as the short name of another file")
  NULL
}

# A path with symbolic links resolved, also when it does not exist: its nearest existing folder is resolved.
real_path <- function(path) {
  path <- path.expand(path)
  rest <- character()
  while (!file.exists(path) && dirname(path) != path) {
    rest <- c(basename(path), rest)
    path <- dirname(path)
  }
  path <- sub("/+$", "", normalizePath(path, "/", mustWork = FALSE))
  for (part in rest[rest != "."]) path <- if (part == "..") sub("/[^/]*$", "", path) else paste0(path, "/", part)
  path
}

# Whether a path is a folder or below it. Both come from real_path().
is_within <- function(path, folder) {
  path <- fold_case(path)
  folder <- fold_case(folder)
  path == folder | startsWith(path, paste0(folder, "/"))
}

# The folders that R loads packages from, existing or not.
library_folders <- function() {
  named <- unlist(strsplit(Sys.getenv(c("R_LIBS", "R_LIBS_USER", "R_LIBS_SITE")), .Platform$path.sep, fixed = TRUE))
  folders <- c(.libPaths(), .Library.site, R.home(), named)
  unique(vapply(folders[nzchar(folders) & folders != "NULL"], real_path, "", USE.NAMES = FALSE))
}

home_folders <- function() {
  folders <- c("~", Sys.getenv(c("HOME", "USERPROFILE")))
  unique(vapply(folders[nzchar(folders)], real_path, "", USE.NAMES = FALSE))
}

# The reason why files from an unknown machine may not be written to a folder, whatever their names; NULL when they may.
folder_risk <- function(dir) {
  dir <- real_path(dir)
  if (dir == "" || grepl("^([A-Za-z]:|//[^/]+/[^/]+)$", dir)) return("the root of a disc")
  homes <- home_folders()
  if (dir %in% homes) return("your home folder")
  if (any(is_within(homes, dir))) return("a folder that contains your home folder")
  if (any(is_within(dir, library_folders()))) return("an R library")
  NULL
}

# Two paths that differ only in case give the same text.
fold_case <- function(path) tolower(iconv(path, "UTF-8", "UTF-8", sub = ""))

# Whether the path or one of its parent folders is a symbolic link.
passes_link <- function(dir, path) {
  parts <- strsplit(path, "/", fixed = TRUE)[[1L]]
  for (i in seq_along(parts)) {
    link <- Sys.readlink(file.path(dir, paste(parts[seq_len(i)], collapse = "/")))
    if (!is.na(link) && nzchar(link)) return(TRUE)
  }
  FALSE
}
