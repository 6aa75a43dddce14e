# Jobs from R to a market in containers, one for each container that tests/e2e/compose.sh kills while it runs: this names them, and
# the job's id goes to the file FOLDER/CONTAINER.
#   Rscript jobs.R FOLDER CONTAINER…
source("tests/e2e/lib/session.R")

folder <- commandArgs(TRUE)[[1L]]
steps <- 10L
new_account("containers")
for (container in commandArgs(TRUE)[-1L]) {
  claim(paste("a job is completed though the", container, "is killed"), {
    job <- addJob(container, "main.R",
      ram = 256, disc = 50, price = 2, partialResultsVars = "i",
      folder_path = job_folder("main.R" = sprintf("s <- 0L\nfor (i in 1:%d) { s <- s + i; Sys.sleep(1) }", steps))
    )
    writeLines(job$id, file.path(folder, container))
    done <- waitJob(job)
    where <- new.env()
    loadJob(job, envir = where)
    expect(done$state == "completed", identical(where$s, sum(seq_len(steps))))
  })
  claim("and no change of its watched variable is lost or told twice", {
    history <- loadPartialResultHistory(job, "i")
    expect(identical(unlist(history$value[!history$superseded]), seq_len(steps)))
  })
}
expect(account()$held == 0, account()$balance <= 100)
