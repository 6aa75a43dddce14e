# The engine's compiler makes the code that R's own makes: for each function of R's packages, where it is at home and as a
# script's.
#
#   Rscript tests/checkpoint/compiler_test.R [PACKAGE...]
here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))))
root <- dirname(dirname(here))
dyn.load(Sys.getenv("REMOTIST_CHECKPOINT_NATIVE", file.path(root, "build/bin/checkpoint_native.so")))
folder <- file.path(root, "volunteer/runner/checkpoint")
source(file.path(folder, "load.R"))
engine <- load_engine_from(folder, .Call("checkpoint_natives"))
if (!engine$is_known_compiler()) {
  cat("another compiler than the known one: nothing is replaced\n")
  quit("no", 0L)
}

packages <- commandArgs(TRUE)
if (!length(packages)) packages <- c("splines", "parallel", "stats4")
written <- function(f) {
  for (name in c("srcref", "wholeSrcref", "srcfile")) attr(f, name) <- NULL
  f <- as.function(c(formals(f), utils::removeSource(f) |> body()), envir = environment(f))
  f
}
functions <- list()
for (package in packages) {
  namespace <- asNamespace(package)
  for (name in ls(namespace, all.names = TRUE)) {
    f <- get(name, namespace)
    if (typeof(f) != "closure" || !is.language(body(f))) next
    at_home <- written(f)
    as_script <- at_home
    environment(as_script) <- globalenv()
    functions[[paste0(package, "::", name)]] <- at_home
    functions[[paste0(name, " in a script")]] <- as_script
  }
}
compiled <- function() lapply(functions, function(f) serialize(compiler::cmpfun(f), NULL))
seconds <- function(value) system.time(value)[["user.self"]]
ours_took <- seconds(ours <- compiled())
engine$remove_faster_compiler()
its_took <- seconds(its <- compiled())
differing <- names(functions)[!mapply(identical, ours, its)]
cat(sprintf("%d functions, %d differ; %.2f s, R's own %.2f s\n", length(functions), length(differing), ours_took, its_took))
if (length(differing)) cat("  ", utils::head(differing, 10L), sep = "\n  ")
quit("no", as.integer(length(differing) > 0L))
