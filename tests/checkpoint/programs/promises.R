# Lazy evaluation: promises, delayedAssign, missing, match.arg, dots, substitute, force, defaults that see each other.
set.seed(1976)
evaluated <- character(0)
trace_value <- function(name, value) {
  evaluated <<- c(evaluated, name)
  value
}
slow_sum <- function(n) {
  total <- 0
  for (i in seq_len(n)) total <- total + sqrt(i)
  total
}

choose <- function(flag, yes, no) if (flag) yes else no
picked <- vapply(1:60, function(i) {
  choose(i %% 3 == 0, trace_value(paste0("y", i), slow_sum(60000)), trace_value(paste0("n", i), i))
}, 0)

delayedAssign("expensive", trace_value("expensive", slow_sum(2000000)))
before_use <- "expensive" %in% evaluated
used_twice <- expensive + expensive
uses <- sum(evaluated == "expensive")

box_volume <- function(width, depth = width, height = area / 10, area = width * depth) {
  if (missing(height)) area <- area + 1
  c(volume = area * height, given = nargs(), lazy = missing(depth))
}
volumes <- rbind(box_volume(2), box_volume(2, 3), box_volume(2, height = 5), box_volume(2, 3, area = 100))

centre <- function(x, type = c("mean", "median", "trimmed"), ...) {
  type <- match.arg(type)
  switch(type, mean = mean(x, ...), median = median(x, ...), trimmed = mean(x, trim = 0.1, ...))
}
sample_values <- c(rexp(200), NA)
centres <- sapply(c("mean", "med", "tr"), function(type) centre(sample_values, type, na.rm = TRUE))
complaint <- tryCatch(centre(1, "mode"), error = function(e) class(e)[1])

tally <- function(...) {
  arguments <- list(...)
  labels <- vapply(as.list(substitute(list(...)))[-1], function(e) paste(deparse(e), collapse = ""), "")
  out <- list()
  for (i in seq_along(arguments)) {
    label <- if (nzchar(names(arguments)[i])) names(arguments)[i] else labels[i]
    out[[label]] <- sum(arguments[[i]])
  }
  if (...length() > 2) out$third <- ...elt(3)
  out
}
tallied <- tally(first = 1:10, slow_sum(10) * 2, 3 + 4)

adders <- list()
for (k in 1:5) adders[[k]] <- local({ step <- k; function(x) x + step })
lazy_adders <- lapply(1:5, function(k) { force(k); function(x) x + k })
added <- vapply(1:5, function(i) adders[[i]](10) + lazy_adders[[i]](100), 0)

unless <- function(condition, expression, otherwise) {
  expression <- substitute(expression)
  if (!condition) eval(expression, parent.frame()) else if (missing(otherwise)) NULL else otherwise
}
total <- 0
for (i in 1:50000) unless(i %% 5 == 0, total <- total + i)

pass_on <- function(...) inner(...)
inner <- function(a, b = stop("b is needed"), ...) if (missing(b)) "without b" else paste("with b", b)
passed <- c(pass_on(1), pass_on(1, 2), pass_on(b = "named", 1))
stream <- function(from) list(head = from, tail = function() stream((from * 3) %% 1000003))
numbers <- stream(7)
for (i in 1:2000) numbers <- numbers$tail()
last_of_stream <- numbers$head
