# Leaves files that are together longer than its disc and take next to no room.
source("prelude.R")

allowed <- as.numeric(target("disc_mb"))
trying("ten files of ", allowed, " MB without a block in them")
for (i in 1:10) {
  file <- file(paste0("sparse-", i), "wb")
  seek(file, allowed * 2^20 - 1, rw = "write")
  writeBin(as.raw(1), file)
  close(file)
}
contained(sum(file.size(paste0("sparse-", 1:10))) / 2^20, " MB were made")
