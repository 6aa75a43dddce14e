# The market's lists of a job's attempts and checkpoints.

# Not modifyList(), which merges lists.
replace_fields <- function(row, ...) {
  fields <- list(...)
  row[names(fields)] <- fields
  row
}

an_attempt <- function(number, ...) {
  replace_fields(list(
    number = number, machine = machine_id, machine_name = NULL, assigned_at = "2026-02-01T10:00:00.000Z", accepted_at = "2026-02-01T10:00:00.100Z",
    ended_at = NULL, outcome = NULL, cpu_ms = 0, paid_micro = NULL, saved_cpu_ms = NULL, resumed_from = NULL, skipped = list(), checkpoints = 0
  ), ...)
}

a_checkpoint <- function(sequence, attempt, at, ...) {
  replace_fields(list(
    sequence = sequence, attempt = attempt, at = at, size_bytes = 123456789, sent_bytes = 2345, pause_ms = 12.34,
    position = list(file = "main.R", line = 12, call = "fit"), r_version = "4.5.0", architecture = "x86_64", packages = list("MASS 7.3-65"),
    cpu_ms = 60000 * sequence, usable = TRUE
  ), ...)
}

# Three attempts: lost, handed back, and one that resumed from the second checkpoint.
some_attempts <- function() {
  list(
    an_attempt(1, ended_at = "2026-02-01T10:20:00.000Z", outcome = "lost", cpu_ms = 1100000, paid_micro = 231000, saved_cpu_ms = 1080000, checkpoints = 2),
    an_attempt(2,
      machine = job_id, machine_name = "laptop", assigned_at = "2026-02-01T10:21:00.000Z", ended_at = "2026-02-01T10:31:00.000Z",
      outcome = "handed_back", cpu_ms = 590000, resumed_from = 2, checkpoints = 1
    ),
    an_attempt(3, assigned_at = "2026-02-01T10:32:00.000Z", resumed_from = 2, skipped = list(list(sequence = 3, reason = "a chunk of it is damaged")))
  )
}

some_checkpoints <- function() {
  list(
    a_checkpoint(3, 2, "2026-02-01T10:28:00.000Z", usable = FALSE, why = "a chunk of it is damaged"),
    a_checkpoint(2, 1, "2026-02-01T10:18:00.000Z"), a_checkpoint(1, 1, "2026-02-01T10:08:00.000Z", position = NULL, sent_bytes = 123456789)
  )
}

# The market's answers on a job with these lists, newest first, in pages of at most 200 rows.
history_routes <- function(attempts = some_attempts(), checkpoints = some_checkpoints(), job = list(state = "running")) {
  paged <- function(field, rows) function(req) {
    query <- httr2::url_parse(req$url)$query
    page <- as.numeric(query$page)
    per_page <- as.numeric(query$per_page)
    places <- seq_along(rows)
    body <- list(page = page, per_page = per_page, more = length(rows) > page * per_page)
    body[[field]] <- rows[places > (page - 1) * per_page & places <= page * per_page]
    json_reply(body)
  }
  base <- paste0("GET /job/", job_id)
  routes <- list()
  routes[[base]] <- json_reply(do.call(a_job, c(list(attempt = length(attempts)), job)))
  routes[[paste0(base, "/attempts")]] <- paged("attempts", rev(attempts))
  routes[[paste0(base, "/checkpoint")]] <- paged("checkpoints", checkpoints)
  routes
}

# A job that moved from machine to machine.
many_attempts <- function(n) {
  at <- function(minutes) format(as.POSIXct("2026-02-01 10:00:00", tz = "UTC") + 60 * minutes, "%Y-%m-%dT%H:%M:%S.000Z")
  outcomes <- c("lost", "handed_back", "lost", "refused")
  lapply(seq_len(n), function(i) {
    last <- i == n
    an_attempt(i,
      assigned_at = at(10 * i), ended_at = at(10 * i + 4 + 5 * (i %% 2)), outcome = if (last) "completed" else outcomes[[i %% 4 + 1]],
      checkpoints = 1, resumed_from = if (i > 1) i - 1
    )
  })
}
