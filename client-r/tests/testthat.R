library(testthat)
library(remotist)

test_check("remotist")
