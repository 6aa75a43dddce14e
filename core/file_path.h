// The rule for the paths of a job's files, which client, market and agent share. client-r/R/path.R has the
// same rule in R; both are tested with client-r/tests/testthat/file-paths.json.
//
// Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace remotist {

// Relative, of 1 to limits::kPathBytesMax bytes of UTF-8 without control characters and backslashes, no
// empty,
// "." or ".." part.
bool is_file_path(std::string_view path);

// The path under which a file of any name is kept: its own when is_file_path(). Else every part of it that
// has an unacceptable byte is percent-encoded: those bytes and "%" become "%" and two hexadecimal digits. No
// two paths of which a part is encoded have the same, but one of them may be the path of another file. None
// when no escaping helps: too long, or an empty, "." or ".." part.
std::optional<std::string> kept_file_path(std::string_view path);

// Whether a path below a folder has an empty, "." or ".." part, so that it may lead out of the folder or name
// another file than it seems to. True of an absolute path, too.
bool leads_elsewhere(std::string_view path);

// Files that can stand in one folder together: no path is there twice, none is a folder of another.
class FileTree {
 public:
  // Adds the path, or gives the one that it cannot stand beside.
  std::optional<std::string> add(std::string_view path);

 private:
  std::set<std::string, std::less<>> paths_;
};

}  // namespace remotist
