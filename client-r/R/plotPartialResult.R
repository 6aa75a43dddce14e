#' Plot a watched variable
#'
#' Plots single numbers as steps over time. For vectors it plots the newest vector against its
#' index, with up to 19 earlier ones in grey. This works while the job runs, after it has ended and
#' after an error.
#'
#' @inheritParams watchVar
#' @param text Whether to plot with characters, for terminals.
#' @param live Whether to update the plot with each change until the job ends or you press Ctrl-C
#'   (or Esc). In a terminal that cannot redraw lines, each change is printed as a line.
#' @param from,to As in [loadPartialResultHistory()]; not with `live`.
#' @param ... Arguments for [plot()][graphics::plot.default], such as `log = "y"`; not used with
#'   `text`.
#' @returns A data frame of the plotted records with the columns `time` and `value` (a list),
#'   invisibly; with `live` the job. An error of class `remotist_not_drawable` is raised when the
#'   variable has no numbers.
#' @seealso [watchVar()], to handle each change with a function of your own
#' @inherit loadPartialResult examples
#' @export
plotPartialResult <- function(id, var, text = FALSE, live = FALSE, from = NULL, to = NULL, ...) {
  call <- environment()
  check_required(c("id", "var"), call)
  id <- id_of(id, "id", "job", call)
  variable <- check_variable_name(var, "var", call)
  check_flag(text, "text", call)
  check_flag(live, "live", call)
  from <- check_range_end(from, "from", call)
  to <- check_range_end(to, "to", call)
  if (live && !(is.null(from) && is.null(to))) {
    abort_argument(if (is.null(from)) "to" else "from", "cannot be combined with {.arg live}", I("both"), call = call)
  }
  check_r_version(getRversion(), call, "watchVar(id, var, f, trust = TRUE)")
  if (live) return(plot_live(id, variable, text, call, ...))
  drawn <- with_watched_name(id, variable, call, function(name) read_numbers(id, name, from, to, call))
  if (!drawn$count) abort_no_value(fetch_job(id, call), variable, "", call)
  if (!length(drawn$values)) abort_not_drawable(id, variable, drawn$last, call)
  if (text) draw_text(variable, drawn$times, drawn$values) else draw_plot(variable, drawn$times, drawn$values, ...)
  shown <- data.frame(time = drawn$times)
  shown$value <- drawn$values
  invisible(shown)
}

is_numbers <- function(x) typeof(x) %in% c("double", "integer", "logical") && !inherits(x, "factor") && length(unclass(x)) > 0L

# Without attributes, so that no method of the value's class is called.
bare_numbers <- function(x) as.double(as.vector(unclass(x)))

# The numbers of a history. Of large values, which are stored in chunks, only the newest is downloaded.
read_numbers <- function(id, variable, from, to, call) {
  records <- Filter(function(record) !record$superseded, read_history(id, variable, from, to, NULL, call)$records)
  large <- !vapply(records, is_inline, NA)
  records <- records[!large | seq_along(records) == length(records)]
  read <- lapply(records, function(record) record_value(id, record, FALSE, call))
  usable <- vapply(read, function(one) is.null(one$missing) && is_numbers(one$value), NA)
  times <- vapply(records[usable], function(record) as.numeric(record$time), 0)
  list(
    count = length(records), last = if (length(read)) read[[length(read)]],
    times = as.POSIXct(times, origin = "1970-01-01", tz = ""), values = lapply(read[usable], function(one) bare_numbers(one$value))
  )
}

abort_not_drawable <- function(id, variable, last, call) {
  name <- clean_text(variable)
  reason <- if (is.null(last$missing)) paste("its value is", describe(last$value)) else last$reason
  reason <- sentence(reason)
  abort_remotist("not_drawable", c(
    "{.var {name}} cannot be plotted.",
    x = "{reason}",
    i = "Only numbers can be plotted. {.code loadPartialResultHistory(\"{id}\", \"{name}\")} returns its values."
  ), job = id, call = call)
}

are_scalars <- function(values) all(lengths(values) == 1L)

draw_plot <- function(variable, times, values, ...) {
  label <- clean_text(variable)
  if (are_scalars(values)) {
    y <- unlist(values)
    y[!is.finite(y)] <- NA
    if (all(is.na(y))) return(draw_nothing(label))
    plot_with(list(x = times, y = y, type = if (length(y) > 1L) "s" else "p", xlab = "time", ylab = label, col = "#0072B2"), ...)
    return(invisible())
  }
  values <- sample_evenly(values, 20L)
  ys <- lapply(values, function(y) ifelse(is.finite(y), y, NA))
  if (all(is.na(unlist(ys)))) return(draw_nothing(label))
  n <- length(ys)
  limits <- list(xlim = c(1, max(lengths(ys))), ylim = range(unlist(ys), na.rm = TRUE))
  plot_with(c(list(x = NA, y = NA, type = "n", xlab = "index", ylab = label), limits), ...)
  for (i in seq_len(n)) graphics::lines(seq_along(ys[[i]]), ys[[i]], type = if (length(ys[[i]]) > 1L) "l" else "p", col = if (i == n) "#0072B2" else "grey80")
}

