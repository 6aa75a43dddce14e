#' Plot the life of a job
#'
#' Plots the attempts of a job as bars over time, one below the other, in a colour for each outcome. Ticks
#' mark the checkpoints that the market still has, and a dashed line the end of the job. Of more than 50 attempts the newest
#' 50 are plotted.
#'
#' @inheritParams viewJob
#' @param text Whether to plot with characters, for terminals.
#' @returns The plotted history, as of [jobHistory()], invisibly. For a job that no machine has been
#'   assigned to yet, an error of class `remotist_not_drawable` is raised.
#' @seealso [viewJob()], [plotPartialResult()]
#' @inherit migrateJob examples
#' @export
plotJob <- function(id, text = FALSE) {
  call <- environment()
  check_required("id", call)
  id <- id_of(id, "id", "job", call)
  check_flag(text, "text", call)
  job <- fetch_job(id, call)
  history <- read_job_history(id, call)
  bars <- job_bars(job, history, current_time())
  if (!length(bars$number)) abort_no_attempts(job, call)
  if (text) cat(job_lines(bars), sep = "\n") else draw_job(bars)
  invisible(history)
}

# Replaced in tests.
current_time <- function() as.numeric(Sys.time())

abort_no_attempts <- function(job, call) {
  id <- job$id
  abort_remotist("not_drawable", c(
    "Job {.val {id}} cannot be plotted yet.",
    x = "It has not been assigned to a machine. Its state is {.val {job$state}}."
  ), job = id, state = job$state, call = call)
}

bars_max <- 50L

# What both forms of the plot show: of each attempt its number, its outcome and the seconds from and to which its bar goes; the
# checkpoints (`tick_bar` is the index of the bar) and the job's end, NA while it goes on.
job_bars <- function(job, history, now) {
  attempts <- history$attempts[!is.na(history$attempts$assigned_at), ]
  hidden <- max(0L, nrow(attempts) - bars_max)
  attempts <- utils::tail(attempts, bars_max)
  n <- nrow(attempts)
  from <- as.numeric(attempts$assigned_at)
  to <- as.numeric(attempts$ended_at)
  end <- if (has_ended(job)) as.numeric(job$ended_at) else NA_real_
  live <- is.na(to) & !has_ended(job) & seq_len(n) == n
  # The bar of an attempt whose end is not known goes to the next one.
  open <- is.na(to)
  to[open] <- c(from[-1L], if (n) max(if (is.na(end)) now else end, from[[n]]))[open]
  to <- pmax(to, from)
  ticks <- history$checkpoints[!is.na(history$checkpoints$time) & history$checkpoints$attempt %in% attempts$number, ]
  list(
    title = paste0(if (is.na(job$name)) "job" else short_text(job$name, 40L), ": ", job$state), number = attempts$number, hidden = hidden,
    outcome = outcome_text(attempts), from = from, to = to, live = live, checkpoints = sum(history$attempts$checkpoints, na.rm = TRUE),
    tick = as.numeric(ticks$time), tick_bar = match(ticks$attempt, attempts$number), end = end
  )
}

# Colour-blind safe. Outcomes of a newer market are dark grey.
outcome_colours <- c(
  assigned = "#BBBBBB", running = "#0072B2", completed = "#009E73", failed = "#D55E00", lost = "#E69F00", handed_back = "#56B4E9",
  refused = "#BBBBBB", cancelled = "#CC79A7", expired = "#F0E442"
)

colours_of <- function(outcomes) {
  colours <- unname(outcome_colours[outcomes])
  ifelse(is.na(colours), "#555555", colours)
}

time_range <- function(bars) {
  range <- range(bars$from, bars$to, bars$tick, bars$end, na.rm = TRUE)
  if (range[[1L]] == range[[2L]]) range + c(0, 1) else range
}

draw_job <- function(bars) {
  n <- length(bars$number)
  bar <- seq_len(n)
  range <- time_range(bars)
  graphics::plot.new()
  legend <- fit_legend(range, n, legend_items(bars))
  graphics::title(main = bars$title, xlab = "time", ylab = "attempt", sub = hidden_text(bars))
  graphics::axis.POSIXct(1, x = .POSIXct(range))
  labelled <- seq(1L, n, by = ceiling(n / 20))
  graphics::axis(2, at = labelled, labels = integer_text(bars$number[labelled]), las = 1)
  colours <- colours_of(bars$outcome)
  graphics::rect(bars$from, bar + 0.35, bars$to, bar - 0.35, col = colours, border = NA)
  # For bars that are too short to be seen.
  graphics::segments(bars$from, bar + 0.35, bars$from, bar - 0.35, col = colours, lwd = 2, lend = "butt")
  graphics::segments(bars$tick, bars$tick_bar + 0.45, bars$tick, bars$tick_bar - 0.45, lwd = 1.5, lend = "butt")
  if (!is.na(bars$end)) graphics::segments(bars$end, n + 0.5, bars$end, 0.5, lty = 2)
  do.call(graphics::legend, legend)
  graphics::box()
}

