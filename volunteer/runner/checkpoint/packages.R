# What packages keep in environments of their own (packages.cc): each such environment is named in a checkpoint, and what is in
# it saved beside that. It is put back into the environment that the package, loaded again, has in that place. So are variables
# of packages that were assigned to, when the package was loaded or later.

# R's own, which have no such state or are cared for elsewhere; the compiler's is the engine's as well.
stateless_packages <- c("base", "compiler", "methods", "remotist")

# Those that come with R are looked at only as far as they were used: it would take too long, for nothing.
packages_of_r <- c("datasets", "graphics", "grDevices", "grid", "parallel", "splines", "stats", "stats4", "tcltk", "tools", "utils")

loaded_packages <- function() {
  loaded <- .Call(native$loaded_in_order)
  loaded <- c(loaded, setdiff(loadedNamespaces(), loaded))
  loaded[loaded %in% loadedNamespaces() & !loaded %in% stateless_packages]
}

version_of <- function(package) paste(getNamespaceVersion(package))

attached_of <- function(package) {
  at <- match(paste0("package:", package), search())
  if (is.na(at)) NULL else as.environment(at)
}

# In the process that writes, as it takes its time: numbers the environments. `ways` are needed before the rest can be read.
# Yields a text instead when something cannot be saved.
packages_now <- function(known) {
  packages <- loaded_packages()
  found <- .Call(native$find_kept, packages, logical(length(packages)), known)
  nested <- setdiff(with_nested(found[[2L]], found[[3L]]), packages_of_r)
  if (length(nested)) found <- .Call(native$find_kept, packages, packages %in% nested, known)
  ways <- list(libraries = .libPaths(), versions = vapply(packages, version_of, ""), attached = rev(search()), from = found[[2L]], steps = found[[3L]])
  records <- lapply(found[[1L]], record_of, known = known)
  for (i in seq_along(records)) if (is.character(records[[i]])) return(paste0(records[[i]], " in what a package keeps (", way_in_words(ways, i), ")"))
  variables <- lapply(packages, variables_of, known = known)
  for (one in variables) if (is.character(one)) return(one)
  list(ways = ways, records = records, variables = variables)
}

# Packages that keep environments within others: a variable that nobody asked for yet may lead to such a one, too, and more
# surely.
with_nested <- function(from, steps) {
  root <- character(length(from))
  for (i in seq_along(from)) root[[i]] <- if (from[[i]] == 0L) substring(steps[[i]][[1L]], 2L) else root[[from[[i]]]]
  unique(root[from > 0L])
}

# Pointers that a package made when it was loaded are left out: it makes them again.
record_of <- function(env, known) {
  frame <- .Call(native$shadow_of, env)
  about <- without_loaded(env, .Call(native$bindings, env), known)
  if (length(about$left)) .Call(native$put, stats::setNames(vector("list", length(about$left)), about$left), frame)
  why <- .Call(native$cannot_save, list(frame, attributes(env)), known)
  if (nzchar(why)) return(why)
  list(frame = frame, left = about$left, sealed = environmentIsLocked(env), parent = parent.env(env), attributes = attributes(env))
}

without_loaded <- function(env, values, known) {
  if (!nzchar(.Call(native$cannot_save, values, known))) return(list(values = values, left = character()))
  left <- vapply(names(values), function(name) nzchar(.Call(native$cannot_save, values[name], known)) && .Call(native$is_as_loaded, env, name), NA)
  list(values = values[!left], left = names(values)[left])
}

# Of its namespace, and of its exports if it is attached: what was assigned to them there, and which of them are those of the
# namespace.
variables_of <- function(package, known) {
  space <- .getNamespace(package)
  attached <- attached_of(package)
  values <- without_loaded(space, .Call(native$assigned, space, NULL), known)$values
  exported <- if (!is.null(attached)) .Call(native$assigned, attached, space)
  why <- .Call(native$cannot_save, list(values, exported), known)
  if (nzchar(why)) return(paste0(why, " in a variable of the package ", package))
  list(package = package, values = values, exported = exported, shared = setdiff(names(values), names(exported)),
       unlocked = unlocked_in(names(values), space), exported_unlocked = unlocked_in(names(exported), attached))
}

