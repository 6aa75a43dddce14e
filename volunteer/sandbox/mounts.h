// Mounts that are attached nowhere.
#pragma once

#include <cstdint>
#include <string>

#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {

// A sparse file without a name in a folder, on a loop device that clears itself with its last user.
struct LoopImage {
  Descriptor file;
  Descriptor device;
  std::string device_path;
};

// How large an image is that has room for so many bytes and inodes.
std::int64_t ext4_image_bytes(std::int64_t bytes, std::int64_t inodes);

// Each throws std::system_error.

// Formatted as ext4 with room for so many bytes and inodes.
LoopImage make_ext4_image(const std::string& folder, std::int64_t bytes, std::int64_t inodes);
// The same file system can be mounted again and again.
Descriptor mount_ext4(const std::string& device_path);
// Also without privileges, by a child process in namespaces of its own.
Descriptor mount_tmpfs(std::int64_t bytes, std::int64_t inodes);

}  // namespace remotist::volunteer
