# Reads and writes the folders of other jobs.
source("prelude.R")

mine <- getwd()
beside <- c(target("other_job"), file.path(mine, "../../other/work"), file.path(target("neighbour"), "work"))
for (folder in beside) {
  attempt(paste("reading in", folder), holds_secret(file.path(folder, "data.txt")))
  attempt(paste("writing in", folder), file.create(file.path(folder, "planted")))
}
