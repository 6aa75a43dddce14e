# Wrangles the sales of a made-up company: split, merge, aggregate, tapply, reshape, cut, rank.
set.seed(2001)
n <- 20000
shops <- data.frame(shop = 1:12, region = rep(c("north", "south", "east", "west"), 3), opened = 1990 + sample(25, 12))
products <- data.frame(product = LETTERS[1:8], price = round(runif(8, 5, 80), 2), stringsAsFactors = TRUE)
sales <- data.frame(
  shop = sample(shops$shop, n, TRUE, prob = 12:1),
  product = sample(products$product, n, TRUE),
  month = sample(12, n, TRUE),
  pieces = rpois(n, 3) + 1
)
sales$pieces[sample(n, 60)] <- NA

sales <- merge(merge(sales, shops, by = "shop"), products)
sales$turnover <- with(sales, pieces * price * ifelse(month %in% c(1, 7), 0.8, 1))
sales <- sales[order(sales$shop, sales$month, sales$product, sales$pieces), ]
rownames(sales) <- NULL

by_region <- aggregate(turnover ~ region + month, data = sales, FUN = sum)
wide <- reshape(by_region, idvar = "region", timevar = "month", direction = "wide")
by_shop <- tapply(sales$turnover, list(sales$shop, sales$product), sum, na.rm = TRUE)
best_product <- colnames(by_shop)[apply(by_shop, 1, which.max)]

# For each shop: a trend over the months and the share of the best month.
summaries <- lapply(split(sales, sales$shop), function(one) {
  monthly <- sapply(1:12, function(m) sum(one$turnover[one$month == m], na.rm = TRUE))
  data.frame(shop = one$shop[1], total = sum(monthly), trend = unname(coef(lm(monthly ~ seq_along(monthly)))[2]),
             best_month = month.name[which.max(monthly)], best_share = max(monthly) / sum(monthly))
})
shop_table <- do.call(rbind, summaries)
shop_table$class <- cut(rank(-shop_table$total), c(0, 3, 8, 12), labels = c("gold", "silver", "bronze"))

running <- NULL
for (region in unique(sales$region)) {
  rows <- subset(sales, sales$region == region & !is.na(turnover), select = c(month, turnover))
  for (month in 1:12) {
    so_far <- sum(rows$turnover[rows$month <= month])
    running <- rbind(running, data.frame(region = region, month = month, so_far = so_far))
  }
}
missing_rate <- sapply(sales, function(column) mean(is.na(column)))
crossed <- xtabs(pieces ~ region + product, data = sales)
stacked <- stack(lapply(split(sales$turnover, sales$region), quantile, na.rm = TRUE))
top_ten <- head(sales[order(-sales$turnover), c("shop", "product", "turnover")], 10)
