// The file in which a guest hands over a value that is too large for a frame.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace remotist::volunteer {

// What a guest put there under a name of PartialValue::file, as long as it is a regular file with one name
// and of at most limits::kWatchedFileBytesMax; none when it is anything else, or gone.
std::optional<std::int64_t> weigh_partial_file(int guest_folder, std::string_view name);

}  // namespace remotist::volunteer
