# Lets a plucked string and a round pond ring: the wave equation in one and two dimensions, by leapfrog.
string_length <- 200
position <- seq(0, 1, length.out = string_length)
pluck <- ifelse(position < 0.3, position / 0.3, (1 - position) / 0.7)
now <- pluck
past <- pluck
courant <- 0.9
microphone <- numeric(4500)
for (tick in seq_along(microphone)) {
  future <- now
  for (cell in 2:(string_length - 1)) {
    future[cell] <- 2 * now[cell] - past[cell] + courant^2 * (now[cell + 1] - 2 * now[cell] + now[cell - 1])
  }
  past <- now
  now <- future * 0.9995
  microphone[tick] <- now[37]
}
spectrum_of_string <- Mod(fft(microphone))[2:60]
loudest <- order(spectrum_of_string, decreasing = TRUE)[1:5]

side <- 61
grid <- expand.grid(x = 1:side, y = 1:side)
pond <- matrix(sqrt((grid$x - 31)^2 + (grid$y - 31)^2) < 29, side)
height <- outer(1:side, 1:side, function(x, y) exp(-((x - 20)^2 + (y - 31)^2) / 12)) * pond
before <- height
shift <- function(m, down, right) {
  rows <- pmin(pmax(seq_len(side) + down, 1), side)
  columns <- pmin(pmax(seq_len(side) + right, 1), side)
  m[rows, columns]
}
energy <- c()
while (length(energy) < 800) {
  laplacian <- shift(height, 1, 0) + shift(height, -1, 0) + shift(height, 0, 1) + shift(height, 0, -1) - 4 * height
  after <- (2 * height - before + 0.25 * laplacian) * pond
  energy <- c(energy, sum((after - before)^2))
  before <- height
  height <- after
}
crest <- which(height == max(height), arr.ind = TRUE)
