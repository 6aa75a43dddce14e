# Reads a file of the host by its path.
source("prelude.R")

attempt("the host's file by its path", holds_secret(target("secret")))
