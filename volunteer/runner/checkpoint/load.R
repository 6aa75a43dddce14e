# Puts the engine together: evaluates its files into one environment and compiles them there. `natives` is the list of
# the native side's routines; yields the environment.

load_engine <- function(folder, natives) {
  engine <- new.env(parent = baseenv())
  engine$engine <- engine
  engine$native <- natives
  engine$the_flag <- .Call(natives$flag)
  for (file in c("tables", "analysis", "rewrite", "rewrite_loops", "compile", "apply_family", "capture", "session",
                 "resume", "script")) {
    for (e in parse(file.path(folder, paste0(file, ".R")), keep.source = FALSE)) eval(e, engine)
  }
  for (name in ls(engine)) {
    one <- engine[[name]]
    if (is.function(one) && identical(environment(one), engine)) assign(name, compiler::cmpfun(one), envir = engine)
  }
  .Call(natives$set_engine, engine)
  engine$reset_counts()
  engine$install_function_handler()
  .Call(natives$keep_code_of_methods)
  engine$make_family()
  self_test <- function() .External2(natives$self_test, self_test, parent.frame())
  engine$engine_state$true_frames <- self_test()
  engine
}
