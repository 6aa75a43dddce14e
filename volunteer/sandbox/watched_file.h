// The file in which a guest passes a watched value that is too large for a frame.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace remotist::volunteer {

// The size of the file with a name of GuestRecord::file. None unless it is a regular file with one link and
// at most limits::kWatchedFileBytesMax bytes.
std::optional<std::int64_t> watched_file_size(int guest_folder, std::string_view name);

}  // namespace remotist::volunteer
