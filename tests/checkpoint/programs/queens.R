# Places queens on boards of several sizes by backtracking, with bits, with min-conflicts, and walks a knight over a board.
set.seed(1848)
safe <- function(columns, column) {
  row <- length(columns) + 1
  for (r in seq_along(columns)) {
    if (columns[r] == column || abs(columns[r] - column) == row - r) return(FALSE)
  }
  TRUE
}
all_placements <- list()
place <- function(n, columns = integer(0)) {
  if (length(columns) == n) {
    all_placements[[length(all_placements) + 1]] <<- columns
    return(1)
  }
  total <- 0
  for (column in 1:n) if (safe(columns, column)) total <- total + place(n, c(columns, column))
  total
}
counts <- sapply(4:8, place)

count_bits <- function(n) {
  full <- bitwShiftL(1L, n) - 1L
  search <- function(columns, left, right) {
    if (columns == full) return(1L)
    free <- bitwAnd(full, bitwNot(bitwOr(columns, bitwOr(left, right))))
    found <- 0L
    while (free != 0L) {
      bit <- bitwAnd(free, -free)
      free <- bitwXor(free, bit)
      found <- found + search(bitwOr(columns, bit), bitwAnd(full, bitwShiftL(bitwOr(left, bit), 1L)),
                              bitwShiftR(bitwOr(right, bit), 1L))
    }
    found
  }
  search(0L, 0L, 0L)
}
bit_counts <- vapply(4:9, count_bits, 0L)

min_conflicts <- function(n, steps_max = 400) {
  columns <- sample(n)
  conflicts <- function(row, column) {
    apart <- abs(columns[-row] - column)
    sum(apart == 0 | apart == abs(seq_len(n)[-row] - row))
  }
  for (step in 1:steps_max) {
    bad <- Filter(function(row) conflicts(row, columns[row]) > 0, seq_len(n))
    if (length(bad) == 0) return(list(columns = columns, steps = step))
    row <- bad[sample.int(length(bad), 1)]
    values <- vapply(seq_len(n), function(column) conflicts(row, column), 0)
    best <- which(values == min(values))
    columns[row] <- best[sample.int(length(best), 1)]
  }
  NULL
}
large <- replicate(4, min_conflicts(16), simplify = FALSE)
steps <- sapply(large, function(found) if (is.null(found)) NA else found$steps)

# Warnsdorff: always on to the square with the fewest ways out.
jumps <- rbind(c(1, 2), c(2, 1), c(2, -1), c(1, -2), c(-1, -2), c(-2, -1), c(-2, 1), c(-1, 2))
board <- matrix(0L, 8, 8)
is_free <- function(to) all(to >= 1 & to <= 8) && board[to[1], to[2]] == 0L
ways <- function(at) Filter(is_free, lapply(1:8, function(k) at + jumps[k, ]))
at <- c(1, 1)
move <- 0L
repeat {
  move <- move + 1L
  board[at[1], at[2]] <- move
  onward <- ways(at)
  if (length(onward) == 0) break
  at <- onward[[which.min(vapply(onward, function(to) length(ways(to)), 0L))]]
}
