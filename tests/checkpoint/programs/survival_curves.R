# Survival of patients: Kaplan-Meier by hand against the package, Cox models on bootstrap samples, a permutation test.
# Needs the package survival.
library(survival)
set.seed(228)
patients <- na.omit(lung[, c("time", "status", "age", "sex", "ph.ecog")])

kaplan_meier <- function(time, dead) {
  moments <- sort(unique(time[dead]))
  alive <- 1
  curve <- matrix(0, length(moments), 2, dimnames = list(NULL, c("time", "survival")))
  for (i in seq_along(moments)) {
    at_risk <- sum(time >= moments[i])
    died <- sum(time == moments[i] & dead)
    alive <- alive * (1 - died / at_risk)
    curve[i, ] <- c(moments[i], alive)
  }
  curve
}
by_hand <- with(patients, kaplan_meier(time, status == 2))
package_curve <- survfit(Surv(time, status) ~ 1, data = patients)
worst <- max(abs(by_hand[, 2] - summary(package_curve)$surv))
median_time <- unname(summary(package_curve)$table["median"])

cox <- coxph(Surv(time, status) ~ age + sex + ph.ecog, data = patients)
estimates <- coef(cox)
draws <- replicate(12, {
  rows <- sample(nrow(patients), replace = TRUE)
  coef(coxph(Surv(time, status) ~ age + sex + ph.ecog, data = patients[rows, ]))
})
spread <- apply(draws, 1, sd)

observed <- survdiff(Surv(time, status) ~ sex, data = patients)$chisq
shuffled <- numeric(20)
for (k in seq_along(shuffled)) {
  patients$group <- sample(patients$sex)
  shuffled[k] <- survdiff(Surv(time, status) ~ group, data = patients)$chisq
}
patients$group <- NULL
p_value <- (1 + sum(shuffled >= observed)) / (1 + length(shuffled))
hazard_ratio <- exp(cbind(estimates, confint(cox)))
rm(cox, package_curve)
