# Environments shared by reference: a doubly linked list, a tree with parents, observers, a cache with two doors.
set.seed(64)
new_list <- function() list2env(list(first = NULL, last = NULL, size = 0L))
push_back <- function(list, value) {
  node <- new.env()
  node$value <- value
  node$previous <- list$last
  node$following <- NULL
  if (is.null(list$last)) list$first <- node else list$last$following <- node
  list$last <- node
  list$size <- list$size + 1L
  invisible(node)
}
remove_node <- function(list, node) {
  if (is.null(node$previous)) list$first <- node$following else node$previous$following <- node$following
  if (is.null(node$following)) list$last <- node$previous else node$following$previous <- node$previous
  list$size <- list$size - 1L
}

# Josephus: every seventh leaves the circle.
people <- new_list()
for (i in 1:1200) push_back(people, i)
left <- integer(0)
here <- people$first
while (people$size > 1) {
  for (step in 1:6) here <- if (is.null(here$following)) people$first else here$following
  onward <- if (is.null(here$following)) people$first else here$following
  left <- c(left, here$value)
  remove_node(people, here)
  here <- onward
}
survivor <- here$value

insert <- function(tree, key) {
  if (is.null(tree$key)) {
    tree$key <- key
    return(invisible(tree))
  }
  side <- if (key < tree$key) "left" else "right"
  if (is.null(tree[[side]])) assign(side, list2env(list(parent = tree, key = NULL)), envir = tree)
  insert(tree[[side]], key)
}
walk <- function(tree, visit) {
  if (is.null(tree$key)) return(invisible())
  if (!is.null(tree$left)) walk(tree$left, visit)
  visit(tree)
  if (!is.null(tree$right)) walk(tree$right, visit)
}
root <- new.env()
for (key in sample(1200)) insert(root, key)
in_order <- integer(0)
depths <- integer(0)
walk(root, function(node) {
  in_order[length(in_order) + 1] <<- node$key
  depth <- 0L
  up <- node
  while (!is.null(up$parent)) {
    up <- up$parent
    depth <- depth + 1L
  }
  depths[length(depths) + 1] <<- depth
})

subject <- new.env()
subject$observers <- list()
subject$value <- 0
watch_subject <- function(observer) subject$observers[[length(subject$observers) + 1]] <- observer
change <- function(by) {
  subject$value <- subject$value + by
  for (observer in subject$observers) observer(subject$value)
}
seen <- list(largest = -Inf, crossings = 0)
watch_subject(function(v) if (v > seen$largest) seen$largest <<- v)
watch_subject(local({ last <- 0; function(v) { if (last * v < 0) seen$crossings <<- seen$crossings + 1; last <<- v } }))
for (by in rnorm(120000)) change(by)
doors <- list(front = subject, back = subject)
doors$front$value <- 42
same_room <- doors$back$value == 42 && identical(doors$front, doors$back)
