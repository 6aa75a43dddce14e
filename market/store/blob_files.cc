#include "market/store/blob_files.h"

#include <cerrno>
#include <fcntl.h>
#include <format>
#include <fstream>
#include <stdexcept>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "core/digest.h"

namespace remotist::market {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what, const fs::path& path) {
  throw std::system_error{errno, std::generic_category(), what + " " + path.string()};
}

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags, mode_t mode = 0) : number_(::open(path.c_str(), flags, mode)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool ok() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_;
};

void write_all(int descriptor, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const auto written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) fail("cannot write", path);
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void sync_folder(const fs::path& folder) {
  const Descriptor opened{folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC};
  if (!opened.ok() || ::fsync(opened.number()) != 0) fail("cannot sync", folder);
}

// Deletes the file unless it was kept: whatever fails half-way leaves nothing.
struct Unfinished {
  fs::path path;
  bool kept = false;
  ~Unfinished() {
    if (!kept) ::unlink(path.c_str());
  }
};

std::string shard_name(int shard) {
  return std::format("{:02x}", shard);
}

std::optional<BlobFile> file_named(const std::string& name) {
  const auto dot = name.find('.');
  if (dot == std::string::npos) return std::nullopt;
  const auto chunk = ChunkName::parse(name.substr(0, dot));
  const auto generation = GenerationId::parse(name.substr(dot + 1));
  if (!chunk || !generation) return std::nullopt;
  return BlobFile{*chunk, *generation};
}

}  // namespace

BlobFiles::BlobFiles(fs::path folder) : folder_(std::move(folder)) {
  for (int shard = 0; shard < kShards; ++shard) fs::create_directories(folder_ / shard_name(shard));
  sync_folder(folder_);
}

fs::path BlobFiles::path_of(const BlobFile& file) const {
  return folder_ / file.chunk.hex().substr(0, 2) / (file.chunk.hex() + "." + file.generation.text());
}

void BlobFiles::write(const BlobFile& file, std::string_view bytes) const {
  const fs::path path = path_of(file);
  Unfinished temporary{path.parent_path() / ("tmp-" + hex_of(random_bytes(16)))};
  {
    const Descriptor opened{temporary.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600};
    if (!opened.ok()) fail("cannot create", temporary.path);
    write_all(opened.number(), bytes, temporary.path);
    if (::fsync(opened.number()) != 0) fail("cannot sync", temporary.path);
  }
  if (::rename(temporary.path.c_str(), path.c_str()) != 0) fail("cannot rename to", path);
  temporary.path = path;
  sync_folder(path.parent_path());
  temporary.kept = true;
}

std::optional<std::string> BlobFiles::read(const BlobFile& file) const {
  const fs::path path = path_of(file);
  const Descriptor opened{path, O_RDONLY | O_CLOEXEC};
  if (!opened.ok()) {
    if (errno == ENOENT) return std::nullopt;
    fail("cannot open", path);
  }
  struct stat about{};
  if (::fstat(opened.number(), &about) != 0) fail("cannot look at", path);
  std::string bytes(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const auto got = ::read(opened.number(), bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno != EINTR) fail("cannot read", path);
    if (got == 0) break;
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

void BlobFiles::remove(const BlobFile& file) const {
  const fs::path path = path_of(file);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail("cannot delete", path);
}

bool BlobFiles::exists(const BlobFile& file) const {
  return fs::exists(path_of(file));
}

void BlobFiles::set_aside(const BlobFile& file) const {
  const fs::path path = path_of(file);
  if (::rename(path.c_str(), (path.string() + ".damaged").c_str()) != 0 && errno != ENOENT)
    fail("cannot rename", path);
}

void BlobFiles::claim_for(const std::string& store_id) const {
  const fs::path note = folder_ / "database";
  const Unfinished temporary{folder_ / ("tmp-" + hex_of(random_bytes(16)))};
  {
    const Descriptor opened{temporary.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600};
    if (!opened.ok()) fail("cannot create", temporary.path);
    write_all(opened.number(), store_id + "\n", temporary.path);
    if (::fsync(opened.number()) != 0) fail("cannot sync", temporary.path);
  }
  // The first one wins, whole: another market may be starting at this moment.
  if (::link(temporary.path.c_str(), note.c_str()) != 0 && errno != EEXIST) fail("cannot write", note);
  sync_folder(folder_);
  std::string owner;
  std::ifstream{note} >> owner;
  if (owner != store_id) {
    throw std::runtime_error{"the folder " + folder_.string() + " holds the chunks of another database (" +
                             owner + ", this one is " + store_id +
                             "): give each database a folder of its own"};
  }
}

std::vector<BlobFile> BlobFiles::older_than(std::chrono::seconds age, int shard) const {
  const auto limit = fs::file_time_type::clock::now() - age;
  std::vector<BlobFile> files;
  for (const auto& entry : fs::directory_iterator{folder_ / shard_name(shard)}) {
    std::error_code gone;  // another market may be deleting the same
    if (entry.last_write_time(gone) > limit || gone) continue;
    const std::string name = entry.path().filename();
    if (name.starts_with("tmp-")) {
      fs::remove(entry.path(), gone);
    } else if (auto file = file_named(name)) {
      files.push_back(std::move(*file));
    }
  }
  return files;
}

}  // namespace remotist::market
