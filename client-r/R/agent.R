# Controls volunteer-agent, the program that runs jobs of other users in a sandbox. It reads its login token and machine from a
# folder that only the user can access: no token is ever on a command line or in an environment variable.

agent_program <- function(call) {
  option <- getOption("remotist.agent")
  folder <- Sys.getenv("REMOTIST_BIN")
  found <- c(option, if (nzchar(folder)) file.path(folder, "volunteer-agent"), Sys.which("volunteer-agent")[[1L]])
  found <- found[nzchar(found) & file.exists(found)]
  if (length(found)) return(normalizePath(found[[1L]]))
  abort_remotist("no_agent", c(
    "The program {.code volunteer-agent} was not found.",
    x = "It is part of RemotIST, runs jobs in a sandbox, and needs Linux.",
    i = "Build it with {.code script/build}, then put its folder into {.envvar REMOTIST_BIN} or {.envvar PATH}, or set {.code options(remotist.agent = \"/path/to/volunteer-agent\")}."
  ), call = call)
}

agents_folder <- function() file.path(tools::R_user_dir("remotist", "data"), "volunteer")

agent_folder <- function(id) file.path(agents_folder(), id)

# Writes the login and the machine in the format of volunteer-agent's own files.
write_agent_folder <- function(machine, call) {
  token <- login_token(call)
  authority <- authority_file(call)
  before <- Sys.umask("077")
  on.exit(Sys.umask(before))
  folder <- agent_folder(machine$id)
  dir.create(folder, recursive = TRUE, showWarnings = FALSE)
  Sys.chmod(folder, "700", use_umask = FALSE)
  write_json <- function(name, value) {
    temporary <- file.path(folder, paste0(name, ".new"))
    writeLines(jsonlite::toJSON(value, auto_unbox = TRUE), temporary)
    file.rename(temporary, file.path(folder, name))
  }
  login <- list(url = r_session$url, ca_file = if (is.null(authority)) "" else authority, token = token)
  about <- list(id = machine$id, name = machine$name, cpu_cores = as.integer(machine$cpu))
  if (!write_json("login.json", login) || !write_json("machine.json", about)) {
    abort_remotist("agent_failed", c(
      "The files of the agent cannot be written to {.file {folder}}.",
      i = "Check the owner of the folder and the free space on the disc."
    ), call = call)
  }
  folder
}

# What the agent printed, with its exit status as the attribute "status".
run_agent <- function(program, folder, arguments) {
  output <- suppressWarnings(system2(program, c("--state", shQuote(folder), arguments), stdout = TRUE, stderr = TRUE, stdin = ""))
  status <- attr(output, "status")
  structure(clean_text(as.character(output)), status = if (is.null(status)) 0L else status)
}

agent_is_running <- function(program, id) {
  folder <- agent_folder(id)
  dir.exists(folder) && attr(run_agent(program, folder, "status"), "status") == 0L
}

abort_agent <- function(output, what, call) {
  lines <- utils::tail(output[nzchar(output)], 8L)
  abort_remotist("agent_failed", c(
    "{.code volunteer-agent} {what}.",
    bullets(sub("^volunteer-agent: ", "", lines), "x"),
    i = "Run {.code volunteer-agent doctor} in a terminal to check which protections this machine supports."
  ), call = call)
}
