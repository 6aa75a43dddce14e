# Sorts more numbers than it wants to hold: sorted runs in scratch files, merged through open connections, then deleted.
set.seed(1973)
runs <- 6
per_run <- 1000
dir.create("scratch")
run_file <- function(k) file.path("scratch", sprintf("run%02d.txt", k))
insertion_sort <- function(v) {
  for (i in seq_along(v)[-1]) {
    key <- v[i]
    j <- i - 1
    while (j > 0 && v[j] > key) {
      v[j + 1] <- v[j]
      j <- j - 1
    }
    v[j + 1] <- key
  }
  v
}

checksum <- 0
for (k in 1:runs) {
  values <- sample.int(100000, per_run)
  checksum <- checksum + sum(values)
  write(insertion_sort(values), run_file(k), ncolumns = 1)
}

merge_runs <- function(files, into) {
  inputs <- lapply(files, file, open = "r")
  output <- file(into, open = "w")
  on.exit({
    for (input in inputs) close(input)
    close(output)
  })
  heads <- vapply(inputs, function(input) scan(input, n = 1, quiet = TRUE), 0)
  merged <- 0
  while (any(is.finite(heads))) {
    k <- which.min(heads)
    writeLines(as.character(heads[k]), output)
    merged <- merged + 1
    line <- readLines(inputs[[k]], n = 1)
    heads[k] <- if (length(line)) as.numeric(line) else Inf
  }
  merged
}
merged <- merge_runs(sapply(1:runs, run_file), "sorted.txt")
scratch_before <- list.files("scratch")
unlink("scratch", recursive = TRUE)
scratch_gone <- !dir.exists("scratch")

sorted <- scan("sorted.txt", quiet = TRUE)
in_order <- !is.unsorted(sorted)
kept_sum <- sum(sorted) == checksum
saveRDS(list(head = head(sorted), tail = tail(sorted)), "ends.rds")
ends <- readRDS("ends.rds")
dput(ends, "ends.R")
same_ends <- identical(dget("ends.R"), ends)
dump(c("checksum", "merged"), "numbers.R")
