test_that("a single small file is sent in one request with an idempotency key", {
  logged_in()
  folder <- a_folder("main.R" = "x <- 1\n")
  here <- market(list("PUT /job/" = json_reply(a_job(), 201L)))
  httr2::with_mocked_responses(here$mock, {
    expect_snapshot(
      job <- addJob("a mean", "main.R", cpu = 2, ram = 512, price = 1.5, deadline = 60, folder_path = folder, partialResultsVars = "x"),
      transform = without_folders
    )
  })
  expect_identical(here$received(), "PUT /job/")
  sent <- sent_json(here$requests()[[1L]])
  expect_identical(sent, list(
    name = "a mean", exec_file = "main.R", cpu = 2L, disc = 1024L, ram = 512L, price = 1.5, deadline = 60L,
    partial_results_vars = list("x"), code = "x <- 1\n", submit = TRUE
  ))
  expect_match(here$requests()[[1L]]$headers[["Idempotency-Key"]], "^[0-9a-f]{32}$")
  expect_s3_class(job, "remotist_job")
})

folder_routes <- function(...) {
  routes <- list(
    "GET /user/" = json_reply(list(balance = 100, held = 0)),
    "POST /blob/missing" = function(req) json_reply(list(missing = jsonlite::fromJSON(rawToChar(req$body$data))$chunks)),
    "PUT /job/" = json_reply(a_job(state = "uploading"), 201L)
  )
  routes[[paste0("POST /job/", job_id, "/code")]] <- nothing()
  routes[[paste0("POST /job/", job_id, "/data")]] <- nothing()
  routes[[paste0("POST /job/", job_id, "/submit")]] <- json_reply(a_job())
  routes[[paste0("DELETE /job/", job_id)]] <- nothing()
  utils::modifyList(routes, list(...))
}

test_that("the chunks of a folder are uploaded before the job is created", {
  logged_in()
  folder <- a_folder("main.R" = "x <- 1\n", "lib/f.R" = "f <- sum", "data.bin" = as.raw(rep_len(0:255, 10000)))
  name <- sha256(as.raw(rep_len(0:255, 10000)))
  routes <- folder_routes()
  routes[[paste0("PUT /blob/", name)]] <- nothing()
  here <- market(routes)
  httr2::with_mocked_responses(here$mock, suppressMessages(addJob("a mean", "main.R", folder_path = folder)))
  expect_identical(here$received(), c(
    "GET /user/", "POST /blob/missing", paste0("PUT /blob/", name), "PUT /job/", paste0("POST /job/", job_id, c("/code", "/data", "/submit"))
  ))
  expect_identical(sent_json(here$requests()[[5L]])$files, list(list(path = "lib/f.R", text = "f <- sum"), list(path = "main.R", text = "x <- 1\n")))
  expect_identical(sent_json(here$requests()[[6L]])$files, list(list(path = "data.bin", size = 10000L, chunks = list(name))))
})

test_that("when a chunk cannot be uploaded no job is created, and the message says how to continue", {
  logged_in()
  folder <- a_folder("main.R" = "x <- 1\n", "data.bin" = as.raw(rep_len(0:255, 10000)))
  routes <- folder_routes()
  routes[[paste0("PUT /blob/", sha256(as.raw(rep_len(0:255, 10000))))]] <- problem("quota_exceeded", 403L, "The quota is used up", "delete something")
  here <- market(routes)
  httr2::with_mocked_responses(here$mock, {
    expect_snapshot(addJob("a mean", "main.R", folder_path = folder), error = TRUE, transform = without_folders)
    expect_error(suppressMessages(addJob("a mean", "main.R", folder_path = folder)), class = "remotist_quota_exceeded")
  })
  expect_false("PUT /job/" %in% here$received())
})

test_that("a job that cannot be submitted is deleted", {
  logged_in()
  folder <- a_folder("main.R" = "x <- 1\n", "b.csv" = "1")
  routes <- folder_routes()
  routes[[paste0("POST /job/", job_id, "/submit")]] <- problem("insufficient_credits", 402L, "Not enough credits", "the price is more than the account holds")
  here <- market(routes)
  httr2::with_mocked_responses(here$mock, {
    expect_snapshot(addJob("a mean", "main.R", folder_path = folder), error = TRUE, transform = without_folders)
  })
  expect_identical(utils::tail(here$received(), 1L), paste0("DELETE /job/", job_id))
  routes[[paste0("DELETE /job/", job_id)]] <- problem("busy", 503L, "The market is busy", "try again")
  with_market(routes, {
    expect_snapshot(addJob("a mean", "main.R", folder_path = folder), error = TRUE, transform = without_folders)
  })
})

