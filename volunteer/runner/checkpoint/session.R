# The state of a script besides its values: files, connections, options, classes; and what of the session cannot be saved.

session <- new.env(parent = emptyenv())
session$warnings <- list()
session$connections <- list()

# R defers warnings until the expression ends and has no function that lists them, so they are recorded as they occur.
record_warnings <- function() {
  globalCallingHandlers(warning = function(w) {
    if (!session$repeating && getOption("warn") == 0L && length(session$warnings) < 50L) {
      session$warnings[[length(session$warnings) + 1L]] <- list(conditionMessage(w), conditionCall(w))
    }
  })
}
session$repeating <- FALSE

repeat_warnings <- function() {
  session$repeating <- TRUE
  for (one in session$warnings) warning(simpleWarning(one[[1L]], one[[2L]]))
  session$repeating <- FALSE
}

transient_options <- c("askpass", "browserNLdisabled", "device", "editor", "papersize", "prompt", "pager", "browser",
                       "HTTPUserAgent", "rl_word_breaks", "error")

# "" or why no checkpoint is possible now.
why_not_now <- function() {
  if ("grDevices" %in% loadedNamespaces() && !is.null(grDevices::dev.list())) return("an open graphics device")
  if (sink.number() > 0L) return("a diversion of output (sink)")
  if (exists(".Random.seed", globalenv(), inherits = FALSE)) {
    kind <- RNGkind()
    if (kind[[2L]] == "Box-Muller") return("random numbers of kind Box-Muller, which hides half of its state")
    if ("user-supplied" %in% kind) return("a random number generator in C")
  }
  why_not_connections()
}

own_connections <- function() setdiff(getAllConnections(), c(0L, 1L, 2L))

why_not_connections <- function() {
  for (id in own_connections()) {
    about <- summary(getConnection(id))
    if (about$class != "file") return(paste0("an open connection of class ", about$class))
    if (about$opened == "opened" && about$`can read` == "yes" && pushBackLength(getConnection(id)) > 0L) return("lines pushed back to a connection")
    if (about$opened == "opened" && !grepl("^[rwa]", about$mode)) return(paste0("a connection open as ", about$mode))
    if (about$opened == "opened" && (about$description == "stdin" || !nzchar(about$description))) return("a connection without a file of its own")
    if (about$opened == "opened" && grepl("+", about$mode, fixed = TRUE)) return(paste0("a connection open as ", about$mode))
  }
  ""
}

connections_now <- function() {
  lapply(own_connections(), function(id) {
    connection <- getConnection(id)
    about <- summary(connection)
    opened <- about$opened == "opened"
    writes <- opened && about$`can write` == "yes"
    if (writes) flush(connection)
    list(id = id, path = about$description, mode = about$mode, opened = opened, writes = writes,
         at = if (opened) seek(connection, NA, rw = if (writes) "write" else "read") else 0)
  })
}

# A connection's number is part of the script's values: it must get the same number again.
reopen_connections <- function(saved) {
  fill <- list()
  for (one in saved) {
    repeat {
      connection <- if (!one$opened) file(one$path) else
        file(one$path, if (one$writes) sub("^[wr]", "a", one$mode) else one$mode)
      if (as.integer(connection) >= one$id) break
      fill <- c(fill, list(connection))
    }
    if (as.integer(connection) != one$id) stop("a connection of the script cannot get its number back")
    if (one$opened && !one$writes) seek(connection, one$at, rw = "read")
    session$connections <- c(session$connections, list(connection))
  }
  for (connection in fill) close(connection)
}

# --- files

job_files <- function(folder) {
  list.files(folder, all.files = TRUE, recursive = TRUE, no.. = TRUE)
}

# The target of a symbolic link may be outside of the job's folders.
symbolic_links_in <- function(folders) {
  all <- list.files(folders, all.files = TRUE, recursive = TRUE, include.dirs = TRUE, no.. = TRUE, full.names = TRUE)
  all[nzchar(Sys.readlink(all))]
}

# "" or the file that is not a regular file or could not be read. Connections must have been flushed.
copy_job_files <- function() {
  places <- c(work = session$folder, temporary = tempdir())
  link <- symbolic_links_in(places)
  if (length(link)) return(link[[1L]])
  files <- lapply(places, job_files)
  paths <- unlist(Map(file.path, places, files), use.names = FALSE)
  names <- unlist(Map(function(place, file) paste0(place, "/", file, recycle0 = TRUE), names(places), files), use.names = FALSE)
  session$folders <- list.dirs(session$folder, full.names = FALSE)
  .Call(native$copy_files, as.character(paths), as.character(names), engine_state$folder)
}

restore_job_files <- function(file, saved) {
  # Deletes everything that is not in the checkpoint; a link or a folder may have replaced a file.
  kept <- .Call(native$file_names, file)
  kept <- c(substring(kept[startsWith(kept, "work/")], 6L), saved$folders)
  there <- list.files(session$folder, all.files = TRUE, recursive = TRUE, include.dirs = TRUE, no.. = TRUE)
  strange <- !there %in% kept | nzchar(Sys.readlink(file.path(session$folder, there)))
  unlink(file.path(session$folder, there[strange]), recursive = TRUE, expand = FALSE)
  for (one in saved$folders) dir.create(file.path(session$folder, one), showWarnings = FALSE, recursive = TRUE)
  if (saved$temporary != tempdir()) {
    dir.create(saved$temporary, showWarnings = FALSE, recursive = TRUE)
    .Call(native$set_temporary_folder, saved$temporary)
  }
  why <- .Call(native$restore_files, file, c("work/", "temporary/"), paste0(c(session$folder, saved$temporary), "/"))
  if (nzchar(why)) stop(why)
}

# --- the rest

