# Conway's life on a torus as a matrix, a sparse one as a list of cells, and a rule-110 automaton.
set.seed(1970)
neighbours <- function(world) {
  n <- nrow(world)
  m <- ncol(world)
  total <- matrix(0L, n, m)
  for (down in -1:1) {
    for (right in -1:1) {
      if (down == 0 && right == 0) next
      total <- total + world[(seq_len(n) + down - 1) %% n + 1, (seq_len(m) + right - 1) %% m + 1]
    }
  }
  total
}
world <- matrix(rbinom(48 * 48, 1, 0.35), 48)
storage.mode(world) <- "integer"
alive <- integer(1200)
for (generation in seq_along(alive)) {
  around <- neighbours(world)
  world <- (around == 3L | (world == 1L & around == 2L)) * 1L
  alive[generation] <- sum(world)
}

# A glider and an r-pentomino without borders: a cell is the name "x,y" in a list.
cells <- list("1,0" = c(1, 0), "2,1" = c(2, 1), "0,2" = c(0, 2), "1,2" = c(1, 2), "2,2" = c(2, 2))
for (at in list(c(31, 30), c(32, 30), c(30, 31), c(31, 31), c(31, 32))) cells[[paste(at, collapse = ",")]] <- at
advance <- function(cells) {
  near <- list()
  for (cell in cells) {
    for (dx in -1:1) for (dy in -1:1) {
      name <- paste0(cell[1] + dx, ",", cell[2] + dy)
      known <- near[[name]]
      if (is.null(known)) known <- list(at = c(cell[1] + dx, cell[2] + dy), count = 0)
      if (dx != 0 || dy != 0) known$count <- known$count + 1
      near[[name]] <- known
    }
  }
  stays <- Filter(function(name) {
    count <- near[[name]]$count
    count == 3 || (count == 2 && !is.null(cells[[name]]))
  }, names(near))
  lapply(near[stays], `[[`, "at")
}
sizes <- length(cells)
while (length(sizes) < 40) {
  cells <- advance(cells)
  sizes <- c(sizes, length(cells))
}

row <- c(integer(99), 1L)
rule <- as.integer(intToBits(110))[1:8]
picture <- character(60)
for (line in 1:60) {
  picture[line] <- paste(c(".", "#")[row + 1], collapse = "")
  row <- rule[c(row[100], row[-100]) * 4 + row * 2 + c(row[-1], row[1]) + 1]
}