test_that("a submission whose response was lost is recognised as done", {
  logged_in()
  routes <- list()
  routes[[paste0("POST /job/", job_id, "/submit")]] <- problem("wrong_state", 409L, "Not possible in this state", "it is queued")
  routes[[paste0("GET /job/", job_id)]] <- json_reply(a_job(state = "queued"))
  with_market(routes, expect_identical(submit(job_id, NULL)$state, "queued"))
})

test_that("a price above the balance is refused before anything is uploaded", {
  logged_in()
  folder <- a_folder("main.R" = "x <- 1\n", "b.csv" = "1")
  here <- market(folder_routes())
  httr2::with_mocked_responses(here$mock, {
    expect_snapshot(addJob("a mean", "main.R", price = 101, folder_path = folder), error = TRUE, transform = without_folders)
    expect_error(suppressMessages(addJob("a mean", "main.R", price = 101, folder_path = folder)), class = "remotist_insufficient_credits")
  })
  expect_identical(unique(here$received()), "GET /user/")
})

test_that("every invalid argument is refused", {
  logged_in()
  folder <- a_folder("main.R" = "x <- 1\n", ".RData" = "1")
  expect_snapshot(error = TRUE, transform = without_folders, {
    addJob()
    addJob("a")
    addJob("", "main.R", folder_path = folder)
    addJob(strrep("a", 201), "main.R", folder_path = folder)
    addJob("a", "nowhere.R", folder_path = folder)
    addJob("a", "../main.R", folder_path = folder)
    addJob("a", "/etc/passwd", folder_path = folder)
    addJob("a", ".RData", folder_path = folder)
    addJob("a", "main.R", cpu = 0, folder_path = folder)
    addJob("a", "main.R", cpu = 1.5, folder_path = folder)
    addJob("a", "main.R", disc = "10 GB", folder_path = folder)
    addJob("a", "main.R", ram = 32, folder_path = folder)
    addJob("a", "main.R", price = -1, folder_path = folder)
    addJob("a", "main.R", price = Inf, folder_path = folder)
    addJob("a", "main.R", deadline = "tomorrow", folder_path = folder)
    addJob("a", "main.R", folder_path = "/nowhere")
    addJob("a", "main.R", folder_path = folder, partialResultsVars = 1)
  })
})

test_that("a job cannot be submitted without a login", {
  logged_out()
  folder <- a_folder("main.R" = "x <- 1\n")
  expect_snapshot(addJob("a", "main.R", folder_path = folder), error = TRUE)
})

test_that("checkpoints are on unless the user says otherwise", {
  logged_in()
  folder <- a_folder("main.R" = "x <- 1\n")
  here <- market(list("PUT /job/" = json_reply(a_job(), 201L)))
  httr2::with_mocked_responses(here$mock, suppressMessages({
    addJob("a mean", "main.R", folder_path = folder, checkpoint = FALSE)
    addJob("a mean", "main.R", folder_path = folder, checkpoint = TRUE)
  }))
  expect_false(sent_json(here$requests()[[1L]])$checkpoint)
  # The market's default is not sent.
  expect_null(sent_json(here$requests()[[2L]])$checkpoint)
  expect_snapshot(error = TRUE, {
    addJob("a", "main.R", folder_path = folder, checkpoint = NA)
    addJob("a", "main.R", folder_path = folder, checkpoint = "yes")
  })
})

test_that("a file that is not text is uploaded as bytes", {
  expect_null(inline_text(a_folder("a" = as.raw(c(1, 0, 2))) |> file.path("a"), 3))
  expect_null(inline_text(a_folder("a" = "a\033b") |> file.path("a"), 3))
  expect_null(inline_text(a_folder("a" = as.raw(c(0xff, 0xfe))) |> file.path("a"), 2))
  expect_identical(inline_text(a_folder("a" = "\u00e9\r\n") |> file.path("a"), 4), "\u00e9\r\n")
})
