#include "market/service/checks.h"

#include <algorithm>
#include <string>

#include "core/limits.h"
#include "core/utf8.h"

namespace remotist::market {
namespace {

bool is_blank_or_control(char c) {
  const auto u = static_cast<unsigned char>(c);
  return u <= ' ' || u == 0x7f;
}

}  // namespace

Result<void> check_range(std::string_view field, std::int64_t value, std::int64_t least, std::int64_t most,
                         std::string_view unit) {
  if (value >= least && value <= most) return {};
  return refuse(Code::invalid_field,
                std::string{field} + " is " + std::to_string(value) + " and must be from " +
                    std::to_string(least) + " to " + std::to_string(most) + " " + std::string{unit},
                std::string{field});
}

Result<void> check_name(std::string_view field, std::string_view name, std::size_t bytes_max) {
  if (!name.empty() && name.size() <= bytes_max && !has_control_characters(name)) return {};
  return refuse(Code::invalid_field,
                std::string{field} + " must have 1 to " + std::to_string(bytes_max) +
                    " bytes and no control characters",
                std::string{field});
}

Result<void> check_email(std::string_view email) {
  const auto at = email.find('@');
  const bool shaped =
      at != std::string_view::npos && at > 0 && at + 1 < email.size() && email.rfind('@') == at;
  if (!shaped || std::ranges::any_of(email, is_blank_or_control)) {
    return refuse(Code::invalid_field, "an e-mail address looks like name@example.org", "email");
  }
  if (email.size() > limits::kEmailBytesMax) {
    return refuse(Code::invalid_field,
                  "an e-mail address has at most " + std::to_string(limits::kEmailBytesMax) + " bytes",
                  "email");
  }
  return {};
}

Result<void> check_password(std::string_view password, const char* field) {
  if (password.size() < limits::kPasswordBytesMin || password.size() > limits::kPasswordBytesMax) {
    return refuse(Code::invalid_field,
                  "a password has " + std::to_string(limits::kPasswordBytesMin) + " to " +
                      std::to_string(limits::kPasswordBytesMax) + " bytes",
                  field);
  }
  return {};
}

}  // namespace remotist::market
