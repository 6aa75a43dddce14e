# Functional style: Map, Filter, Reduce with accumulation, composition, do.call, Position, rapply, mapply, pipes.
set.seed(77)
compose <- function(...) {
  steps <- list(...)
  function(x) Reduce(function(value, step) step(value), steps, x)
}
curry <- function(f, x) function(...) f(x, ...)

people <- Map(function(name, age, town) list(name = name, age = age, town = town),
              sprintf("p%03d", 1:400), sample(18:90, 400, TRUE), sample(c("Lisboa", "Porto", "Braga", "Faro"), 400, TRUE))
adults <- Filter(function(p) p$age >= 30 && p$age < 65, people)
by_town <- Reduce(function(groups, p) {
  groups[[p$town]] <- c(groups[[p$town]], p$age)
  groups
}, adults, list())
town_summary <- do.call(rbind, Map(function(town, ages) data.frame(town = town, n = length(ages), mean = mean(ages)),
                                   names(by_town), by_town))

balance <- Reduce(function(money, change) max(0, money * 1.01 + change), rnorm(4000, 0, 10), 100, accumulate = TRUE)
backwards <- Reduce(function(x, y) paste0("(", x, y, ")"), letters[1:12], right = TRUE, accumulate = TRUE)
ruined <- Position(function(m) m == 0, balance)
rich <- Find(function(m) m > 1000, balance)

normalise <- compose(function(v) v - mean(v), function(v) v / sd(v), curry(pmin, 2), sort)
normalised <- lapply(split(balance[1:4000], rep(1:200, each = 20)), normalise)
spread <- vapply(normalised, function(v) c(low = v[1], high = v[length(v)]), c(low = 0, high = 0))

# The digits of a number, n digits at a time, and a number that lands on itself.
digits <- function(n) as.integer(strsplit(as.character(n), "")[[1]])
happy <- function(n) {
  seen <- c()
  while (n != 1 && !n %in% seen) {
    seen <- c(seen, n)
    n <- sum(digits(n)^2)
  }
  n == 1
}
happy_numbers <- Filter(happy, 1:6000)

nested <- list(a = 1:3, b = list(c = "x", d = list(e = c(2.5, 3.5), f = "y")), g = TRUE)
doubled <- rapply(nested, function(x) x * 2, classes = c("integer", "numeric"), how = "replace")
shouted <- rapply(nested, toupper, classes = "character", how = "unlist")
depth <- function(x) if (is.list(x)) 1 + max(0, sapply(x, depth)) else 0
nesting <- depth(nested)
zipped <- mapply(function(x, y, sep) paste(x, y, sep = sep), letters[1:5], LETTERS[5:1], c("-", "+"), USE.NAMES = FALSE) |>
  suppressWarnings()
squares <- 1:20 |> lapply(FUN = \(x) x^2) |> Filter(f = \(x) x %% 3 == 1) |> unlist()
arguments <- list(1:10, trim = 0.1)
trimmed <- do.call("mean", arguments)
