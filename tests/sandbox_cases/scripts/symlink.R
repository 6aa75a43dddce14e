# Reads through a link, and leaves one for the host to follow.
source("prelude.R")

attempt("a link to the host's file", file.symlink(target("secret"), "link") && holds_secret("link"))
invisible(file.symlink(target("token"), "left-link"))
