# Runs the case's program in C.
source("prelude.R")

misbehave()
