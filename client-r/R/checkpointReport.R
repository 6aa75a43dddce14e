# Reports where the checkpoint engine can save a script. The package shares its analysis (checkpoint-analysis.R, checkpoint-tables.R).

# Functions that call functions of the script from C code, or from frames that are not the script's.
calling_back <- c("optim", "optimize", "optimise", "optimHess", "nlm", "nlminb", "nls", "integrate", "uniroot", "outer",
                  "Vectorize", "aggregate", "by", "ave", "rapply", "eapply", "mclapply", "parLapply", "boot", "ode",
                  "sort_by", "combn", "with", "within", "eval", "evalq", "source", "sys.source", "Negate", "Compose")
opening_device <- c("pdf", "png", "jpeg", "svg", "tiff", "bmp", "postscript", "plot", "hist", "barplot", "boxplot", "curve",
                    "dev.new", "ggplot", "pairs", "image", "contour", "persp")
opening_connection <- c("textConnection", "gzfile", "bzfile", "xzfile", "url", "pipe", "fifo", "socketConnection",
                        "rawConnection", "gzcon", "unz", "dbConnect", "sink")
holding_pointer <- c("read_xml", "read_html", "dbConnect", "xgb.DMatrix", "xgb.train", "torch_tensor", "fifo", "loadModule",
                     "keras_model", "rast", "vect", "curl", "new_handle")

#' Report where a script allows checkpoints
#'
#' A lent machine may disappear at any time. A checkpoint saves the state of a running script, so that
#' another machine can continue from it. This function analyses a script without running it, and
#' reports by line where a checkpoint is possible (before each expression at the top level, in loops,
#' in `lapply()` and similar functions, and in the script's own functions), and where and why it is not.
#'
#' The analysis is static. What a script does through packages is known only when it runs; a
#' checkpoint is then taken at the next possible point.
#'
#' @param file The path of the script.
#' @returns A data frame of class `remotist_checkpoint_report`, which prints as a list of lines: `line` and
#'   `to`, the range of lines; `what` is there; `can`, whether a checkpoint is possible; and `why` it is not.
#' @examples
#' file <- tempfile(fileext = ".R")
#' writeLines(c(
#'   "step <- function(x) { for (k in 1:1000) x <- x + rnorm(1); x }",
#'   "walk <- numeric(100)",
#'   "for (i in 2:100) walk[i] <- step(walk[i - 1])",
#'   "best <- optim(c(1, 1), function(p) sum((p - walk[1:2])^2))"
#' ), file)
#' checkpointReport(file)
#' @export
checkpointReport <- function(file) {
  call <- environment()
  check_required("file", call)
  exprs <- parsed_script(check_string(file, "file", call = call), call)
  known <- analyse(exprs)
  rows <- list()
  add <- function(lines, what, can, why = "") {
    rows[[length(rows) + 1L]] <<- data.frame(line = lines[[1L]], to = lines[[2L]], what = what, can = can, why = why)
  }
  # `reason` is why no checkpoint is possible in `e`, or "".
  visit <- function(e, lines, reason) {
    if (is.pairlist(e)) {
      for (i in seq_along(e)) if (!is_missing(e[[i]])) visit(e[[i]], lines, "a default value is evaluated lazily")
      return(invisible())
    }
    if (!is.call(e)) return(invisible())
    name <- head_name(e)
    if (name %in% opaque_names) return(invisible())
    if (name == "{") {
      places <- attr(e, "srcref")
      for (i in seq_along(e)[-1L]) visit(e[[i]], if (is.null(places)) lines else lines_of(places[[i]], lines), reason)
      return(invisible())
    }
    if (name == "function") {
      body <- e[[3L]]
      why <- why_not_rewritable(body)
      return(visit(body, lines, if (nzchar(why)) paste("the function", why) else reason))
    }
    if (name %in% loop_names) add(lines, paste(name, "loop"), !nzchar(reason), reason)
    if (name %in% apply_names && !name %in% known$redefined) add(lines, paste0(name, "()"), !nzchar(reason), reason)
    if (name %in% known$suspendable && name %in% names(known$functions)) add(lines, paste0(name, "()"), !nzchar(reason), reason)
    here <- reason
    if (!name %in% names(known$functions)) {
      if (name %in% calling_back) {
        here <- paste0(name, "() calls back from C code, which cannot be resumed")
        add(lines, paste0(name, "()"), FALSE, here)
      }
      if (name %in% opening_device) add(lines, paste0(name, "()"), FALSE, "a graphics device cannot be saved: no checkpoint until it is closed")
      if (name %in% opening_connection) add(lines, paste0(name, "()"), FALSE, "only connections to plain files can be saved: no checkpoint until it is closed")
      if (name %in% holding_pointer) add(lines, paste0(name, "()"), FALSE, "its value contains an external pointer, which cannot be saved")
    }
    inside <- if (name %in% c(loop_names, assignment_names, wrapper_names, strict_names, eager_names, apply_names, "if",
                              "switch", "&&", "||", "[", "[[", "$", "local", "replicate", "do.call")) {
      here
    } else if (nzchar(here)) {
      here
    } else {
      paste0("an argument of ", if (nzchar(name)) name else "a function", "() is evaluated lazily")
    }
    for (i in seq_along(e)) {
      if (!is_missing(e[[i]])) visit(e[[i]], lines, if (is_function_literal(e[[i]])) here else inside)
    }
    invisible()
  }
  for (i in seq_along(exprs)) {
    lines <- lines_of(attr(exprs, "srcref")[[i]], c(NA_integer_, NA_integer_))
    why <- why_not_rewritable(without_functions(exprs[[i]]))
    add(lines, "before this expression", TRUE)
    visit(exprs[[i]], lines, if (nzchar(why)) paste("the expression", why) else "")
  }
  report <- if (length(rows)) do.call(rbind, rows) else
    data.frame(line = integer(), to = integer(), what = character(), can = logical(), why = character())
  report <- unique(report)
  rownames(report) <- NULL
  structure(report, class = c("remotist_checkpoint_report", "data.frame"), file = file)
}

lines_of <- function(srcref, otherwise) if (is.null(srcref)) otherwise else as.integer(srcref)[c(1L, 3L)]

parsed_script <- function(file, call) {
  if (!file.exists(file) || dir.exists(file)) abort_argument("file", "must be an existing file", file, call = call)
  tryCatch(parse(file, keep.source = TRUE, encoding = "UTF-8"), error = function(e) {
    abort_argument("file", "must be a script that R can parse", I(conditionMessage(e)), call = call)
  })
}

#' @export
print.remotist_checkpoint_report <- function(x, ...) {
  before <- x$what == "before this expression"
  inner <- unclass(x)[c("line", "what", "can", "why")]
  count <- sum(before)
  cli::cat_line(cli::format_inline("{.file {basename(attr(x, 'file'))}} allows a checkpoint before each of {count} expression{?s}", if (all(before)) "." else ", and:"))
  for (i in which(!before)) {
    sign <- if (inner$can[[i]]) cli::col_green(cli::symbol$tick) else cli::col_red(cli::symbol$cross)
    what <- if (nzchar(inner$why[[i]])) paste(cli::ansi_align(inner$what[[i]], 20), inner$why[[i]]) else inner$what[[i]]
    cli::cat_line(sprintf("  line %4d  ", inner$line[[i]]), sign, " ", what)
  }
  invisible(x)
}
