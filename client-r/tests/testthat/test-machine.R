test_that("a machine is registered, viewed and listed", {
  logged_in()
  routes <- list("PUT /machine/" = json_reply(a_machine(created_at = NULL, state = "offline"), 201L))
  routes[["GET /machine/"]] <- json_reply(list(machines = list(a_machine()), page = 1, per_page = 50, more = FALSE))
  routes[[paste0("GET /machine/", machine_id)]] <- json_reply(a_machine(state = "busy"))
  here <- market(routes)
  httr2::with_mocked_responses(here$mock, {
    expect_snapshot(addMachine("laptop", cpu = 2, disc = 10000, ram = 4000, price = 1))
    expect_identical(viewMachine(machine_id)$state, "busy")
    expect_identical(viewMachine(new_machine(a_machine()))$state, "busy")
    expect_snapshot(listMachines())
  })
  expect_identical(sent_json(here$requests()[[1L]]), list(name = "laptop", cpu = 2L, disc = 10000L, ram = 4000L, price = 1L))
  with_market(list("GET /machine/" = json_reply(list(machines = list(), page = 1, per_page = 50, more = FALSE))), expect_snapshot(listMachines()))
})

test_that("invalid arguments are refused", {
  logged_in()
  expect_snapshot(error = TRUE, {
    addMachine("laptop")
    addMachine("laptop", cpu = 1000, disc = 1, ram = 64, price = 1)
    addMachine("laptop", cpu = 1, disc = 1, ram = 64, price = "cheap")
  })
})
