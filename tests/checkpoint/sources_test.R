# The engine's R files: load_order.txt lists each of them once, no function is defined twice, and the walks over expressions in
# C++ and in the R package agree.
#
#   Rscript tests/checkpoint/sources_test.R
here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))))
root <- dirname(dirname(here))
dyn.load(Sys.getenv("REMOTIST_CHECKPOINT_NATIVE", file.path(root, "build/bin/checkpoint_native.so")))
folder <- file.path(root, "volunteer/runner/checkpoint")
loader <- new.env()
sys.source(file.path(folder, "load.R"), loader)
failures <- 0L
claim <- function(name, holds) {
  if (isTRUE(holds)) return(invisible())
  failures <<- failures + 1L
  cat("FAILED: ", name, "\n", sep = "")
}

files <- readLines(file.path(folder, "load_order.txt"))
claim("load_order.txt lists every file but load.R, once", identical(sort(c(files, "load.R")), sort(list.files(folder, "[.]R$"))))
exprs <- unlist(lapply(file.path(folder, files), parse, keep.source = FALSE))
claim("no function of the engine is defined twice", is.null(loader$check_defined_once(exprs)))
twice <- tryCatch(loader$check_defined_once(c(exprs, quote(statement <- function(e) e))), error = conditionMessage)
claim("a second definition is refused with the name", identical(twice, "the checkpoint engine defines statement twice"))

engine <- loader$load_engine_from(folder, .Call("checkpoint_natives"))
package <- new.env(parent = engine)
sys.source(file.path(root, "client-r/R/calls.R"), package)
code <- as.expression(exprs)
for (wanted in list(NULL, "if", c("for", "function", "is_call_to"), "")) {
  for (skipped in list(character(), "function", c("if", "{"))) {
    here <- paste0("(", paste(wanted, collapse = " "), "; ", paste(skipped, collapse = " "), ")")
    native <- engine$calls_to(code, wanted, skipped)
    claim(paste("calls_to() in C++ and in R find the same calls", here), identical(native, package$calls_to(code, wanted, skipped)))
    claim(paste("head_names() in C++ and in R yield the same names", here), identical(engine$head_names(native), package$head_names(native)))
  }
}
cat(if (failures) paste(failures, "failed\n") else "all held\n")
quit("no", as.integer(failures > 0L))
