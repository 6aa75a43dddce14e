# Paths that a stranger chose, and what may be written there.

# Which paths a job's files may have at all: the rule that the market and the agents have, too (core/file_path.h). Both are
# tested with tests/testthat/file-paths.json.
is_file_path <- function(path) {
  good <- validUTF8(path)
  path[!good] <- ""
  Encoding(path) <- "UTF-8"
  good & nzchar(path) & nchar(path, "bytes") <= path_bytes_most &
    !grepl("[\u0001-\u001f\u007f-\u009f\\\\]", path, perl = TRUE) & !grepl("(^|/)(|\\.|\\.\\.)(/|$)", path, perl = TRUE)
}

# Names that a system acts upon when it shows or enters the folder. A folder with a file HEAD can be a git repository
# whose configuration names programs to run; links and the like make Windows log in at another machine.
names_refused <- c("head", "desktop.ini", "autorun.inf", "thumbs.db")
endings_refused <- "\\.(lnk|url|scf|library-ms|searchconnector-ms)$"
names_of_windows <- "^(con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3]|conin\\$|conout\\$|clock\\$)(\\.|$)"

# Why a path may not be written below a folder, on any system; NULL when it may.
path_risk <- function(path) {
  if (!nzchar(path) || !validUTF8(path)) return("no name at all")
  if (grepl("[[:cntrl:]]", path)) return("control characters in its name")
  if (nchar(path, "bytes") > path_bytes_most) return("a name that is too long")
  if (grepl("^[/~]|^[A-Za-z]:|\\\\", path)) return("a name that leads elsewhere")
  if (grepl("[<>:\"|?*]", path)) return("signs in its name that not every system can have")
  parts <- strsplit(path, "/", fixed = TRUE)[[1L]]
  if (endsWith(path, "/") || any(parts %in% c("", ".", ".."))) return("a name that leads elsewhere")
  if (any(grepl("[. ]$", parts))) return("a name that ends in a dot or space")
  # Some systems pass over signs that nobody sees, and over case.
  bare <- tolower(gsub("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]", "", parts))
  if (any(startsWith(trimws(bare), "."))) return("a name that begins with a dot")
  if (any(bare %in% names_refused) || any(grepl(endings_refused, bare))) return("a name that git or a desktop would act upon")
  if (any(grepl(names_of_windows, bare))) return("a name that Windows keeps for itself")
  # Short for a name of a file that is there already, such as SSH~1 for .ssh.
  if (any(grepl("^[^.]{0,7}~[0-9]+(\\.|$)", bare))) return("a name that Windows takes for another one's")
  NULL
}

# A path without links, also of what does not exist yet: its nearest folder that does, and the rest.
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

# Whether a path is a folder, or something below it. Both come from real_path().
is_within <- function(path, folder) {
  path <- folded(path)
  folder <- folded(folder)
  path == folder | startsWith(path, paste0(folder, "/"))
}

# Where R finds what it runs, whether it exists yet or not.
library_folders <- function() {
  named <- unlist(strsplit(Sys.getenv(c("R_LIBS", "R_LIBS_USER", "R_LIBS_SITE")), .Platform$path.sep, fixed = TRUE))
  folders <- c(.libPaths(), .Library.site, R.home(), named)
  unique(vapply(folders[nzchar(folders) & folders != "NULL"], real_path, "", USE.NAMES = FALSE))
}

home_folders <- function() {
  folders <- c("~", Sys.getenv(c("HOME", "USERPROFILE")))
  unique(vapply(folders[nzchar(folders)], real_path, "", USE.NAMES = FALSE))
}

# Why files of a stranger may not be written to a folder, whatever their names; NULL when they may.
folder_risk <- function(dir) {
  dir <- real_path(dir)
  if (dir == "" || grepl("^([A-Za-z]:|//[^/]+/[^/]+)$", dir)) return("the root of a disc")
  homes <- home_folders()
  if (dir %in% homes) return("your home folder")
  if (any(is_within(homes, dir))) return("a folder that contains your home folder")
  if (any(is_within(dir, library_folders()))) return("a library of R")
  NULL
}

# Two names that are one where case does not count.
folded <- function(path) tolower(iconv(path, "UTF-8", "UTF-8", sub = ""))

# Whether an existing link stands where the file or one of its folders would be.
passes_link <- function(dir, path) {
  parts <- strsplit(path, "/", fixed = TRUE)[[1L]]
  for (i in seq_along(parts)) {
    link <- Sys.readlink(file.path(dir, paste(parts[seq_len(i)], collapse = "/")))
    if (!is.na(link) && nzchar(link)) return(TRUE)
  }
  FALSE
}