# The user's settings override ours.
plot_with <- function(settings, ...) do.call(graphics::plot.default, utils::modifyList(settings, list(...)))

draw_nothing <- function(label) {
  graphics::plot.default(0, 0, type = "n", axes = FALSE, xlab = "", ylab = label)
  graphics::text(0, 0, "no finite numbers")
}

draw_text <- function(variable, times, values) cat(text_lines(variable, times, values), sep = "\n")

text_lines <- function(variable, times, values, rows = 8L) {
  width <- max(20L, min(cli::console_width(), 100L) - 16L)
  newest <- values[[length(values)]]
  scalars <- are_scalars(values)
  columns <- if (!scalars) sample_evenly(newest, width) else resample_over_time(unlist(values), times, width)
  lines <- area_lines(columns, rows)
  margin <- nchar(lines[[1L]]) - length(columns)
  ends <- if (scalars) format(times[c(1L, length(times))], "%H:%M:%S") else c("1", count_text(length(newest)))
  gap <- max(1L, length(columns) - sum(nchar(ends)))
  now <- if (scalars) paste("=", number_text(newest)) else paste0("has ", count_text(length(newest)), " values")
  count <- length(values)
  c(
    sprintf("%s %s, %s at %s", clean_text(variable), now, if (count == 1L) "1 record" else paste(count_text(count), "records"), format(times[[count]], "%H:%M:%S")),
    lines, paste0(strrep(" ", margin), ends[[1L]], strrep(" ", gap), ends[[2L]])
  )
}

plot_live <- function(id, variable, text, call, ...) {
  show <- if (text) new_text_display(variable) else new_plot_display(variable, ...)
  drawn <- 0L
  last <- NULL
  job <- watch(id, variable, function(record, read) {
    last <<- read
    if (!is.null(read$missing) || !is_numbers(read$value)) return(invisible())
    drawn <<- drawn + 1L
    show(record$time, bare_numbers(read$value))
  }, TRUE, FALSE, call, finally = function() show(NULL))
  if (!drawn && !is.null(last)) abort_not_drawable(id, variable, last, call)
  invisible(job)
}

# A function that adds a value and calls `draw` with all of them, at most once in `seconds`; called with NULL, it draws what is not
# drawn yet. Of vectors only the newest 20 are stored.
new_canvas <- function(draw, seconds) {
  times <- numeric()
  values <- list()
  drawn_at <- -Inf
  is_drawn <- TRUE
  function(time, value) {
    now <- proc.time()[["elapsed"]]
    if (!is.null(time)) {
      if (length(value) > 1L && length(values) >= 20L) {
        values <<- utils::tail(values, 19L)
        times <<- utils::tail(times, 19L)
      }
      values[[length(values) + 1L]] <<- value
      times[[length(times) + 1L]] <<- as.numeric(time)
      is_drawn <<- FALSE
      if (now - drawn_at < seconds) return(invisible())
    }
    if (is_drawn) return(invisible())
    draw(.POSIXct(times), values)
    drawn_at <<- now
    is_drawn <<- TRUE
  }
}

new_plot_display <- function(variable, ...) {
  new_canvas(function(times, values) {
    draw_plot(variable, times, values, ...)
    grDevices::dev.flush()
  }, 0.2)
}

# Redraws the plot where the terminal can move the cursor, else prints a line for each change.
new_text_display <- function(variable) {
  if (!cli::is_ansi_tty(stdout())) return(new_line_display(variable))
  before <- 0L
  new_canvas(function(times, values) {
    lines <- text_lines(variable, times, values)
    if (before) cat("\033[", before, "A", sep = "")
    cat(paste0(lines, "\033[K\n"), sep = "")
    utils::flush.console()
    before <<- length(lines)
  }, 0.05)
}

new_line_display <- function(variable) {
  recent <- numeric()
  label <- clean_text(variable)
  function(time, value) {
    if (is.null(time)) return(invisible())
    is_scalar <- length(value) == 1L
    if (is_scalar) recent <<- utils::tail(c(recent, value), 40L)
    line <- sparkline(if (is_scalar) recent else sample_evenly(value, 40L))
    now <- if (is_scalar) number_text(value) else paste(count_text(length(value)), "values")
    cat(sprintf("%s  %s  %s  %s\n", format(time, "%H:%M:%S", tz = ""), label, formatC(now, width = -10L), line))
    utils::flush.console()
  }
}