hidden_text <- function(bars) {
  if (bars$hidden) paste0(count_text(bars$hidden), " earlier attempt", if (bars$hidden > 1L) "s are" else " is", " not shown")
}

legend_items <- function(bars) {
  outcomes <- unique(bars$outcome)
  marks <- c(if (length(bars$tick)) "checkpoint", if (!is.na(bars$end)) "end")
  list(
    # With a space between columns.
    legend = paste0(c(outcomes, marks), "  "), col = c(colours_of(outcomes), rep("black", length(marks))), pt.cex = 1.5, bty = "n",
    pch = c(rep(15L, length(outcomes)), ifelse(marks == "end", NA, utf8ToInt("|"))), lty = c(rep(0, length(outcomes)), ifelse(marks == "end", 2, 0))
  )
}

# Sets the coordinates so that the legend fits above the bars. Returns the arguments of legend().
fit_legend <- function(range, n, items) {
  graphics::plot.window(range, c(n + 0.5, 0.5))
  for (rows in seq_along(items$legend)) {
    columns <- ceiling(length(items$legend) / rows)
    size <- do.call(graphics::legend, c(list("top", ncol = columns, plot = FALSE), items))$rect
    if (size$w <= diff(range)) break
  }
  share <- min(0.7, abs(size$h) / n)
  graphics::plot.window(range, c(n + 0.5, 0.5 - n * share / (1 - share)))
  c(list("top", ncol = columns), items)
}

job_marks <- function() {
  if (cli::is_utf8_output()) c(bar = "\u2501", tick = "\u254b", end = "\u2503", live = ">") else c(bar = "=", tick = "+", end = "|", live = ">")
}

# For terminals; other outcomes have no colour.
outcome_styles <- list(
  completed = cli::col_green, failed = cli::col_red, lost = cli::col_yellow, handed_back = cli::col_cyan, running = cli::col_blue,
  cancelled = cli::col_magenta, expired = cli::col_magenta
)

job_lines <- function(bars) {
  n <- length(bars$number)
  labels <- paste(formatC(integer_text(bars$number), width = max(nchar(integer_text(bars$number)))), formatC(substr(bars$outcome, 1L, 12L), width = -11L))
  width <- max(20L, min(cli::console_width(), 100L) - max(nchar(labels)) - 3L)
  range <- time_range(bars)
  column <- function(time) 1L + as.integer((width - 1) * (time - range[[1L]]) / diff(range))
  marks <- job_marks()
  lines <- vapply(seq_len(n), function(i) {
    cells <- rep(" ", width + 1L)
    cells[column(bars$from[[i]]):column(bars$to[[i]])] <- marks[["bar"]]
    cells[column(bars$tick[bars$tick_bar == i])] <- marks[["tick"]]
    if (bars$live[[i]]) cells[[column(bars$to[[i]]) + 1L]] <- marks[["live"]]
    # After the column of the end, where no bar is.
    if (!is.na(bars$end)) cells[[column(bars$end) + 1L]] <- marks[["end"]]
    line <- sub(" +$", "", paste(cells, collapse = ""))
    style <- outcome_styles[[bars$outcome[[i]]]]
    paste(labels[[i]], if (is.null(style)) line else style(line))
  }, "")
  margin <- strrep(" ", max(nchar(labels)) + 1L)
  ends <- format(.POSIXct(range), if (diff(range) < 86400) "%H:%M:%S" else "%m-%d %H:%M", tz = "")
  shown <- c(TRUE, length(bars$tick) > 0L, any(bars$live), !is.na(bars$end))
  legend <- paste(marks[c("bar", "tick", "live", "end")], c("attempt", "checkpoint", "goes on", "end of the job"))[shown]
  counts <- paste0(count_of(n + bars$hidden, "attempt"), if (bars$checkpoints > 0) paste0(", ", count_of(bars$checkpoints, "checkpoint")))
  c(
    paste0(bars$title, ", ", counts), hidden_text(bars), lines,
    paste0(margin, ends[[1L]], strrep(" ", max(1L, width - sum(nchar(ends)))), ends[[2L]]),
    paste0(margin, paste(legend, collapse = "   "))
  )
}

count_of <- function(n, what) paste0(count_text(n), " ", what, if (n != 1) "s")
