#' Your account
#'
#' @returns An object of class `remotist_account`: a list with `id`, `email`, `balance`
#'   (credits to spend), `held` (credits reserved for jobs that have not ended),
#'   `storage_used` and `storage_quota` (bytes) and `created_at`.
#' @examplesIf nzchar(Sys.getenv("REMOTIST_URL"))
#' email <- paste0(basename(tempfile("acc-")), "@example.org")
#' register(email, "correct horse battery")
#' login(email, "correct horse battery")
#' account()
#' logout()
#' @export
account <- function() {
  call <- environment()
  body <- parse_body(send_request("GET", "/user/", call = call), call)
  structure(
    list(
      id = body$id, email = body$email, role = body$role, balance = as.numeric(body$balance), held = as.numeric(body$held),
      storage_used = as.numeric(body$storage_used), storage_quota = as.numeric(body$storage_quota), created_at = time_of(body$created_at)
    ),
    class = "remotist_account"
  )
}

#' @export
print.remotist_account <- function(x, ...) {
  print_table(x$email, list(
    balance = credits_text(x$balance),
    held = paste(credits_text(x$held), "for jobs that have not ended"),
    storage = paste(bytes_text(x$storage_used), "of", bytes_text(x$storage_quota)),
    since = time_text(x$created_at)
  ))
  invisible(x)
}
