# What packages keep in environments of their own (packages.cc): each such environment is named in a checkpoint, and what is in
# it saved beside that. It is put back into the environment that the package, loaded again, has in that place.

# R's own, which have no such state or are cared for elsewhere; the compiler's is the engine's as well.
stateless_packages <- c("base", "compiler", "methods", "remotist")

stateful_packages <- function() sort(setdiff(loadedNamespaces(), stateless_packages), method = "radix")

# In the process that writes, as it takes its time: numbers the environments. Yields list(ways =, records =, variables =).
packages_now <- function() {
  packages <- stateful_packages()
  found <- .Call(native$find_kept, packages, own_environments())
  list(ways = list(libraries = .libPaths(), versions = vapply(packages, version_of, ""), from = found[[2L]], steps = found[[3L]]),
       records = lapply(found[[1L]], record_of), variables = lapply(.Call(native$unlocked_variables), changed_variable))
}

# A variable of a namespace that was unlocked, as assignInNamespace() does, with its value; NULL when it is gone.
changed_variable <- function(one) {
  name <- as.character(one[[2L]])
  if (!exists(name, one[[1L]], inherits = FALSE)) return(NULL)
  values <- .Call(native$bindings, one[[1L]])
  list(package = getNamespaceName(one[[1L]]), value = values[name], locked = bindingIsLocked(name, one[[1L]]))
}

version_of <- function(package) paste(getNamespaceVersion(package))

record_of <- function(env) {
  names <- ls(env, all.names = TRUE, sorted = FALSE)
  active <- names[vapply(names, bindingIsActive, NA, env = env)]
  list(values = .Call(native$bindings, env), left = character(),
       active = sapply(active, activeBindingFunction, env = env, simplify = FALSE),
       locked = names[vapply(names, bindingIsLocked, NA, env = env)], sealed = environmentIsLocked(env),
       parent = parent.env(env), attributes = attributes(env))
}

# Pointers that packages make when they are loaded are left out: they make them again. list(record, why it cannot be saved).
without_pointers <- function(record, known) {
  whys <- vapply(seq_along(record$values), function(i) .Call(native$cannot_save, record$values[i], known, FALSE), "")
  for (i in which(nzchar(whys))) if (!nzchar(.Call(native$cannot_save, record$values[i], known, TRUE))) whys[[i]] <- "loaded"
  record$left <- names(record$values)[whys == "loaded"]
  record$values <- record$values[whys != "loaded"]
  whys <- c(setdiff(whys, c("", "loaded")), .Call(native$cannot_save, record[c("active", "attributes")], known, FALSE))
  list(record, whys[[1L]])
}

way_in_words <- function(ways, i) {
  steps <- ways$steps[[i]]
  while (ways$from[[i]] > 0L) {
    i <- ways$from[[i]]
    steps <- c(ways$steps[[i]], steps)
  }
  paste0(substring(steps[[1L]], 2L), "::", paste(substring(steps[-1L], 2L), collapse = "$"))
}

# --- going on

# Before the state is read, which refers to these environments. Packages are loaded for it.
go_ways <- function(ways) {
  .libPaths(unique(c(ways$libraries, .libPaths())))
  session$kept <- .Call(native$go_to_kept, ways$from, ways$steps)
  session$versions <- ways$versions
}

restore_packages <- function(records, variables, process) {
  same_versions <- identical(session$versions, vapply(names(session$versions), version_of, ""))
  for (i in seq_along(records)) restore_record(session$kept[[i]], records[[i]], process, same_versions)
  for (one in variables) if (!is.null(one)) restore_variable(asNamespace(one$package), names(one$value), one)
  .Call(native$forget_kept)
  session$kept <- NULL
}

# What the package made alike when it was loaded stays as it is, as C code may know it by its address; so does what is the
# number of the process. Another version of the package may have variables that this one has not.
restore_record <- function(env, record, process, same_version) {
  now <- record_of(env)
  if (!same(now$parent, record$parent)) parent.env(env) <- record$parent
  if (!is_alike(now$attributes, record$attributes)) attributes(env) <- record$attributes
  gone <- c(setdiff(names(now$values), c(names(record$values), names(record$active), record$left)), setdiff(names(now$active), names(record$active)))
  if (length(gone) && same_version && !now$sealed) rm(list = gone, envir = env)
  at <- match(names(record$values), names(now$values))
  stays <- vapply(seq_along(at), function(i) {
    value <- record$values[i]
    is_alike(value, now$values[at[[i]]]) || is_number(value, process) && is_number(now$values[at[[i]]], Sys.getpid())
  }, NA)
  changed <- names(record$values)[!stays]
  for (name in intersect(now$locked, c(changed, setdiff(names(record$values), record$locked)))) unlockBinding(name, env)
  .Call(native$bind, record$values[!stays], env)
  for (name in names(record$active)) if (!is_alike(record$active[name], now$active[name])) bind_active(name, record$active[[name]], env)
  for (name in setdiff(record$locked, record$left)) lockBinding(name, env)
  if (record$sealed && !now$sealed) lockEnvironment(env)
}

# Through unlockBinding() in any case, so that it is known to be changed.
restore_variable <- function(space, name, saved) {
  if (!exists(name, space, inherits = FALSE) || bindingIsActive(name, space)) return()
  now <- .Call(native$bindings, space)[name]
  unlockBinding(name, space)
  if (!is_alike(saved$value, now)) .Call(native$bind, saved$value, space)
  if (saved$locked) lockBinding(name, space)
}

bind_active <- function(name, fn, env) {
  if (exists(name, env, inherits = FALSE)) rm(list = name, envir = env)
  makeActiveBinding(name, fn, env)
}

# As a checkpoint would have them: environments that have a number by that alone. They may be promises, which must not be
# evaluated.
is_alike <- function(a, b) identical(serialize(a, NULL, refhook = name_of), serialize(b, NULL, refhook = name_of))

is_number <- function(value, number) is_alike(unname(value), list(number))

name_of <- function(x) .Call(native$name_of, x)
