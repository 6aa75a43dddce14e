#' remotist: run R jobs on machines that others lend
#'
#' Create an account with [register()] and log in with [login()]. Submit a script with [addJob()],
#' wait for it with [waitJob()] or end the R session, and load its variables with [loadJob()] and its
#' files with [downloadJob()]. While it runs, [watchVar()], [loadPartialResult()] and
#' [plotPartialResult()] show the values of watched variables. When the machine of a job disappears, another
#' one continues from the last checkpoint: [viewJob()], [jobHistory()] and [plotJob()] show how a job moved from
#' machine to machine. To earn credits, lend this machine with
#' [addMachine()] and [startVolunteer()].
#'
#' @section Address of the market:
#' The address is taken from `login(url = )`, else from `options(remotist.url = )`, else from the
#' environment variable `REMOTIST_URL`. If the market's certificate was issued by a private
#' authority, set the environment variable `REMOTIST_CA_FILE` to the file with that authority's
#' certificate.
#'
#' @section Errors:
#' A refusal by the market is an error of the classes `remotist_<code>` and `remotist_error`, such as
#' `remotist_insufficient_credits`. It has the fields `code`, `status`, `field`, `retryable` and
#' `request_id`. Invalid arguments, which are refused before anything is sent, have the code
#' `invalid_argument`; a market that cannot be reached has `unreachable`; a missing or expired login
#' has `unauthenticated`.
#'
#' @keywords internal
"_PACKAGE"
