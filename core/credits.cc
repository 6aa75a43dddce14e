#include "core/credits.h"

#include <cmath>

namespace remotist {

std::optional<Credits> Credits::from_number(double credits) {
  const double amount = credits * 1e6;
  if (!std::isfinite(amount) || amount < 0 || amount > static_cast<double>(kCreditsMicroMax))
    return std::nullopt;
  const double whole = std::round(amount);
  // Six decimals written in decimal are rarely whole after the multiplication; a seventh is ten thousand
  // times further away than that error.
  if (std::abs(amount - whole) > 1e-5 * std::max(1.0, amount * 1e-9)) return std::nullopt;
  if (whole == 0 && amount > 0) return std::nullopt;
  return Credits{static_cast<std::int64_t>(whole)};
}

}  // namespace remotist
