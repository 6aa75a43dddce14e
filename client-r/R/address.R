# The market's address.

# From the options or the environment; NULL when neither has it.
configured_address <- function() {
  url <- getOption("remotist.url")
  if (is.null(url)) {
    url <- Sys.getenv("REMOTIST_URL")
    if (!nzchar(url)) return(NULL)
  }
  sub("/+$", "", url)
}

check_address <- function(url, call) {
  if (!is_string(url) || !grepl("^https?://[^/[:space:]]+", url)) {
    abort_argument("url", "must be the market's address, beginning with {.code https://} or {.code http://}", url, call = call)
  }
  sub("/+$", "", url)
}

# The address of the market that this R session uses.
address <- function(call) {
  url <- r_session$url
  if (is.null(url)) {
    restore_login(call)
    url <- r_session$url
  }
  if (is.null(url)) url <- configured_address()
  if (is.null(url)) {
    abort_remotist("invalid_argument", c(
      "The address of the market is not set.",
      i = "Give it: {.code login(email, pw, url = \"https://market.example\")}, or set {.code options(remotist.url = )} or the environment variable {.envvar REMOTIST_URL}."
    ), call = call)
  }
  check_address(url, call)
}

is_confidential_address <- function(url) {
  # User information before an @ is not part of the host.
  host <- sub("^https?://([^/]*@)?(\\[[^]]*\\]|[^/:]*).*$", "\\2", url)
  startsWith(url, "https://") || host %in% c("localhost", "[::1]") || grepl("^127(\\.[0-9]{1,3}){3}$", host)
}

# The file with the certificate of a private authority, or NULL to use those of the system.
authority_file <- function(call) {
  file <- Sys.getenv("REMOTIST_CA_FILE")
  if (!nzchar(file)) return(NULL)
  if (!file.exists(file)) {
    abort_remotist("invalid_argument", c(
      "The file with the certificate of the market's authority does not exist.",
      x = "{.envvar REMOTIST_CA_FILE} is {.file {file}}.",
      i = "Correct the variable, or unset it to trust the authorities of your system."
    ), call = call)
  }
  normalizePath(file)
}
