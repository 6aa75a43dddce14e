# What packages keep in environments of their own: settings, caches, counters, what all classes of R6 have around them. Scripts'
# values may refer to these environments. A checkpoint has their names and, apart from that, what is in them.

# R's own, which have no such state or are cared for elsewhere; the compiler's is the engine's as well.
stateless_packages <- c("base", "compiler", "methods", "remotist")

# "package:NAME:VARIABLE" for each; those that two variables have get the first one's name.
package_environments <- function() {
  packages <- sort(setdiff(loadedNamespaces(), stateless_packages), method = "radix")
  all <- lapply(packages, function(package) {
    own <- .Call(native$environments_of, .getNamespace(package))
    if (length(own)) names(own) <- paste("package", package, names(own), sep = ":")
    own
  })
  all <- unlist(all, recursive = FALSE)
  all[!duplicated(all)]
}

# The environment of such a name, from a package that may have to be loaded for it; or NULL.
package_environment <- function(name) {
  parts <- regmatches(name, regexec("^package:([^:]+):(.*)$", name))[[1L]]
  if (length(parts) == 0L) return(NULL)
  value <- get0(parts[[3L]], asNamespace(parts[[2L]]), inherits = FALSE)
  if (is.function(value)) environment(value) else value
}

# In an environment, since what cannot be saved is taken out of it in the process that writes.
packages_now <- function() list2env(lapply(name_package_environments(), values_in), parent = emptyenv())

name_package_environments <- function() {
  session$package_environments <- package_environments()
  .Call(native$name_package_environments, session$package_environments)
  session$package_environments
}

values_in <- function(env) {
  values <- .Call(native$bindings, env)
  values[!vapply(names(values), bindingIsActive, NA, env = env)]
}

leave_out_unsaveable <- function(packages, known) {
  for (name in names(packages)) {
    values <- packages[[name]]
    fine <- vapply(seq_along(values), function(i) !nzchar(.Call(native$cannot_save, values[i], known)), NA)
    packages[[name]] <- list(values = values[fine], left = names(values)[!fine])
  }
}

# What the package made alike when it was loaded stays as it is, as C code may know it by its address; so does what is the
# number of the process.
restore_packages <- function(packages, process) {
  environments <- sapply(names(packages), package_environment, simplify = FALSE)
  name_package_environments()
  for (name in names(environments)) {
    env <- environments[[name]]
    saved <- packages[[name]]
    now <- values_in(env)
    gone <- setdiff(names(now), c(names(saved$values), saved$left))
    if (length(gone) && !environmentIsLocked(env)) rm(list = gone, envir = env)
    changed <- vapply(names(saved$values), function(one) {
      value <- saved$values[one]
      !is_fixed(one, env) && !is_alike(value, now[one]) && !is_alike(value, stats::setNames(list(process), one))
    }, NA)
    .Call(native$bind, saved$values[changed], env)
  }
}

is_fixed <- function(name, env) if (exists(name, env, inherits = FALSE)) bindingIsLocked(name, env) else environmentIsLocked(env)

# They may have promises in them, which must not be evaluated.
is_alike <- function(a, b) identical(serialize(a, NULL, refhook = name_of), serialize(b, NULL, refhook = name_of))

name_of <- function(x) .Call(native$name_of, x)
