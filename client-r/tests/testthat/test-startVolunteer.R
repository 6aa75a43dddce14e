# An agent that writes down how it was called, and says what the test wants.
fake_agent <- function(lines, env = parent.frame()) {
  agent <- tempfile("job-agent-")
  writeLines(c("#!/bin/sh", paste0("echo \"$@\" >>", agent, ".calls"), paste0("env >", agent, ".env"), lines), agent)
  Sys.chmod(agent, "755")
  options(remotist.agent = agent)
  cleanup(options(remotist.agent = NULL), env)
  cleanup(unlink(agents_folder(), recursive = TRUE), env)
  agent
}

with_machine <- function(code) {
  routes <- list("POST /volunteer/setState" = nothing())
  routes[[paste0("GET /machine/", machine_id)]] <- json_reply(a_machine())
  with_market(routes, code)
}

test_that("the agent gets login and machine in a folder that only its owner can read", {
  skip_on_os("windows")
  logged_in()
  agent <- fake_agent('case "$*" in *status*) exit 3 ;; esac')
  with_machine(expect_snapshot(startVolunteer(machine_id, port = 7000), transform = without_folders))
  folder <- agent_folder(machine_id)
  expect_identical(format(file.mode(folder)), "700")
  expect_identical(format(file.mode(file.path(folder, c("login.json", "machine.json")))), c("600", "600"))
  expect_identical(jsonlite::fromJSON(file.path(folder, "login.json")), list(url = "http://market.test", ca_file = "", token = "remotist_login_secret"))
  expect_identical(jsonlite::fromJSON(file.path(folder, "machine.json")), list(id = machine_id, name = "laptop", cpu_cores = 2L))
  expect_match(readLines(paste0(agent, ".calls")), "start --background$")
  expect_false(any(grepl("secret", c(readLines(paste0(agent, ".calls")), readLines(paste0(agent, ".env"))))))
})

test_that("a machine that is already lent is not started twice, and can be stopped", {
  skip_on_os("windows")
  logged_in()
  agent <- fake_agent("echo fine")
  dir.create(agent_folder(machine_id), recursive = TRUE)
  with_machine({
    expect_snapshot(startVolunteer(machine_id))
    expect_snapshot(setVolunteerState("busy"))
  })
  expect_snapshot(stopVolunteer())
  expect_match(utils::tail(readLines(paste0(agent, ".calls")), 1L), "stop$")
})

test_that("the message of an agent that does not start is shown", {
  skip_on_os("windows")
  logged_in()
  fake_agent(c('case "$*" in *status*) exit 3 ;; esac', "echo 'volunteer-agent: this machine cannot keep {strangers} in' >&2", "exit 1"))
  with_machine(expect_snapshot(startVolunteer(machine_id), error = TRUE))
})

test_that("without an agent the message says where to get it", {
  logged_in()
  path <- Sys.getenv("PATH")
  Sys.setenv(PATH = tempdir())
  on.exit(Sys.setenv(PATH = path), add = TRUE)
  with_machine(expect_snapshot(startVolunteer(machine_id), error = TRUE))
})

test_that("invalid arguments are refused", {
  logged_in()
  expect_snapshot(error = TRUE, {
    startVolunteer("laptop")
    startVolunteer(machine_id, port = "http")
    setVolunteerState("asleep")
    setVolunteerState("free")
    stopVolunteer("laptop")
  })
})

test_that("stopping nothing is no error", {
  skip_on_os("windows")
  fake_agent("exit 3")
  expect_snapshot(stopVolunteer())
})
