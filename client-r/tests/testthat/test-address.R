test_that("only TLS and loopback addresses are confidential", {
  for (url in c("https://market.example", "http://localhost:8080", "http://127.0.0.1", "http://127.9.8.7:1/x", "http://[::1]:8080")) {
    expect_true(is_confidential_address(url), info = url)
  }
  for (url in c("http://market.example", "http://127.evil.example", "http://localhost.evil.example", "http://127.0.0.1@evil.example",
    "http://localhost:80@evil.example/", "http://192.168.0.1")) {
    expect_false(is_confidential_address(url), info = url)
  }
})
