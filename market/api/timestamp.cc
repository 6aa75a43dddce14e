#include "market/api/timestamp.h"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace remotist::market {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

int number_at(std::string_view text, std::size_t from, std::size_t digits) {
  int number = 0;
  std::from_chars(text.data() + from, text.data() + from + digits, number);
  return number;
}

bool is_day(int year, int month, int day) {
  using namespace std::chrono;
  return year_month_day{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                        std::chrono::day{static_cast<unsigned>(day)}}
      .ok();
}

}  // namespace

std::optional<std::string> timestamp_of(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
  constexpr std::size_t kFractionMax = 6;
  if (text.size() <= kForm.size() || !text.ends_with('Z')) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == 'd' ? !is_digit(text[i]) : text[i] != kForm[i]) return std::nullopt;
  }
  auto fraction = text.substr(kForm.size(), text.size() - kForm.size() - 1);
  if (!fraction.empty()) {
    if (!fraction.starts_with('.') || fraction.size() < 2 || fraction.size() > kFractionMax + 1)
      return std::nullopt;
    fraction.remove_prefix(1);
    if (!std::ranges::all_of(fraction, is_digit)) return std::nullopt;
  }
  const int year = number_at(text, 0, 4);
  if (year < 1 || !is_day(year, number_at(text, 5, 2), number_at(text, 8, 2))) return std::nullopt;
  if (number_at(text, 11, 2) > 23 || number_at(text, 14, 2) > 59 || number_at(text, 17, 2) > 59)
    return std::nullopt;
  return std::string{text};
}

}  // namespace remotist::market
