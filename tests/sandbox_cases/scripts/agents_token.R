# Reads the agent's token.
source("prelude.R")

attempt("the agent's token", holds_secret(target("token")))
