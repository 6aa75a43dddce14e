e <- new.env(); assign("k", 1, envir = e); e$k <- e$k + 1; get("k", e); mget(c("k"), envir = e)
local({ k <- 5; e$k <<- k }); e$k
f <- function() { e[["z"]] <- 26; ls(e) }; f(); sort(ls(e))
g <- function() { v <- 1; h <- function() { v <<- v + 1; environment() }; en <- h(); parent.env(en)$v }; g()
x <- 1; attach(list(x = "attached", w = "only"), name = "mine"); x; w; rm(x); x; x <- 2; detach("mine"); x
exists("nope"); get0("nope", ifnotfound = "default"); eapply(e, class)[sort(names(e))]
lockBinding("x", globalenv()); try(x <- 3); unlockBinding("x", globalenv()); x <- 3; x
lockEnvironment(e); try(e$new <- 1); try(assign("newer", 1, e))
sys.function; environmentName(topenv()); identical(parent.frame(), globalenv())
ff <- function() parent.frame(); identical(ff(), globalenv()); nested <- function() ff(); identical(nested(), globalenv())
with(list(x = 10), { x <- x + 1; x }); x
eval(quote({ x <- 100; x }), list(x = 1)); x; evalq(x <- 101, globalenv()); x
env_list <- as.list(as.environment(list(a = 1))); env_list
rm(list = c("f", "g")); exists("g")
