# Looks for the agent's secrets in environments.
source("prelude.R")

attempt("its own environment", any(grepl(target("canary_word"), Sys.getenv(), fixed = TRUE)))
for (pid in c("self", "1", target("agent"), target("zygote"))) {
  path <- paste0("/proc/", pid, "/environ")
  attempt(path, {
    bytes <- readBin(path, "raw", 1e6)
    bytes[bytes == 0] <- as.raw(10)
    grepl(target("canary_word"), rawToChar(bytes), fixed = TRUE)
  })
}
