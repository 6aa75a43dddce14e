library(remotist)
register(email, password)
login(email, password)

# A script with its data, in a folder
cat(readLines(file.path(folder, "main.R")), sep = "\n")

# Submit it, with a variable to watch. From here on this session could end
job <- addJob("petals", "main.R", ram = 512, disc = 100, price = 1, folder_path = folder, partialResultsVars = "estimate")
job

# That variable, each time it changes, while the job runs on a lent machine, in a sandbox
plotPartialResult(job, "estimate", text = TRUE, live = TRUE)

# What it printed
waitJob(job, log = TRUE)

# Its variables, loaded as plain data; its files
loadJob(job)
interval
downloadJob(job, tempfile("petals-"))

# What it cost: at most one credit was held, the rest came back
account()
