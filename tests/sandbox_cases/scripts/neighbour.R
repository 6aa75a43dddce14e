# Runs beside the hostile ones until it is told to finish; its answer must be right.
source("prelude.R")

trying("to be a good neighbour")
data <- readLines("data.txt")
rounds <- 0
while (!file.exists("finish")) {
  rounds <- rounds + 1
  stopifnot(identical(readLines("data.txt"), data), sum(as.numeric(1:1e4)) == 50005000, system("exit 7") == 7)
  Sys.sleep(0.1)
}
total <- sum(1:1000)
writeLines(c(as.character(total), as.character(rounds > 0), list.files()), "answer.txt")
