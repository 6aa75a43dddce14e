# Writes a table through an open connection, reads it back line by line through another, and files each line by its kind.
set.seed(300)
writer <- file("measurements.csv", open = "w")
writeLines("id,kind,value,note", writer)
for (id in 1:7000) {
  kind <- sample(c("temperature", "pressure", "humidity"), 1)
  value <- switch(kind, temperature = rnorm(1, 20, 5), pressure = rnorm(1, 1013, 8), humidity = runif(1, 20, 90))
  note <- if (id %% 17 == 0) "checked" else ""
  writeLines(paste(id, kind, format(value, digits = 10), note, sep = ","), writer)
}
close(writer)

reader <- file("measurements.csv", open = "r")
header <- readLines(reader, n = 1)
outputs <- list()
counts <- c()
sums <- c()
repeat {
  line <- readLines(reader, n = 1)
  if (length(line) == 0) break
  fields <- strsplit(line, ",", fixed = TRUE)[[1]]
  kind <- fields[2]
  if (is.null(outputs[[kind]])) {
    outputs[[kind]] <- file(paste0(kind, ".txt"), open = "w")
    counts[kind] <- 0
    sums[kind] <- 0
  }
  writeLines(sprintf("%s %s", fields[1], fields[3]), outputs[[kind]])
  counts[kind] <- counts[kind] + 1
  sums[kind] <- sums[kind] + as.numeric(fields[3])
}
close(reader)
for (output in outputs) close(output)
rm(reader, writer, output, outputs)

means <- sums / counts
back <- lapply(names(counts), function(kind) read.table(paste0(kind, ".txt"), col.names = c("id", "value")))
names(back) <- names(counts)
whole <- read.csv("measurements.csv")
agree <- all(sapply(names(back), function(kind) all(back[[kind]]$id == whole$id[whole$kind == kind])))
write.csv(aggregate(value ~ kind, whole, mean), "means.csv", row.names = FALSE)
unlink("humidity.txt")
