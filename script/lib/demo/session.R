library(remotist)
register(email, password)
login(email, password)

# A script with its data, in a folder
cat(readLines(file.path(folder, "main.R")), sep = "\n")

# Off it goes. From here on this session could end
job <- addJob("petals", "main.R", ram = 512, disc = 100, price = 1, folder_path = folder)
job

# What it prints and how far it is, while it runs on a lent machine, in a sandbox
waitJob(job, log = TRUE)

# Its variables, loaded as plain data; its files
loadJob(job)
interval
downloadJob(job, tempfile("petals-"))

# What it cost: at most one credit was held, the rest came back
account()
