# Loads the engine: evaluates the expressions of its files, in the order of load_order.txt, into one environment and compiles its
# functions there. `natives` is the list of the native side's routines; yields the environment. Where many processes load it,
# `cache` is a file that keeps the compiled functions, since compiling takes most of the time, unless it is older than `changed`.
# `lazily`: apply functions are made when a script first needs them.

load_engine <- function(exprs, natives, cache = NULL, changed = NULL, lazily = FALSE) {
  engine <- new.env(parent = baseenv())
  engine$engine <- engine
  engine$native <- natives
  engine$the_flag <- .Call(natives$flag)
  check_defined_once(exprs)
  for (e in exprs) eval(e, engine)
  compile_engine(engine, cache, changed)
  .Call(natives$set_engine, engine)
  engine$reset_counts()
  engine$session$before <- loadedNamespaces()
  engine$install_function_handler()
  engine$install_faster_compiler()
  .Call(natives$keep_code_of_methods)
  .Call(natives$record_finalizers)
  .Call(natives$record_loading)
  self_test <- function() .External2(natives$self_test, self_test, parent.frame())
  engine$engine_state$true_frames <- self_test()
  engine$engine_state$can_read_stack <- engine$test_stack_reading()
  engine$make_apply_functions(lazily)
  engine$name_environments()
  engine
}

# A later definition would silently replace an earlier one.
check_defined_once <- function(exprs) {
  assigned <- Filter(function(e) is.call(e) && identical(e[[1L]], quote(`<-`)) && is.symbol(e[[2L]]), exprs)
  names <- vapply(assigned, function(e) as.character(e[[2L]]), "")
  if (anyDuplicated(names)) stop("the checkpoint engine defines ", names[duplicated(names)][[1L]], " twice")
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
  engine$faster <- lapply(engine$faster, compiler::cmpfun)
  own <- c(own, "faster", "strict_names")
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
  files <- file.path(folder, readLines(file.path(folder, "load_order.txt")))
  load_engine(unlist(lapply(files, parse, keep.source = FALSE)), natives, cache, max(file.mtime(files)), lazily)
}
