// The folder of a guest as its host handles it: handed over, weighed, compared, deleted.
//
// A guest may have put anything there: links out of it, names that are no text, folders that nobody may
// enter, trees deeper than a path can be. Nothing here follows a link or leaves the folder, and all of it is
// bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace remotist::volunteer {

// A folder opened without following a link; throws std::system_error.
int open_folder(const std::filesystem::path& path);

// Gives a folder and all that is in it to an owner. Throws std::system_error.
void give_folder(const std::filesystem::path& folder, uid_t uid, gid_t gid);

struct Weight {
  std::int64_t bytes = 0;  // on the disc, not apparent
  std::int64_t inodes = 0;
  bool whole = true;  // false when the count was given up at a limit
};
// What a folder holds, with itself. Gives up once it has more than so many inodes or bytes; a tree too deep
// to be walked counts as too many inodes.
Weight weigh_folder(const std::filesystem::path& folder, std::int64_t bytes_max, std::int64_t inodes_max);

// Identity of a regular file's content, as far as the kernel tells without reading it.
struct FileState {
  ino_t inode;
  off_t size;
  timespec changed;
  bool operator==(const FileState& other) const;
};
using FolderState = std::map<std::string, FileState, std::less<>>;

struct MadeFiles {
  std::vector<std::string> paths;     // new or changed, sorted; their owner gets them as kept_file_path()
  std::vector<std::string> left_out;  // why, for a person; bounded
  std::vector<std::string> renamed;   // what is kept under which name, for a person; bounded
};
inline constexpr std::size_t kMadeFilesMax = 10'000;

// The regular files below a folder, by relative path.
FolderState state_of(const std::filesystem::path& folder);
// Those that are not as they were. A file whose path is none of core/file_path.h is there under its escaped
// one; it is left out when that is too long or another file's. Left out is also what would make them longer
// than `bytes_max` together, holes included.
MadeFiles made_since(const FolderState& before, const std::filesystem::path& folder, std::int64_t bytes_max);

}  // namespace remotist::volunteer
