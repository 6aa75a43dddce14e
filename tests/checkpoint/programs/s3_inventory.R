# An inventory in S3: constructors, generics, NextMethod, operators for a class of money, and a tree that prints itself.
set.seed(11)
money <- function(x, currency = "EUR") structure(list(x = x, currency = currency), class = "money")
rates <- c(EUR = 1, USD = 1.1, GBP = 0.85)
convert <- function(m, to) money(m$x / rates[[m$currency]] * rates[[to]], to)
Ops.money <- function(e1, e2) {
  if (is.numeric(e1)) return(money(get(.Generic)(e1, e2$x), e2$currency))
  if (is.numeric(e2)) return(money(get(.Generic)(e1$x, e2), e1$currency))
  value <- get(.Generic)(e1$x, convert(e2, e1$currency)$x)
  if (.Generic %in% c("+", "-")) money(value, e1$currency) else value
}
format.money <- function(x, ...) sprintf("%.2f %s", x$x, x$currency)
toString.money <- function(x, ...) paste0("<", format(x), ">")

item <- function(name, price, ..., class = NULL) structure(list(name = name, price = price, ...), class = c(class, "item"))
perishable <- function(name, price, days) item(name, price, days = days, class = "perishable")
fragile <- function(name, price, wrap) item(name, price, wrap = wrap, class = "fragile")

cost <- function(thing, ...) UseMethod("cost")
cost.default <- function(thing, ...) stop("no cost known for ", class(thing)[1])
cost.item <- function(thing, day = 0, ...) thing$price
cost.perishable <- function(thing, day = 0, ...) {
  full <- NextMethod()
  left <- max(0, thing$days - day) / thing$days
  full * left
}
cost.fragile <- function(thing, ...) NextMethod() + money(thing$wrap)
summary.stock <- function(object, day, ...) {
  total <- money(0)
  for (thing in object) total <- total + cost(thing, day = day)
  structure(list(day = day, total = total, count = length(object)), class = "stock_summary")
}
format.stock_summary <- function(x, ...) paste0("day ", x$day, ": ", x$count, " things worth ", format(x$total))
"[.stock" <- function(x, i) structure(unclass(x)[i], class = "stock")
"$<-.stock" <- function(x, name, value) {
  x <- unclass(x)
  for (i in seq_along(x)) x[[i]][[name]] <- value
  structure(x, class = "stock")
}
sort.stock <- function(x, decreasing = FALSE, ...) {
  x[order(sapply(x, function(thing) cost(thing)$x), decreasing = decreasing)]
}

stock <- structure(lapply(1:150, function(i) {
  price <- money(round(runif(1, 1, 60), 2), sample(names(rates), 1))
  switch(sample(c("plain", "perishable", "fragile"), 1),
    plain = item(paste0("item", i), price),
    perishable = perishable(paste0("food", i), price, sample(5:30, 1)),
    fragile = fragile(paste0("glass", i), price, runif(1, 0.5, 3)))
}), class = "stock")

reports <- character(0)
for (day in seq(0, 30, by = 1)) {
  if (day %% 10 == 5) stock <- stock[-sample(length(stock), 5)]
  reports <- c(reports, format(summary(stock, day)))
}
stock$checked <- TRUE
dearest <- sapply(sort(stock, decreasing = TRUE)[1:5], function(thing) paste(thing$name, toString(cost(thing))))
cheaper <- sum(sapply(stock, function(thing) cost(thing) < money(20, "USD")))
problem <- tryCatch(cost(42), error = conditionMessage)
kinds <- table(sapply(stock, function(thing) class(thing)[1]))
