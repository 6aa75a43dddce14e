#include "volunteer/sandbox/partial_file.h"

#include <fcntl.h>
#include <format>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "core/limits.h"
#include "volunteer/sandbox/folder.h"
#include "volunteer/sandbox/guest.h"
#include "volunteer/sandbox/word.h"

namespace remotist::volunteer {

namespace {

bool is_good(const struct stat& state) {
  return S_ISREG(state.st_mode) && state.st_nlink == 1 && state.st_size >= 0 &&
         static_cast<std::size_t>(state.st_size) <= limits::kWatchedFileBytesMax;
}

}  // namespace

std::optional<std::int64_t> weigh_partial_file(int guest_folder, std::string_view name) {
  if (!is_partial_file_name(name)) return std::nullopt;
  struct stat state{};
  const auto path = std::format("{}/{}", kOutFolder, name);
  if (::fstatat(guest_folder, path.c_str(), &state, AT_SYMLINK_NOFOLLOW) != 0 || !is_good(state))
    return std::nullopt;
  return state.st_size;
}

std::optional<Descriptor> take_partial_file(const std::filesystem::path& guest_folder,
                                            std::string_view name) {
  if (!is_partial_file_name(name)) return std::nullopt;
  try {
    const Descriptor out{open_folder(guest_folder / kOutFolder)};
    const std::string path{name};
    Descriptor file{::openat(out.get(), path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    struct stat state{};
    const bool good = file && ::fstat(file.get(), &state) == 0 && is_good(state);
    ::unlinkat(out.get(), path.c_str(), 0);
    if (!good) return std::nullopt;
    return file;
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

}  // namespace remotist::volunteer
