#' remotist: send R jobs to a market of lent machines
#'
#' Register at a market with [register()] and [login()], send a script with
#' [addJob()], wait for it with [waitJob()] or close the laptop, and collect its
#' variables with [loadJob()] and its files with [downloadJob()]. While it runs,
#' [watchVar()], [loadPartialResult()] and [plotPartialResult()] show how variables that you
#' named change. To earn credits, lend this machine: [addMachine()] and [startVolunteer()].
#'
#' @section Where the market is:
#' The address comes from `login(url = )`, else from `options(remotist.url = )`,
#' else from the environment variable `REMOTIST_URL`. A market with a
#' certificate of a private authority needs that authority's certificate in the
#' file named by `REMOTIST_CA_FILE`.
#'
#' @section Errors:
#' Every refusal of the market is a condition of class `remotist_<code>` and
#' `remotist_error`, such as `remotist_insufficient_credits`; it has the fields
#' `code`, `status`, `field`, `retryable` and `request_id`. Mistakes that are found before
#' anything is sent have the code `invalid_argument`; a market that cannot be
#' reached has `unreachable`; a session without a token has `unauthenticated`.
#'
#' @keywords internal
"_PACKAGE"
