# Sourced by the R programs of bench/watch: the package, their arguments, and a job of a new account.
library(remotist, lib.loc = "build/r-lib")
arguments <- commandArgs(TRUE)

# Submits a script with one watched variable. The second argument of the program is the job's folder.
watched_job <- function(name, script, variable, ram, disc) {
  folder <- arguments[[2]]
  dir.create(folder)
  writeLines(script, file.path(folder, "main.R"))
  register("bench@example.org", "correct horse battery")
  login("bench@example.org", "correct horse battery")
  addJob(name, "main.R", ram = ram, disc = disc, folder_path = folder, partialResultsVars = variable)
}
