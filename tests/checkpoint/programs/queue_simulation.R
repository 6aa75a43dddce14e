# Simulates a shop with three tills event by event, the events in a heap, and Gillespie's reactions beside it.
set.seed(1909)
heap <- list(times = numeric(0), events = list())
push <- function(time, event) {
  k <- length(heap$times) + 1
  heap$times[k] <<- time
  heap$events[[k]] <<- event
  while (k > 1 && heap$times[k %/% 2] > heap$times[k]) {
    swap(k, k %/% 2)
    k <- k %/% 2
  }
}
swap <- function(a, b) {
  heap$times[c(a, b)] <<- heap$times[c(b, a)]
  heap$events[c(a, b)] <<- heap$events[c(b, a)]
}
pop <- function() {
  first <- list(time = heap$times[1], event = heap$events[[1]])
  n <- length(heap$times)
  swap(1, n)
  heap$times <<- heap$times[-n]
  heap$events <<- heap$events[-n]
  k <- 1
  repeat {
    child <- 2 * k
    if (child >= n) break
    if (child + 1 < n && heap$times[child + 1] < heap$times[child]) child <- child + 1
    if (heap$times[k] <= heap$times[child]) break
    swap(k, child)
    k <- child
  }
  first
}

tills <- list(free = 3, waiting = list(), served = 0, gone = 0)
waits <- numeric(0)
serve <- function(customer, now) {
  tills$free <<- tills$free - 1
  waits <<- c(waits, now - customer$arrived)
  push(now + rgamma(1, 3, 1.1), list(kind = "leave", customer = customer))
}
push(0, list(kind = "arrive", id = 1))
while (length(heap$times) > 0) {
  now <- pop()
  event <- now$event
  if (event$kind == "arrive") {
    if (event$id < 2500) push(now$time + rexp(1), list(kind = "arrive", id = event$id + 1))
    customer <- list(id = event$id, arrived = now$time)
    if (length(tills$waiting) >= 12) tills$gone <- tills$gone + 1
    else if (tills$free > 0) serve(customer, now$time)
    else tills$waiting[[length(tills$waiting) + 1]] <- customer
    next
  }
  tills$free <- tills$free + 1
  tills$served <- tills$served + 1
  if (length(tills$waiting) == 0) next
  following <- tills$waiting[[1]]
  tills$waiting[[1]] <- NULL
  serve(following, now$time)
}
wait_quantiles <- quantile(waits, c(0.5, 0.9, 0.99))

gillespie <- function(state, until) {
  time <- 0
  path <- list(c(0, state))
  while (time < until) {
    prey <- state[["prey"]]
    hunters <- state[["hunters"]]
    rates <- c(birth = 1.0 * prey, eaten = 0.01 * prey * hunters, death = 0.8 * hunters)
    if (sum(rates) == 0) break
    time <- time + rexp(1, sum(rates))
    state <- state + switch(sample(names(rates), 1, prob = rates), birth = c(1, 0), eaten = c(-1, 1), death = c(0, -1))
    if (length(path) <= 20 * time) path[[length(path) + 1]] <- c(time, state)
  }
  do.call(rbind, path)
}
populations <- gillespie(c(prey = 90, hunters = 60), 50)
