# Puts the engine together: evaluates its expressions, those of tables.R first, into one environment and compiles them there.
# `natives` is the list of the native side's routines; yields the environment. Where many processes load it, `cache` is a file
# that keeps the compiled functions, as compiling takes most of the time, unless it is older than `changed`. `lazily`: what few
# scripts need is made when one does.

load_engine <- function(exprs, natives, cache = NULL, changed = NULL, lazily = FALSE) {
  engine <- new.env(parent = baseenv())
  engine$engine <- engine
  engine$native <- natives
  engine$the_flag <- .Call(natives$flag)
  for (e in exprs) eval(e, engine)
  compile_engine(engine, cache, changed)
  .Call(natives$set_engine, engine)
  engine$reset_counts()
  engine$install_function_handler()
  engine$install_faster_compiler()
  .Call(natives$keep_code_of_methods)
  .Call(natives$note_finalizers)
  .Call(natives$note_loading)
  self_test <- function() .External2(natives$self_test, self_test, parent.frame())
  engine$engine_state$true_frames <- self_test()
  engine$engine_state$held_values <- engine$holds_values()
  engine$make_family(lazily)
  engine$name_environments()
  engine
}

compile_engine <- function(engine, cache, changed) {
  if (!is.null(cache) && file.exists(cache) && file.mtime(cache) > changed) {
    compiled <- tryCatch(readRDS(cache, refhook = function(name) engine), error = function(e) NULL)
    if (!is.null(compiled)) {
      list2env(compiled, engine)
      return(invisible())
    }
  }
  own <- Filter(function(name) is.function(engine[[name]]) && identical(environment(engine[[name]]), engine), ls(engine))
  for (name in own) assign(name, compiler::cmpfun(engine[[name]]), envir = engine)
  engine$quick <- lapply(engine$quick, compiler::cmpfun)
  own <- c(own, "quick", "strict_names")
  force(engine$strict_names)
  if (!is.null(cache)) {
    part <- paste0(cache, ".", Sys.getpid())
    saveRDS(mget(own, envir = engine), part, refhook = function(env) if (identical(env, engine)) "engine")
    file.rename(part, cache)
  }
  invisible()
}

# The same from its files in a folder.
load_engine_from <- function(folder, natives, cache = NULL, lazily = FALSE) {
  files <- setdiff(list.files(folder, "[.]R$"), "load.R")
  files <- file.path(folder, unique(c("tables.R", files)))
  load_engine(unlist(lapply(files, parse, keep.source = FALSE)), natives, cache, max(file.mtime(files)), lazily)
}
