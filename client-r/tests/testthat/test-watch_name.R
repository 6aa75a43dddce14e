test_that("names are accepted, or refused with the position of the mistake, as core/watch_name.cc does", {
  cases <- jsonlite::fromJSON("watch-names.json", simplifyVector = FALSE)
  expect_gt(length(cases), 50)
  for (row in cases) {
    mistake <- watch_name_mistake(row$name)
    expect_equal(mistake$character, row$character, label = deparse(row$name))
  }
  expect_identical(watch_name_mistake("\xff\xfe")$character, 0)
})

test_that("a name that cannot be watched is refused before anything is sent, with the mistake marked", {
  logged_in()
  folder <- a_folder("main.R" = "x <- 1\n")
  server <- market(list())
  add <- function(name) addJob("a", "main.R", folder_path = folder, partialResultsVars = name)
  httr2::with_mocked_responses(server$mock, {
    expect_snapshot(error = TRUE, {
      add(c("x", "loss evry 5"))
      add("gr\u00f6\u00dfe[1]")
      add("x\ty")
      add("")
      add(strrep("x", 201))
      add(c("x", "x"))
    })
    mistake <- expect_error(add("x every 0"), class = "remotist_invalid_argument")
  })
  expect_identical(mistake$argument, "partialResultsVars")
  expect_equal(mistake$position, 9)
  expect_identical(server$received(), character())
})
