#include "volunteer/sandbox/watched_file.h"

#include <fcntl.h>
#include <format>
#include <sys/stat.h>

#include "core/limits.h"
#include "volunteer/sandbox/guest.h"
#include "volunteer/sandbox/guest_message.h"

namespace remotist::volunteer {

namespace {

bool is_good(const struct stat& state) {
  return S_ISREG(state.st_mode) && state.st_nlink == 1 && state.st_size >= 0 &&
         static_cast<std::size_t>(state.st_size) <= limits::kWatchedFileBytesMax;
}

}  // namespace

std::optional<std::int64_t> watched_file_size(int guest_folder, std::string_view name) {
  if (!is_watched_file_name(name)) return std::nullopt;
  struct stat state{};
  const auto path = std::format("{}/{}", kOutFolder, name);
  if (::fstatat(guest_folder, path.c_str(), &state, AT_SYMLINK_NOFOLLOW) != 0 || !is_good(state))
    return std::nullopt;
  return state.st_size;
}

}  // namespace remotist::volunteer
