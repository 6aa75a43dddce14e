# Runs programs through tests/checkpoint/drive.R and reads what it tells of them.

program_files <- function(folder) sort(list.files(folder, "[.]R$", full.names = TRUE))
name_of <- function(file) sub("[.]R$", "", basename(file))

# "" or the package that a program needs and this machine lacks.
lacking <- function(file) {
  line <- grep("^# Needs the package ", readLines(file, 3L), value = TRUE)
  package <- sub("^# Needs the package ([A-Za-z0-9.]+)[.]$", "\\1", line)
  c(package[!vapply(package, function(p) nzchar(system.file(package = p)), NA)], "")[[1L]]
}

drive <- function(file, room, ...) {
  folder <- tempfile("work", room)
  state <- paste0(folder, ".state")
  errors <- paste0(folder, ".err")
  dir.create(folder)
  status <- system2("Rscript", c("--vanilla", "tests/checkpoint/drive.R", file, "--folder", folder, "--state", state, "--warm", ...),
                    stdout = FALSE, stderr = errors)
  lines <- readLines(errors, warn = FALSE)
  unlink(c(folder, state, errors), recursive = TRUE)
  told <- utils::tail(grep("^[{].*[}]$", lines, value = TRUE), 1L)
  if (status != 0L || !length(told)) stop(file, " did not end well: ", paste(utils::tail(lines, 3L), collapse = " / "))
  jsonlite::fromJSON(told)
}

# The least processor time of each way, run in turn: data.frame(name, plain, engine, ratio, begin), in ms.
compare_ways <- function(files, room, rounds) {
  rows <- lapply(files, function(file) {
    package <- lacking(file)
    if (nzchar(package)) {
      cat(sprintf("%-20s skipped: package %s is not installed\n", name_of(file), package))
      return(NULL)
    }
    plain <- engine <- begin <- Inf
    for (round in seq_len(rounds)) {
      plain <- min(plain, drive(file, room, "--plain")$cpu_ms)
      told <- drive(file, room)
      engine <- min(engine, told$cpu_ms)
      begin <- min(begin, told$begin_ms)
    }
    data.frame(name = name_of(file), plain = plain, engine = engine, ratio = engine / plain, begin = begin)
  })
  do.call(rbind, rows)
}

geometric_mean <- function(x) exp(mean(log(x)))
