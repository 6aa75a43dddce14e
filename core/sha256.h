// SHA-256. Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace remotist {

std::string sha256(std::string_view bytes);  // 32 raw bytes

}  // namespace remotist
