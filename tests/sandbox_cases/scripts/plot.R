# Draws without having opened a device.
source("prelude.R")

trying("plot()")
plot(1:10)
drawn <- "kept"
