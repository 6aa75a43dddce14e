# Is cancelled with a clean-up that never ends.
source("prelude.R")

work <- function() {
  on.exit(repeat tryCatch(Sys.sleep(1), interrupt = identity))
  trying("to outlive its cancellation")
  repeat tryCatch(Sys.sleep(1), interrupt = identity)
}
repeat tryCatch(work(), interrupt = identity)
