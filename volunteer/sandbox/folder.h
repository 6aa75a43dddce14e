// The host's operations on a guest's folder: change its owner, measure it, list what the job made.
//
// A guest may leave anything there: links to other places, names that are not text, folders without
// permissions, trees deeper than the longest path. No function here follows a link or leaves the folder, and
// each is bounded in time and descriptors.
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

// Opens a folder without following a link; makes it accessible to its owner first where necessary. Throws
// std::system_error.
int open_folder(const std::filesystem::path& path);

// Changes the owner of a folder and everything in it. Throws std::system_error.
void give_folder(const std::filesystem::path& folder, uid_t uid, gid_t gid);

struct FolderSize {
  std::int64_t bytes = 0;  // allocated, not apparent
  std::int64_t inodes = 0;
  bool complete = true;  // false when a limit was exceeded and counting stopped
};
// The size of a folder, itself included. Stops once it exceeds a limit; a tree too deep to be walked counts
// as more than inodes_max.
FolderSize measure_folder(const std::filesystem::path& folder, std::int64_t bytes_max,
                          std::int64_t inodes_max);

// Identifies a version of a regular file without reading it.
struct FileState {
  ino_t inode;
  off_t size;
  timespec changed;
  bool operator==(const FileState& other) const;
};
using FolderState = std::map<std::string, FileState, std::less<>>;

struct MadeFiles {
  std::vector<std::string> paths;     // new or changed, sorted; stored as their kept_file_path()
  std::vector<std::string> left_out;  // messages: which files were left out, and why; bounded
  std::vector<std::string> renamed;   // messages: which files are stored under another name; bounded
};
inline constexpr std::size_t kMadeFilesMax = 10'000;

// The regular files below a folder, by relative path.
FolderState state_of(const std::filesystem::path& folder);
// The files that are new or changed since `before`. A file whose path is not valid (core/file_path.h) is
// stored under an escaped path, and left out when that is too long or taken. Files that would make the sum of
// apparent sizes larger than `bytes_max` are left out, too.
MadeFiles made_since(const FolderState& before, const std::filesystem::path& folder, std::int64_t bytes_max);

}  // namespace remotist::volunteer
