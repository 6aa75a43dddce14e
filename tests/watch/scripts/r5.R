Stack <- setRefClass("Stack", fields = list(items = "list", n = "numeric"), methods = list(
  push = function(x) { items[[length(items) + 1]] <<- x; n <<- length(items) },
  pop = function() { v <- items[[length(items)]]; items[[length(items)]] <<- NULL; n <<- length(items); v },
  size = function() length(items), show = function() cat("<stack of", length(items), ">\n")))
n <- "global"
s <- Stack$new(n = 0)
s$push(1); s$push("two"); s$push(list(3)); s; s$size(); s$pop(); s$n; n
t <- s; t$push(9); s$size(); u <- s$copy(); u$push(1); s$size(); u$size()
Base <- setRefClass("Base", fields = list(v = "numeric"), methods = list(go = function() { v <<- v + 1; invisible(.self) }))
Derived <- setRefClass("Derived", contains = "Base", methods = list(go = function() { callSuper(); v <<- v * 10; invisible(.self) }))
d <- Derived$new(v = 1); d$go()$go(); d$v
for (i in 1:20) { s$push(i); n <- s$size() }
n
try(s$undefined())
s$items[[1]]; class(s)
