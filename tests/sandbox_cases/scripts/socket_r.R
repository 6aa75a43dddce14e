# Opens connections by R's own means.
source("prelude.R")

attempt("socketConnection", {
  connection <- socketConnection("127.0.0.1", as.integer(target("port4")), blocking = TRUE, open = "r+b", timeout = 2)
  writeBin(as.raw(1:4), connection)
  close(connection)
  TRUE
})
attempt("serverSocket", {
  close(serverSocket(as.integer(target("port4")) + 1L))
  FALSE
})
