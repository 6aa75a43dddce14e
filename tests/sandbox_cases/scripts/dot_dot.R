# Climbs out of its folder.
source("prelude.R")

attempt("the host's file by ..", holds_secret(paste0(strrep("../", 24), sub("^/", "", target("secret")))))
attempt("the folder above its own", any(grepl("^other$", list.files("../.."))))
