# Draws the figures of docs/churn.md. Arguments: the CSV of bench_churn, the folder for churn-2.svg to churn-4.svg.
# The SVG is written as text, so that equal figures give equal files. A light background of its own makes it readable on
# a dark page.

arguments <- commandArgs(trailingOnly = TRUE)
points <- read.csv(arguments[1], stringsAsFactors = FALSE)
folder <- arguments[2]

width <- 720
height <- 430
area <- list(left = 70, right = 490, top = 50, bottom = 370)
colours <- c("#d55e00", "#0072b2", "#8a6d00", "#00795c", "#a6468a")
titles <- c(
  "2" = "Crash-recovery: machines that fail come back",
  "3" = "Crash-stop: machines that fail do not come back",
  "4" = "Availability of checkpoints, at one failure in 10 units of time"
)
x_names <- c(
  "2" = "failures in 10 units of time",
  "3" = "failures in 10 units of time",
  "4" = "checkpoints that can be fetched, in %"
)

escape <- function(text) gsub("<", "&lt;", gsub("&", "&amp;", text, fixed = TRUE), fixed = TRUE)
number <- function(value) formatC(value, format = "f", digits = 1)

text_at <- function(x, y, text, more = "") {
  sprintf('<text x="%s" y="%s"%s>%s</text>', number(x), number(y), more, escape(text))
}
line_at <- function(x1, y1, x2, y2, colour) {
  sprintf('<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="%s"/>', number(x1), number(y1), number(x2), number(y2), colour)
}

# Positions of values on the axes; y is logarithmic.
x_position <- function(x, range) area$left + (x - range[1]) / diff(range) * (area$right - area$left)
y_position <- function(y, range) area$bottom - log(y / range[1]) / log(range[2] / range[1]) * (area$bottom - area$top)

y_ticks <- function(most) {
  all <- c(outer(c(1, 2, 5), 10^(0:6)))
  all[all <= most]
}

axes <- function(x_range, y_range, figure) {
  x_ticks <- pretty(x_range, 10)
  y_values <- y_ticks(y_range[2])
  middle <- (area$top + area$bottom) / 2
  c(
    line_at(area$left, y_position(y_values, y_range), area$right, y_position(y_values, y_range), "#d8d8d8"),
    text_at(area$left - 8, y_position(y_values, y_range) + 4, format(y_values, trim = TRUE, big.mark = ","), ' text-anchor="end"'),
    line_at(x_position(x_ticks, x_range), area$bottom, x_position(x_ticks, x_range), area$bottom + 5, "#444"),
    text_at(x_position(x_ticks, x_range), area$bottom + 19, format(x_ticks, trim = TRUE), ' text-anchor="middle"'),
    line_at(area$left, area$bottom, area$right, area$bottom, "#444"),
    text_at((area$left + area$right) / 2, area$bottom + 42, x_names[[figure]], ' text-anchor="middle"'),
    text_at(0, 0, "turnaround time / time without failures",
            sprintf(' text-anchor="middle" transform="translate(20 %s) rotate(-90)"', number(middle)))
  )
}

series <- function(of_one, colour, x_range, y_range) {
  x <- number(x_position(of_one$x, x_range))
  c(
    sprintf('<polyline fill="none" stroke="%s" stroke-width="1.6" points="%s"/>', colour,
            paste(x, number(y_position(of_one$closed_form, y_range)), sep = ",", collapse = " ")),
    sprintf('<circle cx="%s" cy="%s" r="3.2" fill="%s"/>', x, number(y_position(of_one$simulated, y_range)), colour)
  )
}

# In the order of the lines' right ends, and beside them, but so far apart that they can be read.
legend <- function(names, last, y_range) {
  y <- y_position(last, y_range)
  order <- order(y)
  placed <- y[order]
  for (i in seq_along(placed)[-1]) placed[i] <- max(placed[i], placed[i - 1] + 17)
  over <- max(0, placed[length(placed)] - area$bottom)
  placed <- placed - over
  sprintf('<text x="%s" y="%s" fill="%s">%s</text>', number(area$right + 12), number(placed + 4), colours[order], escape(names[order]))
}

draw <- function(figure) {
  own <- points[points$figure == as.integer(figure), ]
  names <- unique(own$scheme)
  x_range <- c(0, max(own$x))
  y_range <- c(1, max(own$simulated, own$closed_form) * 1.1)
  by_name <- lapply(names, function(name) own[own$scheme == name, ])
  last <- vapply(by_name, function(each) each$closed_form[nrow(each)], 0)
  c(
    sprintf('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d"', width, height, width, height),
    sprintf('     font-family="sans-serif" font-size="12" fill="#222" role="img" aria-label="%s">', escape(titles[[figure]])),
    sprintf('<rect width="%d" height="%d" rx="6" fill="#fcfcfc"/>', width, height),
    text_at(area$left, 28, titles[[figure]], ' font-size="15" font-weight="bold"'),
    axes(x_range, y_range, figure),
    unlist(Map(series, by_name, colours[seq_along(names)], list(x_range), list(y_range))),
    legend(names, last, y_range),
    "</svg>"
  )
}

for (figure in names(titles)) {
  file <- file.path(folder, sprintf("churn-%s.svg", figure))
  writeLines(draw(figure), file)
  cat("wrote", file, "\n")
}
