# Opens the debugger.
source("prelude.R")

trying("browser()")
options(error = quote(recover()))
debug(identity)
identity(1)
browser()
kept <- "kept"