session_now <- function() {
  list(options = options()[setdiff(names(options()), transient_options)],
       locale = Sys.getlocale(), environment = unclass(Sys.getenv()), folder = relative_folder(), umask = Sys.umask(NA),
       methods = script_methods(),
       temporary = tempdir(), folders = session$folders, warnings = session$warnings,
       last_warning = get0("last.warning", baseenv(), inherits = FALSE),
       classes = classes_now(), locked = locked_globals(), active = active_globals())
}

relative_folder <- function() {
  now <- normalizePath(getwd())
  base <- normalizePath(session$folder)
  if (now == base) "" else if (startsWith(now, paste0(base, "/"))) substring(now, nchar(base) + 2L) else now
}

# Methods that the script registered in packages with registerS3method().
script_methods <- function() {
  methods <- lapply(loadedNamespaces(), function(package) .Call(native$script_functions, methods_table(package)))
  names(methods) <- loadedNamespaces()
  methods[lengths(methods) > 0L]
}

methods_table <- function(package) get0(".__S3MethodsTable__.", .getNamespace(package), inherits = FALSE)

# Scripts' classes share environments with those of package methods. A checkpoint must store these by name, so that classes
# defined before and after a resume still share them. Environments that are reached only through a named one need no name.
name_environments <- function() {
  table <- get(".classTable", asNamespace("methods"))
  found <- list()
  add <- function(name, env) {
    if (is.function(env)) env <- environment(env)
    if (isS4(env)) env <- attr(env, ".xData")
    if (!is.environment(env) || nzchar(environmentName(env))) return()
    for (known in found) if (same(known, env)) return()
    found[[name]] <<- env
    add(paste0(name, ":parent"), parent.env(env))
  }
  for (name in sort(names(table), method = "radix")) {
    parts <- attributes(table[[name]])
    if (!identical(as.character(parts$package), "methods")) next
    own <- c(parts[c("prototype", "fieldPrototypes", "refMethods", "validity")], attributes(parts$prototype))
    if (!is.null(parts$refMethods)) own <- c(own, Filter(is.environment, as.list(parts$refMethods, all.names = TRUE, sorted = TRUE)))
    for (part in names(own)) add(paste("methods", name, part, sep = ":"), own[[part]])
    for (super in names(parts$contains)) {
      how <- attributes(parts$contains[[super]])
      for (part in c("coerce", "test", "replace")) add(paste("methods", name, super, part, sep = ":"), how[[part]])
    }
  }
  .Call(native$name_environments, found)
  session$classes <- as.list(table, all.names = TRUE)
}

# R's class table, as far as it concerns the script's S4 classes: it may have more than the global variables, and classes of
# packages list the script's classes that extend them.
classes_now <- function() {
  if (!any(startsWith(ls(globalenv(), all.names = TRUE), ".__C__"))) return(NULL)
  classes <- as.list(get(".classTable", asNamespace("methods")), all.names = TRUE)
  is_of_script <- function(part) identical(as.character(attr(part, "package")), ".GlobalEnv")
  changed <- vapply(names(classes), function(name) {
    class <- classes[[name]]
    isS4(class) && !same(class, session$classes[[name]]) && (is_of_script(class) || any(vapply(attr(class, "subclasses"), is_of_script, NA)))
  }, NA)
  classes[changed]
}

locked_globals <- function() {
  names <- ls(globalenv(), all.names = TRUE)
  names[vapply(names, bindingIsLocked, NA, env = globalenv())]
}

active_globals <- function() {
  names <- ls(globalenv(), all.names = TRUE)
  names <- names[vapply(names, bindingIsActive, NA, env = globalenv())]
  stats::setNames(lapply(names, activeBindingFunction, env = globalenv()), names)
}

restore_session <- function(saved) {
  kept <- Sys.getenv()
  of_process <- c("PWD", "OLDPWD", "TMPDIR", "R_SESSION_TMPDIR", "_", "SHLVL")
  Sys.unsetenv(setdiff(names(kept), c(names(saved$environment), of_process)))
  for (name in setdiff(names(saved$environment), of_process)) {
    if (!identical(unname(kept[name]), unname(saved$environment[[name]]))) do.call(Sys.setenv, as.list(saved$environment[name]))
  }
  for (part in strsplit(saved$locale, ";", fixed = TRUE)[[1L]]) {
    pair <- strsplit(part, "=", fixed = TRUE)[[1L]]
    if (length(pair) == 2L && pair[[1L]] %in% c("LC_COLLATE", "LC_CTYPE", "LC_MONETARY", "LC_NUMERIC", "LC_TIME")) {
      if (Sys.getlocale(pair[[1L]]) != pair[[2L]]) suppressWarnings(Sys.setlocale(pair[[1L]], pair[[2L]]))
    }
  }
  setwd(if (startsWith(saved$folder, "/")) saved$folder else file.path(session$folder, saved$folder))
  gone <- setdiff(names(options()), c(names(saved$options), transient_options))
  options(c(saved$options, stats::setNames(vector("list", length(gone)), gone)))
  Sys.umask(saved$umask)
  for (package in names(saved$methods)) .Call(native$bind, saved$methods[[package]], methods_table(package))
}

restore_globals <- function(values, saved) {
  .Call(native$bind, values, globalenv())
  for (name in names(saved$active)) {
    if (exists(name, globalenv(), inherits = FALSE)) rm(list = name, envir = globalenv())
    makeActiveBinding(name, saved$active[[name]], globalenv())
  }
  for (name in saved$locked) lockBinding(name, globalenv())
  if (any(startsWith(names(values), ".__"))) methods::cacheMetaData(globalenv(), TRUE)
  for (name in names(saved$classes)) assign(name, saved$classes[[name]], envir = get(".classTable", asNamespace("methods")))
}
