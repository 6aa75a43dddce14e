#include "volunteer/agent/job_files.h"

#include <cerrno>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdexcept>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include "core/file_path.h"

namespace remotist::volunteer {
namespace {

[[noreturn]] void fault(const std::string& what) {
  throw std::system_error{errno, std::system_category(), what};
}

int open_beneath(int folder, const std::string& path, std::uint64_t flags, std::uint64_t mode) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how));
}

Descriptor open_folder(const std::filesystem::path& folder) {
  Descriptor opened{::open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  // The job's owner sees the message too, and must not learn where this machine keeps the folder.
  if (opened.get() < 0) fault("the job's folder " + folder.filename().string());
  return opened;
}

}  // namespace

FileWriter::FileWriter(const std::filesystem::path& folder, std::string_view path) {
  if (!is_file_path(path)) throw std::runtime_error{"the path of a file is not one inside the job's folder"};
  const Descriptor root = open_folder(folder);
  for (auto slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
    const std::string parent{path.substr(0, slash)};
    if (::mkdirat(root.get(), parent.c_str(), 0700) != 0 && errno != EEXIST) fault(parent);
  }
  const std::string name{path};
  file_ = Descriptor{open_beneath(root.get(), name, O_WRONLY | O_CREAT | O_TRUNC, 0600)};
  if (file_.get() < 0) fault(name);
}

void remove_file(const std::filesystem::path& folder, std::string_view path) {
  if (!is_file_path(path) || path.contains('/'))
    throw std::runtime_error{"the path of a file is not one inside the job's folder"};
  const Descriptor root = open_folder(folder);
  const std::string name{path};
  if (::unlinkat(root.get(), name.c_str(), 0) != 0 && errno != ENOENT) fault(name);
}

void FileWriter::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(file_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) fault("a file of the job");
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void FileWriter::close() {
  if (::close(file_.release()) != 0) fault("a file of the job");
}

FileReader::FileReader(const std::filesystem::path& folder, std::string_view path) {
  const Descriptor root = open_folder(folder);
  // Without O_NONBLOCK opening a pipe that the guest made would block for ever.
  file_ = Descriptor{open_beneath(root.get(), std::string{path}, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0)};
  if (file_.get() < 0) fault(std::string{path});
  struct stat found{};
  if (::fstat(file_.get(), &found) != 0) fault(std::string{path});
  if (!S_ISREG(found.st_mode)) throw std::runtime_error{std::string{path} + " is not a plain file"};
  left_ = size_ = found.st_size;
}

std::string FileReader::read(std::size_t bytes_max) {
  bytes_max = std::min(bytes_max, static_cast<std::size_t>(left_));
  std::string bytes(bytes_max, '\0');
  std::size_t have = 0;
  while (have < bytes_max) {
    const auto count = ::read(file_.get(), bytes.data() + have, bytes_max - have);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fault("a file of the job");
    if (count == 0) break;
    have += static_cast<std::size_t>(count);
  }
  bytes.resize(have);
  left_ -= static_cast<std::int64_t>(have);
  return bytes;
}

}  // namespace remotist::volunteer
