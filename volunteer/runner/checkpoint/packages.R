# State that packages keep in environments (packages.cc). A checkpoint stores the path to each such environment, and its
# variables. A resume puts the variables into the environment that the path leads to in the package as it is loaded again.
# Variables of packages that were assigned to, while loading or later, are saved and restored as well.

# Packages of R without such state, or whose state is saved elsewhere.
stateless_packages <- c("base", "compiler", "methods", "remotist")

# Of the packages that come with R only variables that have been used are searched: the rest would take long to load.
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

# In the child that writes, because it is slow: numbers the environments. A resume needs `paths` before it can read the rest.
# Yields a string instead when something cannot be saved.
packages_now <- function(known) {
  packages <- loaded_packages()
  found <- .Call(native$find_package_environments, packages, logical(length(packages)), known)
  nested <- setdiff(with_nested(found[[2L]], found[[3L]]), packages_of_r)
  if (length(nested)) found <- .Call(native$find_package_environments, packages, packages %in% nested, known)
  paths <- list(libraries = .libPaths(), versions = vapply(packages, version_of, ""), attached = rev(search()), from = found[[2L]], steps = found[[3L]])
  records <- lapply(found[[1L]], record_of, known = known)
  for (i in seq_along(records)) if (is.character(records[[i]])) return(paste0(records[[i]], " in what a package keeps (", describe_path(paths, i), ")"))
  variables <- lapply(packages, variables_of, known = known)
  for (one in variables) if (is.character(one)) return(one)
  list(paths = paths, records = records, variables = variables)
}

# Packages with environments that are reached only through others. All of their variables are searched, because one that is
# not loaded yet may have a path that a script cannot change.
with_nested <- function(from, steps) {
  root <- character(length(from))
  for (i in seq_along(from)) root[[i]] <- if (from[[i]] == 0L) substring(steps[[i]][[1L]], 2L) else root[[from[[i]]]]
  unique(root[from > 0L])
}

# Pointers that loading the package created are omitted: loading it again creates them again.
record_of <- function(env, known) {
  frame <- .Call(native$alias_of, env)
  about <- without_loaded(env, .Call(native$bindings, env), known)
  if (length(about$omitted)) .Call(native$set_existing, stats::setNames(vector("list", length(about$omitted)), about$omitted), frame)
  why <- .Call(native$why_unsaveable, list(frame, attributes(env)), known)
  if (nzchar(why)) return(why)
  list(frame = frame, omitted = about$omitted, locked = environmentIsLocked(env), parent = parent.env(env), attributes = attributes(env))
}

without_loaded <- function(env, values, known) {
  if (!nzchar(.Call(native$why_unsaveable, values, known))) return(list(values = values, omitted = character()))
  omitted <- vapply(names(values), function(name) nzchar(.Call(native$why_unsaveable, values[name], known)) && .Call(native$is_as_loaded, env, name), NA)
  list(values = values[!omitted], omitted = names(values)[omitted])
}

# Variables that were assigned to in the namespace of a package, and in its exports if it is attached; `shared` are those that both
# have.
variables_of <- function(package, known) {
  space <- .getNamespace(package)
  attached <- attached_of(package)
  values <- without_loaded(space, .Call(native$assigned, space, NULL), known)$values
  exported <- if (!is.null(attached)) .Call(native$assigned, attached, space)
  why <- .Call(native$why_unsaveable, list(values, exported), known)
  if (nzchar(why)) return(paste0(why, " in a variable of the package ", package))
  list(package = package, values = values, exported = exported, shared = setdiff(names(values), names(exported)),
       unlocked = unlocked_in(names(values), space), exported_unlocked = unlocked_in(names(exported), attached))
}

unlocked_in <- function(names, env) Filter(function(name) !bindingIsLocked(name, env), names)

describe_path <- function(paths, i) {
  steps <- paths$steps[[i]]
  while (paths$from[[i]] > 0L) {
    i <- paths$from[[i]]
    steps <- c(paths$steps[[i]], steps)
  }
  paste0(substring(steps[[1L]], 2L), "::", paste(substring(steps[-1L], 2L), collapse = "$"))
}

# --- resuming

# Called before the state is read, which refers to packages and their environments. Messages of packages are suppressed: the
# script has printed them.
resolve_paths <- function(paths) {
  .libPaths(unique(c(paths$libraries, .libPaths())))
  sink(nullfile())
  tryCatch(suppressMessages(suppressWarnings({
    for (package in names(paths$versions)) loadNamespace(package)
    attach_again(paths$attached)
  })), finally = sink())
  session$package_environments <- .Call(native$follow_paths, paths$from, paths$steps)
  session$versions <- paths$versions
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
  for (i in seq_along(records)) restore_record(session$package_environments[[i]], records[[i]], process, same_versions)
  for (one in variables) restore_variables(one, process)
  .Call(native$forget_package_environments)
  session$package_environments <- NULL
}

restore_record <- function(env, record, process, same_version) {
  if (!same(parent.env(env), record$parent)) parent.env(env) <- record$parent
  if (!is_alike(attributes(env), record$attributes)) attributes(env) <- record$attributes
  now <- .Call(native$alias_of, env)
  if (!is_alike(now, record$frame)) {
    fresh <- .Call(native$bindings, now)
    saved <- .Call(native$bindings, record$frame)
    stays <- fresh[names(fresh) %in% c(record$omitted, names(saved)[!is_changed(saved, fresh, process)])]
    more <- if (same_version) NULL else fresh[setdiff(names(fresh), names(saved))]
    if (is_attached(env)) list2env(as.list(record$frame, all.names = TRUE), env) else .Call(native$replace_variables, env, record$frame)
    .Call(native$set_existing, stays, env)
    .Call(native$bind, more, env)
  }
  if (record$locked) lockEnvironment(env) else if (environmentIsLocked(env)) .Call(native$unlock_environment, env)
}

# R caches the bindings of environments on the search path, so their variables cannot be replaced as a whole.
is_attached <- function(env) {
  for (at in seq_along(search())) if (same(env, as.environment(at))) return(TRUE)
  FALSE
}

restore_variables <- function(saved, process) {
  space <- .getNamespace(saved$package)
  attached <- attached_of(saved$package)
  now <- .Call(native$bindings, space)
  changed <- saved$values[is_changed(saved$values, now, process)]
  .Call(native$set_existing, changed, space)
  for (name in intersect(saved$unlocked, names(now))) unlockBinding(name, space)
  if (is.null(attached)) return()
  .Call(native$set_existing, changed[names(changed) %in% saved$shared], attached)
  .Call(native$set_existing, saved$exported, attached)
  for (name in intersect(saved$exported_unlocked, ls(attached, all.names = TRUE))) unlockBinding(name, attached)
}

# A value that loading the package created again equally is kept, because C code may know its address; so is the number of the
# process.
is_changed <- function(saved, now, process) {
  at <- match(names(saved), names(now))
  vapply(seq_along(at), function(i) {
    !is_alike(saved[i], now[at[[i]]]) && !(is_number(saved[i], process) && is_number(now[at[[i]]], Sys.getpid()))
  }, NA)
}

# Compares as a checkpoint would store them: numbered environments by their numbers. Promises are not forced.
is_alike <- function(a, b) identical(serialize(a, NULL, refhook = name_of), serialize(b, NULL, refhook = name_of))

is_number <- function(value, number) is_alike(unname(value), list(number))

name_of <- function(x) .Call(native$name_of, x)
