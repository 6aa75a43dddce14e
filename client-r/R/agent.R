# volunteer-agent, the program that runs strangers' jobs in a sandbox. What it must know lies in a folder of its own that
# nobody else can enter: no token is ever on a command line or in an environment.

agent_program <- function(call) {
  option <- getOption("remotist.agent")
  folder <- Sys.getenv("REMOTIST_BIN")
  found <- c(option, if (nzchar(folder)) file.path(folder, "volunteer-agent"), Sys.which("volunteer-agent")[[1L]])
  found <- found[nzchar(found) & file.exists(found)]
  if (length(found)) return(normalizePath(found[[1L]]))
  abort_remotist("no_agent", c(
    "The program {.code volunteer-agent} was not found.",
    x = "It comes with RemotIST, for Linux, and runs the jobs in a sandbox.",
    i = "Build it with {.code script/build}, then put its folder into {.envvar REMOTIST_BIN} or {.envvar PATH}, or say {.code options(remotist.agent = \"/path/to/volunteer-agent\")}."
  ), call = call)
}

agents_folder <- function() file.path(tools::R_user_dir("remotist", "data"), "volunteer")

agent_folder <- function(id) file.path(agents_folder(), id)

# Log-in and machine, as volunteer-agent itself writes them.
write_agent_folder <- function(machine, call) {
  token <- session_token(call)
  authority <- authority_file(call)
  before <- Sys.umask("077")
  on.exit(Sys.umask(before))
  folder <- agent_folder(machine$id)
  dir.create(folder, recursive = TRUE, showWarnings = FALSE)
  Sys.chmod(folder, "700", use_umask = FALSE)
  keep <- function(name, value) {
    half <- file.path(folder, paste0(name, ".new"))
    writeLines(jsonlite::toJSON(value, auto_unbox = TRUE), half)
    file.rename(half, file.path(folder, name))
  }
  login <- list(url = session$url, ca_file = if (is.null(authority)) "" else authority, token = token)
  about <- list(id = machine$id, name = machine$name, cpu_cores = as.integer(machine$cpu))
  if (!keep("login.json", login) || !keep("machine.json", about)) {
    abort_remotist("agent_failed", c(
      "{.file {folder}} cannot be written.",
      i = "The agent keeps its files there: check the folder's owner and the space on the disc."
    ), call = call)
  }
  folder
}

# What it printed, with its exit status as the attribute "status".
run_agent <- function(program, folder, arguments) {
  said <- suppressWarnings(system2(program, c("--state", shQuote(folder), arguments), stdout = TRUE, stderr = TRUE, stdin = ""))
  status <- attr(said, "status")
  structure(clean_text(as.character(said)), status = if (is.null(status)) 0L else status)
}

agent_runs <- function(program, id) {
  folder <- agent_folder(id)
  dir.exists(folder) && attr(run_agent(program, folder, "status"), "status") == 0L
}

abort_agent <- function(said, what, call) {
  lines <- utils::tail(said[nzchar(said)], 8L)
  abort_remotist("agent_failed", c(
    "The agent {what}.",
    bullets(sub("^volunteer-agent: ", "", lines), "x"),
    i = "{.code volunteer-agent doctor} in a terminal tells what this machine can do."
  ), call = call)
}
