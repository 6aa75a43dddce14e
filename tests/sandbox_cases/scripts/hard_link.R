# Gives a file of the host a second name in its own folder.
source("prelude.R")

attempt("a hard link to the host's file", file.link(target("secret"), "hard") && holds_secret("hard"))
