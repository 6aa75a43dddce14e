# Asks for a name on the network.
source("prelude.R")

attempt("a name", {
  address <- nsl(target("dns_name"))
  is.character(address)
})
