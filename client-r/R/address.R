# Where the market is.

# From the options or the environment; NULL when neither says so.
address_wanted <- function() {
  url <- getOption("remotist.url")
  if (is.null(url)) {
    url <- Sys.getenv("REMOTIST_URL")
    if (!nzchar(url)) return(NULL)
  }
  sub("/+$", "", url)
}

address_check <- function(url, call) {
  if (!is_string(url) || !grepl("^https?://[^/[:space:]]+", url)) {
    abort_argument("url", "must be the market's address, beginning with {.code https://} or {.code http://}", url, call = call)
  }
  sub("/+$", "", url)
}

# The market that this session speaks to.
address <- function(call) {
  url <- session$url
  if (is.null(url)) {
    session_recall(call)
    url <- session$url
  }
  if (is.null(url)) url <- address_wanted()
  if (is.null(url)) {
    abort_remotist("invalid_argument", c(
      "No market is known.",
      i = "Name it: {.code login(email, pw, url = \"https://market.example\")}, or set {.code options(remotist.url = )} or the environment variable {.envvar REMOTIST_URL}."
    ), call = call)
  }
  address_check(url, call)
}

address_is_private <- function(url) {
  # What stands before an @ is no host.
  host <- sub("^https?://([^/]*@)?(\\[[^]]*\\]|[^/:]*).*$", "\\2", url)
  startsWith(url, "https://") || host %in% c("localhost", "[::1]") || grepl("^127(\\.[0-9]{1,3}){3}$", host)
}

# The certificate of a private authority, or NULL for those of the system.
authority_file <- function(call) {
  file <- Sys.getenv("REMOTIST_CA_FILE")
  if (!nzchar(file)) return(NULL)
  if (!file.exists(file)) {
    abort_remotist("invalid_argument", c(
      "The certificate of the market's authority is missing.",
      x = "{.envvar REMOTIST_CA_FILE} names {.file {file}}, which does not exist.",
      i = "Correct the variable, or unset it to trust the authorities of your system."
    ), call = call)
  }
  normalizePath(file)
}
