# Compiles rewritten expressions to byte code that shows the script's own: body(f), print(f), sys.call() and
# match.call() are what they are without the engine.

compiler <- asNamespace("compiler")

# The compiler asks a handler for each call that it knows. This one compiles a function's rewritten body, but gives the
# code the script's body.
install_function_handler <- function() {
  handlers <- compiler$inlineHandlers
  .Call(native$set_inlined, handlers)
  entry <- handlers[["function"]]
  plain_handler <- entry$handler
  make_closure <- compiler$MAKECLOSURE.OP
  return_op <- compiler$RETURN.OP
  entry$handler <- function(e, cb, cntxt) {
    known <- attr(e, "remotist")
    if (length(known) < 4L) return(plain_handler(e, cb, cntxt))
    inner <- compiler$make.functionContext(cntxt, e[[2L]], known[[3L]])
    if (compiler$mayCallBrowser(known[[3L]], cntxt)) return(FALSE)
    code <- compiler$genCode(known[[3L]], inner, loc = cb$savecurloc())
    .Call(native$finish_code, code, known[[2L]][[3L]], known[[4L]])
    at <- cb$putconst(list(e[[2L]], code, if (length(e) > 3L) e[[4L]]))
    cb$putcode(make_closure, at)
    if (cntxt$tailcall) cb$putcode(return_op)
    TRUE
  }
  assign("function", entry, envir = handlers)
}

compile_options <- list(suppressAll = TRUE)

# Code for an expression that is evaluated in `env`; `shown` is what it is taken for.
compile_expression <- function(e, env, shown) {
  code <- compiler$compile(e, env, options = compile_options)
  .Call(native$finish_code, code, shown, NULL)
}

# A function of R itself, instrumented as the script's functions are. It looks like the original.
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
