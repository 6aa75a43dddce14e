# The knowledge of the checkpoint engine, whose tables.R and analysis.R are the package's, too.

# Functions that call the script's functions from C, or through frames that are not the script's.
calling_back <- c("optim", "optimize", "optimise", "optimHess", "nlm", "nlminb", "nls", "integrate", "uniroot", "outer",
                  "Vectorize", "aggregate", "by", "ave", "rapply", "eapply", "mclapply", "parLapply", "boot", "ode",
                  "sort_by", "combn", "with", "within", "eval", "evalq", "source", "sys.source", "Negate", "Compose")
opening_device <- c("pdf", "png", "jpeg", "svg", "tiff", "bmp", "postscript", "plot", "hist", "barplot", "boxplot", "curve",
                    "dev.new", "ggplot", "pairs", "image", "contour", "persp")
opening_connection <- c("textConnection", "gzfile", "bzfile", "xzfile", "url", "pipe", "fifo", "socketConnection",
                        "rawConnection", "gzcon", "unz", "dbConnect", "sink")
holding_pointer <- c("read_xml", "read_html", "dbConnect", "xgb.DMatrix", "xgb.train", "torch_tensor", "fifo", "loadModule",
                     "keras_model", "rast", "vect", "curl", "new_handle")

#' Where a script can be saved while it runs
#'
#' A machine that is lent may go away at any moment. A job whose script can be saved goes on elsewhere from
#' where it was saved last. This looks at a script, without running it, and tells by line where it can be
#' saved: before each expression at the top level, in loops, in `lapply()` and its family, in the
#' script's own functions; and where not, and why.
#'
#' It is a reading of the text. What a script does with packages shows only when it runs; then a machine
#' saves it at the next place where it can.
#'
#' @param file The script, a file of R code.
#' @returns A data frame of class `remotist_checkpoint_report` that prints as a list of lines: `line` and
#'   `to`, where it stands; `what` it is; whether it `can` be saved there; and `why` not.
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
  check_given("file", call)
  exprs <- parsed_script(check_string(file, "file", call = call), call)
  known <- analyse(exprs)
  rows <- list()
  add <- function(lines, what, can, why = "") {
    rows[[length(rows) + 1L]] <<- data.frame(line = lines[[1L]], to = lines[[2L]], what = what, can = can, why = why)
  }
  # `reason` is why nothing can be saved where `e` stands, or "".
  look <- function(e, lines, reason) {
    if (is.pairlist(e)) {
      for (i in seq_along(e)) if (!is_missing(e[[i]])) look(e[[i]], lines, "a default value is evaluated lazily")
      return(invisible())
    }
    if (!is.call(e)) return(invisible())
    name <- head_name(e)
    if (name %in% opaque_names) return(invisible())
    if (name == "{") {
      places <- attr(e, "srcref")
      for (i in seq_along(e)[-1L]) look(e[[i]], if (is.null(places)) lines else lines_of(places[[i]], lines), reason)
      return(invisible())
    }
    if (name == "function") {
      body <- e[[3L]]
      shy <- shy_because(body)
      return(look(body, lines, if (nzchar(shy)) paste("the function", shy) else reason))
    }
    if (name %in% loop_names) add(lines, paste(name, "loop"), !nzchar(reason), reason)
    if (name %in% family_names && !name %in% known$redefined) add(lines, paste0(name, "()"), !nzchar(reason), reason)
    if (name %in% known$suspendable && name %in% names(known$functions)) add(lines, paste0(name, "()"), !nzchar(reason), reason)
    here <- reason
    if (!name %in% names(known$functions)) {
      if (name %in% calling_back) {
        here <- paste0(name, "() calls back, and cannot be left and taken up again")
        add(lines, paste0(name, "()"), FALSE, here)
      }
      if (name %in% opening_device) add(lines, paste0(name, "()"), FALSE, "a graphics device cannot be saved: nothing can, until it is closed")
      if (name %in% opening_connection) add(lines, paste0(name, "()"), FALSE, "only connections to plain files can be saved: nothing can, until it is closed")
      if (name %in% holding_pointer) add(lines, paste0(name, "()"), FALSE, "its value holds a pointer into C, which cannot be saved")
    }
    inside <- if (name %in% c(loop_names, assignment_names, wrapper_names, strict_names, eager_names, family_names, "if",
                              "switch", "&&", "||", "[", "[[", "$", "local", "replicate", "do.call")) {
      here
    } else if (nzchar(here)) {
      here
    } else {
      paste0("an argument of ", if (nzchar(name)) name else "a function", "() is evaluated lazily")
    }
    for (i in seq_along(e)) {
      if (!is_missing(e[[i]])) look(e[[i]], lines, if (is_function_literal(e[[i]])) here else inside)
    }
    invisible()
  }
  for (i in seq_along(exprs)) {
    lines <- lines_of(attr(exprs, "srcref")[[i]], c(NA_integer_, NA_integer_))
    shy <- shy_because(without_functions(exprs[[i]]))
    add(lines, "before this expression", TRUE)
    look(exprs[[i]], lines, if (nzchar(shy)) paste("the expression", shy) else "")
  }
  report <- if (length(rows)) do.call(rbind, rows) else
    data.frame(line = integer(), to = integer(), what = character(), can = logical(), why = character())
  report <- unique(report)
  rownames(report) <- NULL
  structure(report, class = c("remotist_checkpoint_report", "data.frame"), file = file)
}

lines_of <- function(srcref, otherwise) if (is.null(srcref)) otherwise else as.integer(srcref)[c(1L, 3L)]

parsed_script <- function(file, call) {
  if (!file.exists(file) || dir.exists(file)) abort_argument("file", "must be a file that exists", file, call = call)
  tryCatch(parse(file, keep.source = TRUE, encoding = "UTF-8"), error = function(e) {
    abort_argument("file", "must be a script that R can read", I(conditionMessage(e)), call = call)
  })
}

#' @export
print.remotist_checkpoint_report <- function(x, ...) {
  before <- x$what == "before this expression"
  inner <- unclass(x)[c("line", "what", "can", "why")]
  count <- sum(before)
  cli::cat_line(cli::format_inline("{.file {basename(attr(x, 'file'))}} can be saved before each of {count} expression{?s}", if (all(before)) "." else ", and:"))
  for (i in which(!before)) {
    sign <- if (inner$can[[i]]) cli::col_green(cli::symbol$tick) else cli::col_red(cli::symbol$cross)
    what <- if (nzchar(inner$why[[i]])) paste(cli::ansi_align(inner$what[[i]], 20), inner$why[[i]]) else inner$what[[i]]
    cli::cat_line(sprintf("  line %4d  ", inner$line[[i]]), sign, " ", what)
  }
  invisible(x)
}
