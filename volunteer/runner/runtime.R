# The functions that jobs get in addition to R's own, and those that the runner calls at a job's end. Evaluated once, in
# the zygote; returns an environment. `send_progress` is native code of the runner.

local({
  baseenv <- baseenv()

  # A namespace without an installed package, so that remotist::progress() and library(remotist) work in a job.
  make_namespace <- function(exports) {
    namespace <- new.env(parent = .BaseNamespaceEnv)
    info <- new.env(parent = baseenv)
    assign(".__NAMESPACE__.", info, envir = namespace)
    assign("spec", c(name = "remotist", version = "0.1.0"), envir = info)
    assign("path", "", envir = info)
    assign("imports", list(base = TRUE), envir = info)
    assign("lazydata", new.env(parent = baseenv), envir = info)
    assign("dynlibs", NULL, envir = info)
    assign("S3methods", matrix(NA_character_, 0L, 4L), envir = info)
    assign(".packageName", "remotist", envir = namespace)
    assign(".__S3MethodsTable__.", new.env(parent = baseenv), envir = namespace)
    names_out <- new.env(parent = baseenv)
    for (name in names(exports)) {
      one <- exports[[name]]
      environment(one) <- namespace
      assign(name, compiler::cmpfun(one), envir = namespace)
      assign(name, name, envir = names_out)
    }
    assign("exports", names_out, envir = info)
    namespace
  }

  namespace <- make_namespace(list(
    progress = function(fraction, message = "") {
      fraction <- as.numeric(fraction)
      if (length(fraction) != 1L || is.na(fraction) || fraction < 0 || fraction > 1) {
        stop("fraction must be one number from 0 to 1")
      }
      .Call(.send_progress, fraction, paste(as.character(message), collapse = " "))
      invisible(NULL)
    },
    # In a resumable script the checkpoint engine replaces the call.
    checkpoint = function() invisible(NULL)
  ))
  assign(".send_progress", send_progress, envir = namespace)
  lockEnvironment(namespace, bindings = TRUE)
  .Internal(registerNamespace("remotist", namespace))
  # Directly before base in the search path, so that it masks no name that a job uses.
  attach(list(progress = namespace$progress, checkpoint = namespace$checkpoint), pos = length(search()), name = "package:remotist")

  self <- environment()
  failure <- NULL

  first_line <- function(call) {
    text <- tryCatch(deparse(call, width.cutoff = 120L, nlines = 3L), error = function(e) "<call>")
    text <- paste(trimws(text), collapse = " ")
    if (nchar(text, "bytes") > 300L) paste0(substr(text, 1L, 250L), " ...") else text
  }

  # Records an error that the script does not handle, before R prints it and ends the job.
  record_error <- function(e) {
    calls <- sys.calls()
    frames <- sys.frames()
    # Skip the newest frames: this function's and those of stop() or of R's condition system.
    keep <- length(calls) - 1L
    internal <- c("stop", ".handleSimpleError", "h", "signalCondition", "withRestarts", "withOneRestart",
                  "doWithOneRestart", "stopifnot", ".External", "abort", "warning", ".signalSimpleWarning")
    while (keep > 0L) {
      head <- calls[[keep]][[1L]]
      if (is.symbol(head) && as.character(head) %in% internal) keep <- keep - 1L else break
    }
    call <- conditionCall(e)
    failure <<- list(
      message = tryCatch(conditionMessage(e), error = function(e) "an error whose message cannot be made"),
      call = if (is.null(call)) "" else first_line(call),
      traceback = vapply(rev(calls[seq_len(keep)])[seq_len(min(keep, 50L))], first_line, ""),
      frame = if (keep > 0L) frames[[keep]] else NULL
    )
    NULL
  }

  values_of <- function(env) {
    names <- sort(names(env), method = "radix")
    names <- names[names != ".Random.seed" & names != "..." & !startsWith(names, ".cp.")]
    values <- vector("list", length(names))
    names(values) <- names
    for (i in seq_along(names)) {
      # A missing argument, or a promise or active binding that fails, keeps its name without a value.
      value <- tryCatch(get(names[[i]], envir = env, inherits = FALSE), error = function(e) NULL)
      if (!is.null(value)) values[[i]] <- value
    }
    values
  }

  result <- function() values_of(globalenv())

  error_state <- function() {
    frame <- if (is.environment(failure$frame)) values_of(failure$frame) else list()
    list(frame = frame, globals = values_of(globalenv()))
  }

  # Message, call and lines of the traceback; NULL when no error was recorded.
  error_report <- function() {
    if (is.null(failure)) return(NULL)
    enc2utf8(c(failure$message, failure$call, failure$traceback))
  }

  run_dot_last <- function() {
    last <- globalenv()[[".Last"]]
    if (is.function(last)) last()
  }

  close_devices <- function() {
    if (!is.null(grDevices::dev.list())) grDevices::graphics.off()
  }

  # R refuses a limit below the present size of its heap; then the address space is the limit.
  limit_memory <- function(megabytes) suppressWarnings(mem.maxVSize(megabytes))

  install_error_handler <- function() globalCallingHandlers(error = record_error)

  # Compiled here, else each guest would compile them at the second call.
  for (name in names(self)) {
    one <- self[[name]]
    if (is.function(one)) assign(name, compiler::cmpfun(one), envir = self)
  }
  self
})
