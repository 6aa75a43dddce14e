# Runs a program through the checkpoint engine in this R:
#
#   Rscript tests/checkpoint/drive.R PROGRAM.R --folder WORK --state DIR [--plain] [--every-ms N] [--at N1[,N2...]]
#     [--die] [--result FILE] [--warm]
# Resumes from DIR/checkpoint if it exists. At the end all globals are saved to FILE, .Random.seed as ".seed", and one line
# of JSON goes to stderr. --plain runs the program without the engine. --warm: initialisation of the engine and of R is
# done before the program runs. The whole file is one call, so that no frame of it is below the program.
.Call(local({
  file <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  root <- normalizePath(file.path(dirname(file), "..", ".."))
  words <- commandArgs(TRUE)
  value <- function(name, default = NULL) {
    at <- match(name, words)
    if (is.na(at)) default else words[[at + 1L]]
  }
  native <- Sys.getenv("REMOTIST_CHECKPOINT_NATIVE", file.path(root, "build/bin/checkpoint_native.so"))
  if (!file.exists(native)) stop("there is no ", native, ": run script/build")
  dyn.load(native)
  program <- normalizePath(words[[1L]])
  folder <- normalizePath(value("--folder"))
  state <- value("--state", file.path(tempdir(), "state"))
  dir.create(state, showWarnings = FALSE, recursive = TRUE)
  state <- normalizePath(state)
  plain <- "--plain" %in% words
  result <- value("--result")
  if (!is.null(result)) result <- file.path(normalizePath(dirname(result)), basename(result))

  # remotist::checkpoint() is there for any program; here it does nothing, the engine sees the call itself.
  namespace <- new.env(parent = .BaseNamespaceEnv)
  info <- new.env(parent = baseenv())
  assign(".__NAMESPACE__.", info, envir = namespace)
  assign("spec", c(name = "remotist", version = "0.1.0"), envir = info)
  assign("exports", list2env(list(checkpoint = "checkpoint"), parent = baseenv()), envir = info)
  assign("checkpoint", function() invisible(NULL), envir = namespace)
  environment(namespace$checkpoint) <- namespace
  .Internal(registerNamespace("remotist", namespace))

  source <- new.env()
  sys.source(file.path(root, "volunteer/runner/checkpoint/load.R"), source)
  engine <- source$load_engine_from(file.path(root, "volunteer/runner/checkpoint"), .Call("checkpoint_natives"),
                               cache = sub("[.]so$", ".rds", native), lazily = !"--warm" %in% words)
  # As in the zygote, where all of base is loaded.
  if ("--warm" %in% words) for (name in ls(baseenv(), all.names = TRUE)) force(get(name, baseenv()))
  setwd(folder)
  engine$session$folder <- folder
  options(error = quote(invisible()), keep.source = FALSE)

  json <- function(x) {
    if (is.list(x)) {
      return(paste0("{", paste0("\"", gsub("[\"\\\\]", "'", names(x)), "\":", vapply(x, json, ""), collapse = ","), "}"))
    }
    if (is.logical(x)) tolower(as.character(x)) else as.character(x)
  }
  resumed <- FALSE
  engine$ended <- function(well) {
    spent <- 1000 * (.Call(engine$native$now) - began)
    used <- 1000 * sum((proc.time() - used)[1:2])
    engine$reap_writer(TRUE)
    counts <- engine$engine_state
    .Call(engine$native$clean_global)
    values <- mget(sort(ls(globalenv(), all.names = TRUE), method = "radix"), envir = globalenv())
    names(values)[names(values) == ".Random.seed"] <- ".seed"
    if (!plain) .Call(engine$native$clean, values)
    if (!well) values$.error <- geterrmessage()
    if (!is.null(result)) saveRDS(values, result, compress = FALSE)
    gaps <- diff(c(began, counts$taken_at, began + spent / 1000))
    told <- list(run_ms = round(spent), cpu_ms = round(used), begin_ms = round(prepared), gap_ms_max = round(1000 * max(gaps)),
                 gap_ms_over_100 = round(1000 * sum(pmax(gaps - 0.1, 0))), gap_ms_over_1000 = round(1000 * sum(pmax(gaps - 1, 0))), safe_points = .Call(engine$native$safe_points_seen), checkpoints = counts$taken,
                 pause_ms_max = if (length(counts$pauses)) round(max(counts$pauses), 2) else 0,
                 refusals = if (length(counts$refusals)) counts$refusals else stats::setNames(list(), character()), resumed = resumed)
    cat(sub("\"refusals\":{\"\":}", "\"refusals\":{}", json(told), fixed = TRUE), "\n", sep = "", file = stderr())
    quit("no", if (well) 0L else 1L, runLast = FALSE)
  }
  at <- value("--at")
  if (plain) engine$remove_faster_compiler()
  began <- .Call(engine$native$now)
  used <- proc.time()
  kept <- file.path(state, "checkpoint")
  engine$engine_state$generation <- 0L
  if (!plain && file.exists(kept)) {
    why <- engine$resume_script(kept)
    if (nzchar(why)) {
      message(why)
      quit("no", 4L, runLast = FALSE)
    }
    resumed <- TRUE
  } else {
    engine$begin_script(parse(program, keep.source = FALSE), plain)
  }
  if (!plain) {
    engine$record_warnings()
    if (!resumed && any(c("--every-ms", "--at") %in% words)) {
      engine$engine_state$folder <- state
      engine$save_initial_checkpoint()
    }
    engine$schedule_checkpoints(state, as.numeric(value("--every-ms", NA)), if (is.null(at)) integer() else as.integer(strsplit(at, ",")[[1L]]), "--die" %in% words)
  }
  prepared <- 1000 * sum((proc.time() - used)[1:2])
  engine$native$run
}))
