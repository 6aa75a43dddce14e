# A job as the market describes it.

new_job <- function(body) {
  text <- function(field) if (is_string(body[[field]])) body[[field]] else NA_character_
  number <- function(field) if (is.numeric(body[[field]])) as.numeric(body[[field]]) else NA_real_
  structure(
    list(
      id = clean_text(text("id")), name = text("name"), exec_file = text("exec_file"), state = clean_text(text("state")),
      cpu = number("cpu"), ram = number("ram"), disc = number("disc"), price = number("price"),
      partialResultsVars = as.character(unlist(body$partial_results_vars)), attempt = number("attempt"),
      progress = min(max(number("progress"), 0), 1), progress_message = clean_text(text("progress_message")),
      failure_code = clean_text(text("failure_code")), failure_detail = clean_lines(text("failure_detail")),
      created_at = time_of(body$created_at), submitted_at = time_of(body$submitted_at),
      ended_at = time_of(body$ended_at), deadline = time_of(body$deadline),
      checkpoint = if (is.logical(body[["checkpoint"]]) && length(body[["checkpoint"]]) == 1L) body[["checkpoint"]] else NA,
      checkpoint_interval = number_in(body, "checkpoint_interval_ms") / 1000, checkpoint_at = time_of(body[["checkpoint_at"]]),
      checkpoint_problem = text_in(body, "checkpoint_problem"), resume_until = time_of(body[["resume_until"]]),
      resume_problem = text_in(body, "resume_problem")
    ),
    class = "remotist_job"
  )
}

has_ended <- function(job) job$state %in% ended_states

job_progress_text <- function(job) {
  if (is.na(job$progress)) return("")
  percent <- paste0(round(100 * job$progress), "%")
  if (is.na(job$progress_message) || !nzchar(job$progress_message)) percent else paste0(percent, ", ", job$progress_message)
}

# How often checkpoints are saved, or why they are not; why the job waits for a machine, or started from the beginning.
checkpoint_rows <- function(job) {
  if (isFALSE(job$checkpoint)) return(list(checkpoints = "none: submitted with checkpoint = FALSE"))
  schedule <- c(
    if (!is.na(job$checkpoint_interval)) paste("every", duration_text(job$checkpoint_interval)),
    if (!is.na(job$checkpoint_at)) paste("newest", time_text(job$checkpoint_at)),
    if (!is.na(job$checkpoint_problem)) paste("not possible:", job$checkpoint_problem)
  )
  waits <- identical(job$state, "queued") && !is.na(job$resume_until)
  list(
    checkpoints = if (!has_ended(job)) paste(schedule, collapse = ", "),
    waits = if (waits) paste0("for a machine that can continue from its checkpoint, until ", time_text(job$resume_until), "; then for any"),
    because = if (waits) job$resume_problem,
    restarted = if (!waits && !is.na(job$resume_problem)) paste("from the beginning:", job$resume_problem)
  )
}

#' @export
format.remotist_job <- function(x, ...) paste0("<job ", x$id, " \"", clean_text(x$name), "\": ", x$state, ">")

#' @export
print.remotist_job <- function(x, ...) {
  print_table(if (is.na(x$name)) "Job" else paste0("Job \"", clean_text(x$name), "\""), c(list(
    id = x$id,
    state = if (is.na(x$failure_code)) x$state else paste0(x$state, " (", x$failure_code, ")"),
    error = sub("\n.*", "", x$failure_detail),
    progress = if (has_ended(x)) "" else job_progress_text(x),
    script = clean_text(x$exec_file),
    needs = if (!is.na(x$cpu)) sprintf("%d core%s, %s MB RAM, %s MB disc", as.integer(x$cpu), if (isTRUE(x$cpu == 1)) "" else "s", count_text(x$ram), count_text(x$disc)),
    price = if (!is.na(x$price)) paste("at most", credits_text(x$price)),
    watched = clean_text(paste(x$partialResultsVars, collapse = ", "))
  ), checkpoint_rows(x), list(
    deadline = time_text(x$deadline),
    created = time_text(x$created_at),
    ended = time_text(x$ended_at)
  )))
  if (isTRUE(nrow(x$attempts) > 0L)) print_attempts(x$attempts, 10L)
  if (isTRUE(nrow(x$checkpoints) > 0L)) print_checkpoints(x$checkpoints, 5L)
  invisible(x)
}

#' @export
as.character.remotist_job <- function(x, ...) x$id
