# Complex numbers: the Mandelbrot and Newton fractals, a Fourier transform by hand, roots of polynomials, L-systems.
width <- 220
height <- 130
escape <- matrix(0L, height, width)
for (row in 1:height) {
  for (column in 1:width) {
    c <- complex(real = -2 + 3 * column / width, imaginary = -1.2 + 2.4 * row / height)
    z <- 0 + 0i
    n <- 0L
    while (Mod(z) <= 2 && n < 60L) {
      z <- z^2 + c
      n <- n + 1L
    }
    escape[row, column] <- n
  }
}
shades <- strsplit(" .:-=+*#%@", "")[[1]]
picture <- apply(escape, 1, function(line) paste(shades[1 + line %/% 7], collapse = ""))

newton_root <- function(z) {
  for (step in 1:40) {
    change <- (z^3 - 1) / (3 * z^2)
    z <- z - change
    if (Mod(change) < 1e-9) break
  }
  c(which.min(Mod(z - exp(2i * pi * (0:2) / 3))), step)
}
plane <- expand.grid(x = seq(-1.55, 1.5, length.out = 60), y = seq(-1.51, 1.5, length.out = 60))
basins <- mapply(function(x, y) newton_root(complex(real = x, imaginary = y)), plane$x, plane$y)
basin_sizes <- table(basins[1, ])

fourier <- function(x) {
  n <- length(x)
  if (n == 1) return(x + 0i)
  even <- fourier(x[c(TRUE, FALSE)])
  odd <- fourier(x[c(FALSE, TRUE)]) * exp(-2i * pi * (0:(n / 2 - 1)) / n)
  c(even + odd, even - odd)
}
signal <- sin(2 * pi * 5 * (0:511) / 512) + 0.5 * cos(2 * pi * 40 * (0:511) / 512)
transform <- fourier(signal)
fourier_error <- max(Mod(transform - fft(signal)))
peaks <- which(Mod(transform)[1:256] > 50) - 1

durand_kerner <- function(coefficients) {
  degree <- length(coefficients) - 1
  roots <- (0.4 + 0.9i)^(0:(degree - 1))
  value <- function(z) Reduce(function(acc, k) acc * z + k, coefficients)
  repeat {
    old <- roots
    for (i in seq_len(degree)) roots[i] <- roots[i] - value(roots[i]) / prod(roots[i] - roots[-i])
    if (max(Mod(roots - old)) < 1e-12) return(roots)
  }
}
roots <- durand_kerner(c(1, -6, 11, -6, 4, 2))
checked <- max(Mod(sort(roots) - sort(polyroot(rev(c(1, -6, 11, -6, 4, 2))))))

rules <- list(F = "F+F-F-F+F", "+" = "+", "-" = "-")
path <- "F"
for (generation in 1:4) path <- paste(unlist(rules[strsplit(path, "")[[1]]]), collapse = "")
position <- 0 + 0i
heading <- 1 + 0i
corners <- position
for (step in strsplit(path, "")[[1]]) {
  switch(step,
    F = corners[length(corners) + 1] <- position <- position + heading,
    "+" = heading <- heading * 1i,
    "-" = heading <- heading / 1i)
}
