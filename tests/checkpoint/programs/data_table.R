# Follows the stock of a warehouse with data.table: changes by reference, joins, groups, rolling joins.
# Needs the package data.table.
library(data.table)
setDTthreads(1)
set.seed(41)
moves <- data.table(article = sample(sprintf("A%02d", 1:20), 4000, TRUE),
                    day = sample(365, 4000, TRUE), pieces = sample(-9:12, 4000, TRUE))
setkey(moves, article, day)
moves[, stock := cumsum(pieces), by = article]
articles <- data.table(article = sprintf("A%02d", 1:20), price = round(runif(20, 1, 50), 2), key = "article")
moves[articles, value := stock * i.price, on = "article"]

weekly <- NULL
for (week in 1:52) {
  days <- (week - 1) * 7 + 1:7
  part <- moves[day %in% days, .(moved = sum(abs(pieces)), value = mean(value)), by = article]
  part[, week := week]
  weekly <- rbind(weekly, part)
}
setorder(weekly, week, article)
wide <- dcast(weekly, article ~ week, value.var = "moved", fill = 0)
long <- melt(wide, id.vars = "article", variable.name = "week", value.name = "moved")

snapshots <- CJ(article = articles$article, day = seq(30, 360, 30))
snapshots[, stock := moves[snapshots, stock, on = c("article", "day"), roll = TRUE, mult = "last"]]
runs <- moves[, {
  short <- stock < 0
  r <- rle(short)
  .(spells = sum(r$values), longest = if (any(r$values)) max(r$lengths[r$values]) else 0L)
}, by = article]

orders <- list()
for (name in articles$article) {
  low <- moves[article == name & stock < 5]
  if (nrow(low) == 0) next
  amount <- 0
  for (k in seq_len(min(nrow(low), 15))) amount <- amount + (10 - low$stock[k]) * 0.5^k
  orders[[name]] <- round(amount)
}
set(moves, i = which(moves$stock < 0), j = "value", value = 0)
totals <- moves[, lapply(.SD, sum), by = .(article), .SDcols = c("pieces", "value")]
ordered <- unlist(orders)
fwrite(totals, "totals.csv")
again <- fread("totals.csv")
