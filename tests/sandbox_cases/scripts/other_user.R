# Reads what other people have in their folders.
source("prelude.R")

attempt("another user's file", holds_secret(target("diary")))
