# Errors, warnings, exits and restarts.
log <- character()
note <- function(x) log <<- c(log, x)
slow <- function(n) { s <- 0; for (i in 1:n) s <- s + cos(i) ^ 2; s }
e1 <- tryCatch({ slow(300); stop("E1") }, error = function(e) conditionMessage(e), finally = note("finally 1"))
e2 <- try({ for (i in 1:9) { slow(200); if (i == 7) stop("E2") } }, silent = TRUE)
e2 <- conditionMessage(attr(e2, "condition"))
e3 <- withCallingHandlers({ for (i in 1:5) { slow(200); warning(paste("W", i)) }; "end" },
                          warning = function(w) { note(conditionMessage(w)); invokeRestart("muffleWarning") })
e4 <- suppressWarnings({ x <- 0; for (i in 1:6) { x <- x + slow(200); warning("quiet") }; x })
inner <- function(n) { on.exit(note(paste("exit", n))); for (i in 1:5) slow(100); if (n == 0) stop("bottom"); inner(n - 1) }
e5 <- tryCatch(inner(4), error = function(e) conditionMessage(e))
e6 <- (function() { tryCatch({ for (i in 1:50) { slow(100); if (i == 20) return("returned") }; "no" }, finally = note("finally 6")) })()
e7 <- tryCatch({ tryCatch({ slow(200); stop("in") }, error = function(e) { slow(200); stop("out") }) }, error = conditionMessage)
e8 <- withRestarts({ slow(200); invokeRestart("mine", 7) }, mine = function(v) v * 2)
e9 <- tryCatch({ warning("w9"); 1 }, warning = function(w) { s <- slow(300); paste("handled", conditionMessage(w)) })
local({ for (i in 1:6) slow(150); note("local") })
e10 <- local({ a <- 2; for (i in 1:6) a <- a + slow(150); a })
count <- 0; for (k in 1:12) { ok <- tryCatch({ if (k %% 4 == 0) stop("skip"); slow(150); TRUE }, error = function(e) FALSE); if (!ok) next; count <- count + 1 }
