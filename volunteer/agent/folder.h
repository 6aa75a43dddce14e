// Files in a job's folder, reached without ever leaving it: whatever paths the market names and whatever
// links, pipes or devices a guest has left there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {

// Writes one file of a job, making the folders above it. Throws std::system_error; std::runtime_error when
// the path is none of core/file_path.h. The file is whole when close() has returned.
class FileWriter {
 public:
  FileWriter(const std::filesystem::path& folder, std::string_view path);
  void append(std::string_view bytes);
  void close();

 private:
  Descriptor file_;
};

// Deletes one; no such file is no error. Throws as FileWriter does.
void remove_file(const std::filesystem::path& folder, std::string_view path);

// Reads a regular file that a guest has left. Throws std::system_error when there is none, std::runtime_error
// when it is anything else.
class FileReader {
 public:
  FileReader(const std::filesystem::path& folder, std::string_view path);
  // As it was when the file was opened: a guest that still runs can change it.
  std::int64_t size() const { return size_; }
  // The next bytes, at most so many; empty at the end. No more than size() in all.
  std::string read(std::size_t bytes_max);

 private:
  Descriptor file_;
  std::int64_t size_ = 0;
  std::int64_t left_ = 0;
};

}  // namespace remotist::volunteer
