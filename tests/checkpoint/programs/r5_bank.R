# Runs a bank with reference classes: accounts that inherit, share an auditor and know their own history.
set.seed(1694)
Auditor <- setRefClass("Auditor", fields = list(entries = "numeric", alarms = "character"), methods = list(
  note = function(amount, who) {
    entries <<- c(entries, amount)
    if (abs(amount) > 900) alarms <<- c(alarms, paste0(who, ":", round(amount)))
    invisible(.self)
  }
))

Account <- setRefClass("Account",
  fields = list(owner = "character", balance = "numeric", history = "list", auditor = "Auditor"),
  methods = list(
    deposit = function(amount) {
      balance <<- balance + amount
      history[[length(history) + 1]] <<- list(kind = "in", amount = amount, balance = balance)
      auditor$note(amount, owner)
      invisible(.self)
    },
    withdraw = function(amount) {
      if (amount > limit()) stop("not enough money: ", owner, call. = FALSE)
      balance <<- balance - amount
      history[[length(history) + 1]] <<- list(kind = "out", amount = amount, balance = balance)
      auditor$note(-amount, owner)
      invisible(.self)
    },
    limit = function() balance,
    close_month = function() invisible(.self)
  )
)

Savings <- setRefClass("Savings", contains = "Account", fields = list(rate = "numeric"), methods = list(
  close_month = function() {
    callSuper()
    deposit(balance * rate / 12)
  }
))
Credit <- setRefClass("Credit", contains = "Account", fields = list(allowed = "numeric", fees = "numeric"), methods = list(
  initialize = function(...) {
    initFields(fees = 0, ...)
  },
  limit = function() balance + allowed,
  close_month = function() {
    if (balance < 0) {
      fee <- -balance * 0.01
      fees <<- fees + fee
      balance <<- balance - fee
    }
    callSuper()
  }
))

auditor <- Auditor$new()
accounts <- list(Savings$new(owner = "ada", balance = 1000, rate = 0.04, auditor = auditor),
                 Credit$new(owner = "bob", balance = 200, allowed = 1500, auditor = auditor),
                 Account$new(owner = "eve", balance = 500, auditor = auditor))
refused <- character(0)
for (month in 1:36) {
  for (k in 1:20) {
    pair <- sample(3, 2)
    amount <- round(rexp(1, 1 / 150), 2)
    tryCatch({
      accounts[[pair[1]]]$withdraw(amount)
      accounts[[pair[2]]]$deposit(amount)
    }, error = function(e) refused <<- c(refused, conditionMessage(e)))
  }
  for (account in accounts) account$close_month()
}
balances <- sapply(accounts, function(a) a$balance)
copied <- accounts[[1]]$copy()
copied$deposit(1e6)
still <- accounts[[1]]$balance
refusals <- table(refused)
