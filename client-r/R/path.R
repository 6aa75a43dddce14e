# Paths that a stranger chose, and what may be written there.

# Names that R, git or Windows would act upon, in any case and at any level.
names_refused <- c(".rprofile", ".renviron", ".rdata", ".rhistory", ".git", ".rproj.user")

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
  # Systems that ignore what follows, or letters that look alike to them, must not be led to these either.
  bare <- tolower(gsub("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]", "", parts))
  if (any(bare %in% names_refused) || any(grepl("^git~[0-9]", bare))) return("a name that R or git would act upon")
  if (any(grepl("^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\\.|$)", bare))) return("a name that Windows keeps for itself")
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