unlocked_in <- function(names, env) Filter(function(name) !bindingIsLocked(name, env), names)

way_in_words <- function(ways, i) {
  steps <- ways$steps[[i]]
  while (ways$from[[i]] > 0L) {
    i <- ways$from[[i]]
    steps <- c(ways$steps[[i]], steps)
  }
  paste0(substring(steps[[1L]], 2L), "::", paste(substring(steps[-1L], 2L), collapse = "$"))
}

# --- going on

# Before the state is read, which refers to packages and to what they keep. What packages say when they are loaded, the
# script has heard.
go_ways <- function(ways) {
  .libPaths(unique(c(ways$libraries, .libPaths())))
  sink(nullfile())
  tryCatch(suppressMessages(suppressWarnings({
    for (package in names(ways$versions)) loadNamespace(package)
    attach_again(ways$attached)
  })), finally = sink())
  session$kept <- .Call(native$go_to_kept, ways$from, ways$steps)
  session$versions <- ways$versions
}

attach_again <- function(attached) {
  for (name in setdiff(search(), attached)) detach(name, character.only = TRUE)
  for (name in setdiff(attached, search())) {
    if (startsWith(name, "package:")) library(substring(name, 9L), character.only = TRUE, warn.conflicts = FALSE)
    else attach(NULL, name = name, warn.conflicts = FALSE)
  }
}

restore_packages <- function(records, variables, process) {
  same_versions <- identical(session$versions, vapply(names(session$versions), version_of, ""))
  for (i in seq_along(records)) restore_record(session$kept[[i]], records[[i]], process, same_versions)
  for (one in variables) restore_variables(one, process)
  .Call(native$forget_kept)
  session$kept <- NULL
}

restore_record <- function(env, record, process, same_version) {
  if (!same(parent.env(env), record$parent)) parent.env(env) <- record$parent
  if (!is_alike(attributes(env), record$attributes)) attributes(env) <- record$attributes
  now <- .Call(native$shadow_of, env)
  if (!is_alike(now, record$frame)) {
    fresh <- .Call(native$bindings, now)
    saved <- .Call(native$bindings, record$frame)
    stays <- fresh[names(fresh) %in% c(record$left, names(saved)[!is_changed(saved, fresh, process)])]
    more <- if (same_version) NULL else fresh[setdiff(names(fresh), names(saved))]
    if (is_attached(env)) list2env(as.list(record$frame, all.names = TRUE), env) else .Call(native$become, env, record$frame)
    .Call(native$put, stays, env)
    .Call(native$bind, more, env)
  }
  if (record$sealed) lockEnvironment(env) else if (environmentIsLocked(env)) .Call(native$unseal, env)
}

# R remembers where it found what is on the search path.
is_attached <- function(env) {
  for (at in seq_along(search())) if (same(env, as.environment(at))) return(TRUE)
  FALSE
}

restore_variables <- function(saved, process) {
  space <- .getNamespace(saved$package)
  attached <- attached_of(saved$package)
  now <- .Call(native$bindings, space)
  changed <- saved$values[is_changed(saved$values, now, process)]
  .Call(native$put, changed, space)
  for (name in intersect(saved$unlocked, names(now))) unlockBinding(name, space)
  if (is.null(attached)) return()
  .Call(native$put, changed[names(changed) %in% saved$shared], attached)
  .Call(native$put, saved$exported, attached)
  for (name in intersect(saved$exported_unlocked, ls(attached, all.names = TRUE))) unlockBinding(name, attached)
}

# What the package made alike when it was loaded stays as it is, as C code may know it by its address; so does what is the
# number of the process.
is_changed <- function(saved, now, process) {
  at <- match(names(saved), names(now))
  vapply(seq_along(at), function(i) {
    !is_alike(saved[i], now[at[[i]]]) && !(is_number(saved[i], process) && is_number(now[at[[i]]], Sys.getpid()))
  }, NA)
}

# As a checkpoint would have them: environments that have a number by that alone. They may be promises, which must not be
# evaluated.
is_alike <- function(a, b) identical(serialize(a, NULL, refhook = name_of), serialize(b, NULL, refhook = name_of))

is_number <- function(value, number) is_alike(unname(value), list(number))

name_of <- function(x) .Call(native$name_of, x)
