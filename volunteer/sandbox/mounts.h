// Creates file systems as detached mounts.
#pragma once

#include <cstdint>
#include <string>

#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {

// An unnamed sparse file on a loop device that detaches itself with its last user.
struct LoopImage {
  Descriptor file;
  Descriptor device;
  std::string device_path;
};

// The size of an image with space for so many bytes and inodes.
std::int64_t ext4_image_bytes(std::int64_t bytes, std::int64_t inodes);

// Each throws std::system_error.

// Formatted as ext4, with space for so many bytes and inodes. Runs mke2fs.
LoopImage make_ext4_image(const std::string& folder, std::int64_t bytes, std::int64_t inodes);
// The same file system can be mounted several times.
Descriptor mount_ext4(const std::string& device_path);
// Without privileges, a child process mounts it in its own user namespace.
Descriptor mount_tmpfs(std::int64_t bytes, std::int64_t inodes);

}  // namespace remotist::volunteer
