# Finds ways through a road network whose nodes are environments: Dijkstra, breadth-first search and union-find.
set.seed(1959)
graph <- new.env()
node_names <- sprintf("n%03d", 1:800)
for (name in node_names) {
  graph[[name]] <- list2env(list(name = name, roads = list(), distance = Inf, from = NULL, done = FALSE,
                                 leader = NULL, size = 1))
}
connect <- function(a, b, cost) {
  a$roads[[length(a$roads) + 1]] <- list(to = b, cost = cost)
  b$roads[[length(b$roads) + 1]] <- list(to = a, cost = cost)
}
edges <- data.frame(from = character(0), to = character(0), cost = numeric(0))
for (i in 1:2000) {
  ends <- sample(node_names, 2)
  cost <- round(rexp(1, 0.1), 1) + 1
  connect(graph[[ends[1]]], graph[[ends[2]]], cost)
  edges[i, ] <- list(ends[1], ends[2], cost)
}

dijkstra <- function(start) {
  start$distance <- 0
  open <- list(start)
  while (length(open) > 0) {
    nearest <- which.min(vapply(open, function(node) node$distance, 0))
    node <- open[[nearest]]
    open[[nearest]] <- NULL
    if (node$done) next
    node$done <- TRUE
    for (road in node$roads) {
      candidate <- node$distance + road$cost
      if (candidate < road$to$distance) {
        road$to$distance <- candidate
        road$to$from <- node
        open <- c(open, road$to)
      }
    }
  }
}
dijkstra(graph$n001)
distance <- sapply(node_names, function(name) graph[[name]]$distance)

way_to <- function(node) if (is.null(node$from)) node$name else c(way_to(node$from), node$name)
farthest <- names(which.max(distance[is.finite(distance)]))
way <- way_to(graph[[farthest]])

hops <- setNames(rep(NA_integer_, length(node_names)), node_names)
queue <- "n001"
hops["n001"] <- 0L
while (length(queue)) {
  here <- queue[1]
  queue <- queue[-1]
  for (road in graph[[here]]$roads) {
    there <- road$to$name
    if (!is.na(hops[[there]])) next
    hops[[there]] <- hops[[here]] + 1L
    queue[length(queue) + 1] <- there
  }
}

leader_of <- function(node) {
  if (is.null(node$leader)) return(node)
  node$leader <- leader_of(node$leader)
  node$leader
}
tree <- Reduce(function(taken, i) {
  a <- leader_of(graph[[edges$from[i]]])
  b <- leader_of(graph[[edges$to[i]]])
  if (identical(a, b)) return(taken)
  if (a$size < b$size) { swap <- a; a <- b; b <- swap }
  b$leader <- a
  a$size <- a$size + b$size
  c(taken, i)
}, order(edges$cost), integer(0))
tree_cost <- sum(edges$cost[tree])
