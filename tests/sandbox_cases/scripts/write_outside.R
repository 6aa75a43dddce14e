# Plants files outside its folder.
source("prelude.R")

for (folder in c(target("host_folder"), target("guests_folder"), R.home("library"), "/usr/bin", "/etc"))
  attempt(paste("a file in", folder), {
    path <- file.path(folder, "remotist-planted")
    made <- file.create(path)
    if (made && !startsWith(path, target("host_folder"))) unlink(path)
    made
  })
