# Solves sudokus by backtracking on the cell with the fewest candidates, and counts the steps that it took back.
puzzles <- c(
  "530070000600195000098000060800060003400803001700020006060000280000419005000080079",
  "000000907000420180000705026100904000050000040000507009920108000034059000507000000",
  "100007090030020008009600500005300900010080002600004000300000010040000007007000300",
  "000000010400000000020000000000050407008000300001090000300400200050100000000806000"
)
read_puzzle <- function(text) matrix(as.integer(strsplit(text, "")[[1]]), 9, byrow = TRUE)

candidates <- function(board, row, column) {
  rows <- (row - 1) %/% 3 * 3 + 1:3
  columns <- (column - 1) %/% 3 * 3 + 1:3
  setdiff(1:9, c(board[row, ], board[, column], board[rows, columns]))
}

tried <- 0
undone <- 0
solve_board <- function(board, depth = 0) {
  if (tried > 500) return(NULL)
  best <- NULL
  best_at <- NULL
  for (cell in which(board == 0)) {
    row <- (cell - 1) %% 9 + 1
    column <- (cell - 1) %/% 9 + 1
    possible <- candidates(board, row, column)
    if (length(possible) == 0) return(NULL)
    if (is.null(best) || length(possible) < length(best)) {
      best <- possible
      best_at <- cell
    }
    if (length(best) == 1) break
  }
  if (is.null(best_at)) return(board)
  for (digit in best) {
    tried <<- tried + 1
    board[best_at] <- digit
    solution <- solve_board(board, depth + 1)
    if (!is.null(solution)) return(solution)
    undone <<- undone + 1
  }
  NULL
}

is_solved <- function(board) {
  whole <- function(v) identical(sort(v), 1:9)
  boxes <- lapply(0:8, function(k) as.vector(board[k %/% 3 * 3 + 1:3, k %% 3 * 3 + 1:3]))
  all(apply(board, 1, whole), apply(board, 2, whole), vapply(boxes, whole, NA))
}

solutions <- list()
effort <- NULL
for (number in seq_along(puzzles)) {
  tried <- 0
  undone <- 0
  solutions[number] <- list(solve_board(read_puzzle(puzzles[number])))
  effort <- rbind(effort, c(puzzle = number, tried = tried, undone = undone))
}
solved <- vapply(solutions, function(board) !is.null(board) && is_solved(board), NA)
first_rows <- sapply(Filter(Negate(is.null), solutions), function(board) paste(board[1, ], collapse = ""))
