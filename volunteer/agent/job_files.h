// Reads and writes files in a job's folder and never outside it, whatever paths the market sends and whatever
// links, pipes or devices a guest made there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {

// Writes one file of a job and makes its parent folders. Throws std::system_error, and std::runtime_error
// when the path is not is_file_path(). The file is complete when close() has returned.
class FileWriter {
 public:
  FileWriter(const std::filesystem::path& folder, std::string_view path);
  void append(std::string_view bytes);
  void close();

 private:
  Descriptor file_;
};

// Deletes a file directly in the folder; a missing file is no error. Throws as FileWriter does.
void remove_file(const std::filesystem::path& folder, std::string_view path);

// Reads a regular file. Throws std::system_error when there is none, std::runtime_error when it is not a
// regular file.
class FileReader {
 public:
  FileReader(const std::filesystem::path& folder, std::string_view path);
  // As it was when the file was opened: a guest that still runs can change it.
  std::int64_t size() const { return size_; }
  // The next bytes, at most so many; empty at the end. Reads size() bytes in total, even if the file grows.
  std::string read(std::size_t bytes_max);

 private:
  Descriptor file_;
  std::int64_t size_ = 0;
  std::int64_t left_ = 0;
};

}  // namespace remotist::volunteer
