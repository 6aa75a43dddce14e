# Compiles rewritten expressions to byte code that shows the script's own: body(f), print(f), sys.call() and
# match.call() are what they are without the engine.

compiler <- asNamespace("compiler")

# The compiler has a handler for each function that it inlines. This one compiles the rewritten body of a function literal, and
# puts the script's body among the constants of the code.
install_function_handler <- function() {
  handlers <- compiler$inlineHandlers
  .Call(native$set_inlined, handlers)
  entry <- handlers[["function"]]
  original_handler <- entry$handler
  make_closure <- compiler$MAKECLOSURE.OP
  return_op <- compiler$RETURN.OP
  entry$handler <- function(e, cb, cntxt) {
    known <- attr(e, "remotist")
    if (is.null(known$info)) return(original_handler(e, cb, cntxt))
    inner <- compiler$make.functionContext(cntxt, e[[2L]], known$body)
    if (compiler$mayCallBrowser(known$body, cntxt)) return(FALSE)
    code <- compiler$genCode(known$body, inner, loc = cb$savecurloc())
    .Call(native$finish_code, code, known$original[[3L]], known$info)
    at <- cb$putconst(list(e[[2L]], code, if (length(e) > 3L) e[[4L]]))
    cb$putcode(make_closure, at)
    if (cntxt$tailcall) cb$putcode(return_op)
    TRUE
  }
  assign("function", entry, envir = handlers)
}

compile_options <- list(suppressAll = TRUE)

# Code for an expression that is evaluated in `env`; `shown` is the expression that the code shows.
compile_expression <- function(e, env, shown) {
  code <- compiler$compile(e, env, options = compile_options)
  .Call(native$finish_code, code, shown, NULL)
}

# Instruments a function of R like those of a script. It shows the original body.
instrument <- function(f, body = base::body(f), known = character()) {
  kept <- as.list(rewriting)[c("facts", "once")]
  on.exit(list2env(kept, rewriting))
  rewriting$once <- FALSE
  rewriting$facts <- list(functions = list(), suspendable = known, recursive = character(), redefined = character(),
                          super = character(), formals = names(formals(f)), subscripts_lazy = FALSE,
                          active = FALSE)
  new <- statement(body)
  info <- new.env(hash = FALSE, parent = emptyenv())
  info$body <- new
  context <- compiler$make.toplevelContext(compiler$makeCenv(environment(f)), compile_options)
  code <- compiler$genCode(new, compiler$make.functionContext(context, formals(f), new))
  .Call(native$finish_code, code, base::body(f), info)
  .Internal(bcClose(formals(f), code, environment(f)))
}
