#' List your jobs
#'
#' @param page The number of the page; a page has 50 jobs, newest first.
#' @returns A data frame of class `remotist_jobs` with a row for each job: `id`, `name`,
#'   `state`, `progress` (from 0 to 1), `price` (credits), `created_at` and `ended_at`.
#' @examplesIf nzchar(Sys.getenv("REMOTIST_URL"))
#' email <- paste0(basename(tempfile("list-")), "@example.org")
#' register(email, "correct horse battery")
#' login(email, "correct horse battery")
#' listJobs()
#' logout()
#' @export
listJobs <- function(page = 1) {
  call <- environment()
  page <- check_page(page, call)
  body <- parse_body(send_request("GET", "/job/", query = list(page = page), call = call), call)
  jobs <- lapply(body$jobs, new_job)
  column <- function(field, kind) vapply(jobs, function(job) job[[field]], kind)
  times <- function(field) as.POSIXct(vapply(jobs, function(job) as.numeric(job[[field]]), 0), origin = "1970-01-01", tz = "UTC")
  listed <- data.frame(
    id = column("id", ""), name = column("name", ""), state = column("state", ""), progress = column("progress", 0),
    price = column("price", 0), created_at = times("created_at"), ended_at = times("ended_at")
  )
  structure(listed, class = c("remotist_jobs", "data.frame"), page = page, more = isTRUE(body$more))
}

#' @export
print.remotist_jobs <- function(x, ...) {
  shown <- as.data.frame(unclass(x), stringsAsFactors = FALSE)
  if (!nrow(shown)) {
    cat(if (isTRUE(attr(x, "page") > 1)) "No jobs on this page.\n" else "No jobs. Submit one with addJob().\n")
    return(invisible(x))
  }
  if (all(c("name", "progress", "created_at", "ended_at") %in% names(shown))) {
    shown$name <- substr(clean_text(shown$name), 1L, 40L)
    shown$progress <- ifelse(is.na(shown$progress), "", paste0(round(100 * shown$progress), "%"))
    shown$created_at <- format(x$created_at, "%m-%d %H:%M", tz = "")
    shown$ended_at <- ifelse(is.na(x$ended_at), "", format(x$ended_at, "%m-%d %H:%M", tz = ""))
  }
  print(shown, row.names = FALSE, right = FALSE)
  if (isTRUE(attr(x, "more"))) cat("More jobs: listJobs(page = ", attr(x, "page") + 1L, ")\n", sep = "")
  invisible(x)
}
