// The file in which a guest hands over a value that is too large for a frame.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {

// What a guest put there under a name of PartialValue::file, as long as it is a regular file with one name
// and of at most limits::kWatchedFileBytesMax; none when it is anything else, or gone.
std::optional<std::int64_t> weigh_partial_file(int guest_folder, std::string_view name);

// Opens it for reading, without following a link or waiting, and deletes its name: nobody else opens it any
// more, though the guest may still write to it. None as above. Requires GuestSpec::folder.
std::optional<Descriptor> take_partial_file(const std::filesystem::path& guest_folder, std::string_view name);

}  // namespace remotist::volunteer
