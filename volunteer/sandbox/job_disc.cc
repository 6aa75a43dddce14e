#include "volunteer/sandbox/job_disc.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <format>
#include <functional>
#include <linux/mount.h>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/log.h"
#include "volunteer/sandbox/fail.h"
#include "volunteer/sandbox/folder.h"
#include "volunteer/sandbox/mounts.h"
#include "volunteer/sandbox/rlimits.h"

namespace remotist::volunteer {

namespace {

constexpr std::int64_t kOwnInodes = 16;  // those reserved by ext4, and the guest's own folders
// A write of a large folio fails when not all of it fits, so the last bytes may stay free.
constexpr std::int64_t kFullBytesMost = 2 << 20;
constexpr std::int64_t kFullShare = 16;

struct Image {
  DiscSize size;
  LoopImage loop;
  Descriptor mount;
  Descriptor root;  // open since before the first write, so that it reports every write error
};

// Throws std::system_error.
Image make_image(const std::string& folder, const DiscSize& size) {
  Image image{size, make_ext4_image(folder, size.bytes, size.inodes), {}, {}};
  image.mount = mount_ext4(image.loop.device_path);
  image.loop.device.reset();  // the mount holds it
  image.root = Descriptor{::openat(image.mount.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!image.root) fail("a new image cannot be opened", errno);
  struct statvfs state{};
  if (::fstatvfs(image.mount.get(), &state) != 0) fail("the size of a new image cannot be read", errno);
  if (static_cast<std::int64_t>(state.f_bavail * state.f_frsize) < size.bytes)
    fail("a new image has less space than it should", ENOTSUP);
  return image;
}

// The errno of writes that failed since the last call. A write to the file system succeeds once it is in the
// page cache; the loop device writes it to the image later, which fails when the machine's disc is full. The
// image's own pages need not reach that disc, because they can be read from the page cache; so this only asks
// for errors of those that were written.
int failed_writes(const Image& image) {
  if (::syncfs(image.root.get()) != 0) return errno;
  return ::sync_file_range(image.loop.file.get(), 0, 1, SYNC_FILE_RANGE_WAIT_BEFORE) == 0 ? 0 : errno;
}

// How much an image may still take of the machine's disc.
std::int64_t growth(int file) {
  struct stat state{};
  return ::fstat(file, &state) == 0 ? std::max<std::int64_t>(state.st_size - state.st_blocks * 512, 0) : 0;
}

// Whether no file of a job is on it.
bool is_empty(const Image& image) {
  const int folder = ::openat(image.mount.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* listing = folder < 0 ? nullptr : ::fdopendir(folder);
  if (listing == nullptr) return false;
  const std::set<std::string_view> known{".", "..", "lost+found"};
  bool empty = true;
  while (const dirent* entry = ::readdir(listing)) empty = empty && known.contains(entry->d_name);
  ::closedir(listing);
  return empty;
}

class MemoryDisc final : public JobDisc {
 public:
  MemoryDisc(const DiscSize& size, Descriptor mount)
      : JobDisc(DiscKind::memory, size, mount.get()), mount_(std::move(mount)) {}
  // A copy of the mount (root, Linux 6.15); else the mount itself, which is gone with the mount namespace
  // that it was attached in.
  Descriptor for_guest() override {
    Descriptor copy{static_cast<int>(
        ::syscall(SYS_open_tree, mount_.get(), "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH))};
    if (copy) return copy;
    if (std::exchange(given_, true)) fail("a file system in memory cannot be attached a second time", EBUSY);
    return Descriptor{::fcntl(mount_.get(), F_DUPFD_CLOEXEC, 0)};
  }
  int lost_writes() override { return 0; }

 private:
  Descriptor mount_;
  bool given_ = false;
};

}  // namespace

DiscSize disc_size(const GuestSpec& spec) {
  // Watched values that the agent has not read yet do not count against the job.
  const auto values =
      spec.watched_variables.empty() ? 0 : static_cast<std::int64_t>(limits::kWatchedFileBytesMax);
  // One checkpoint is kept while the next is written.
  const auto checkpoints = spec.resumable ? 2 * checkpoint_bytes_max(spec.limits) : 0;
  return {disc_bytes_fatal(spec.limits) + values + checkpoints + log_bytes_max(spec.limits),
          spec.limits.inodes_max + spec.limits.inodes_max / 10};
}

std::int64_t log_bytes_max(const GuestLimits& limits) {
  return static_cast<std::int64_t>(limits.output_bytes_max) + (16 << 10);
}

JobDisc::JobDisc(DiscKind kind, const DiscSize& size, int mount)
    : kind_(kind), size_(size), mount_(mount), path_(std::format("/proc/{}/fd/{}", ::getpid(), mount)) {}

std::optional<Limit> JobDisc::full() const {
  struct statvfs state{};
  if (::fstatvfs(mount_, &state) != 0) return std::nullopt;
  const auto free = static_cast<std::int64_t>(state.f_bavail * state.f_frsize);
  if (free < std::min(size_.bytes / kFullShare, kFullBytesMost)) return Limit::disc;
  return state.f_favail == 0 ? std::optional{Limit::inodes} : std::nullopt;
}

// Idle images and those in use.
class JobDiscs::Pool : public std::enable_shared_from_this<JobDiscs::Pool> {
 public:
  explicit Pool(std::filesystem::path images) : images_(std::move(images)) {}

  std::shared_ptr<JobDisc> make(const DiscSize& size);
  void prepare(const DiscSize& size, std::size_t count);
  // Returns an image that was in use; one that lost writes is discarded.
  void give_back(Image image, bool usable);

 private:
  void keep(Image image);
  bool can_make_images() {
    const std::lock_guard lock{mutex_};
    return can_make_images_;
  }
  bool reserve(std::int64_t bytes);
  std::optional<Image> take_reserved(const DiscSize& size);
  std::optional<Image> take_idle(const DiscSize& size);
  std::optional<Image> make_new(const DiscSize& size);

  const std::filesystem::path images_;
  std::mutex mutex_;
  std::vector<Image> idle_;
  std::vector<int> in_use_;    // files of images
  std::int64_t reserved_ = 0;  // bytes for images that are being made
  bool can_make_images_ = ::geteuid() == 0;
};

namespace {

class ImageDisc final : public JobDisc {
 public:
  ImageDisc(Image image, auto pool)
      : JobDisc(DiscKind::image, image.size, image.mount.get()),
        image_(std::move(image)),
        give_back_([pool](Image given, bool usable) { pool->give_back(std::move(given), usable); }) {}
  ~ImageDisc() override {
    const bool usable = lost_writes() == 0;
    give_back_(std::move(image_), usable);
  }
  Descriptor for_guest() override { return mount_ext4(image_.loop.device_path); }
  int lost_writes() override {
    const std::lock_guard lock{mutex_};
    if (const int problem = failed_writes(image_); lost_ == 0) lost_ = problem;
    return lost_;
  }

 private:
  Image image_;
  std::function<void(Image, bool)> give_back_;
  std::mutex mutex_;
  int lost_ = 0;
};

}  // namespace

std::optional<Image> JobDiscs::Pool::take_idle(const DiscSize& size) {
  const std::lock_guard lock{mutex_};
  const auto found = std::ranges::find(idle_, size, &Image::size);
  if (found == idle_.end()) return std::nullopt;
  auto image = std::move(*found);
  idle_.erase(found);
  return image;
}

std::optional<Image> JobDiscs::Pool::make_new(const DiscSize& size) {
  if (!can_make_images()) return std::nullopt;
  try {
    return make_image(images_.string(), size);
  } catch (const std::system_error& error) {
    if (error.code().value() == ENOSPC) throw;
    log::warn("job_disc_not_made", {{"why", error.what()}});
    const std::lock_guard lock{mutex_};
    // These errors are permanent; others may pass.
    constexpr std::array kPermanent{EPERM, EACCES, ENOENT, ENODEV, ENOSYS, ENOTSUP, EINVAL};
    if (std::ranges::contains(kPermanent, error.code().value())) can_make_images_ = false;
    return std::nullopt;
  }
}

// Images are sparse: the space that one may still grow by is reserved for its job though it is free now.
bool JobDiscs::Pool::reserve(std::int64_t bytes) {
  const std::lock_guard lock{mutex_};
  std::int64_t needed = reserved_ + bytes;
  for (const int file : in_use_) needed += growth(file);
  struct statvfs below{};
  if (::statvfs(images_.c_str(), &below) == 0 &&
      static_cast<std::int64_t>(below.f_bavail * below.f_frsize) < needed)
    return false;
  reserved_ += bytes;
  return true;
}

// An image for which bytes were reserved; from now on it counts by its own size.
std::optional<Image> JobDiscs::Pool::take_reserved(const DiscSize& size) {
  std::optional<Image> image = take_idle(size);
  const auto settle = [&] {
    const std::lock_guard lock{mutex_};
    reserved_ -= ext4_image_bytes(size.bytes, size.inodes);
    if (image) in_use_.push_back(image->loop.file.get());
  };
  try {
    if (!image) image = make_new(size);
  } catch (...) {
    settle();
    throw;
  }
  settle();
  return image;
}

std::shared_ptr<JobDisc> JobDiscs::Pool::make(const DiscSize& size) {
  const bool in_memory = size.bytes <= kMemoryBytesMax;
  if (can_make_images()) {
    if (reserve(ext4_image_bytes(size.bytes, size.inodes))) {
      if (auto image = take_reserved(size))
        return std::make_shared<ImageDisc>(std::move(*image), shared_from_this());
    } else {
      constexpr auto kNoRoom =
          "the disc of this machine has no space for this job in addition to what other jobs may still write";
      if (!in_memory) fail(kNoRoom, ENOSPC);
      log::warn("job_disc_not_made", {{"why", kNoRoom}});
    }
  }
  if (!in_memory) return nullptr;
  try {
    return std::make_shared<MemoryDisc>(size, mount_tmpfs(size.bytes, size.inodes));
  } catch (const std::system_error& error) {
    log::warn("job_disc_not_made", {{"why", error.what()}});
    return nullptr;
  }
}

void JobDiscs::Pool::prepare(const DiscSize& size, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    auto image = make_new(size);
    if (!image) return;
    keep(std::move(*image));
  }
}

void JobDiscs::Pool::give_back(Image image, bool usable) {
  {
    const std::lock_guard lock{mutex_};
    std::erase(in_use_, image.loop.file.get());
  }
  if (usable) keep(std::move(image));
}

void JobDiscs::Pool::keep(Image image) {
  struct stat state{};
  if (::fstat(image.loop.file.get(), &state) != 0 || state.st_blocks * 512 > kIdleBytesMax ||
      !is_empty(image))
    return;
  const std::lock_guard lock{mutex_};
  // The sizes that were used last are the most likely to be asked for.
  if (idle_.size() == kIdleMax) idle_.erase(idle_.begin());
  idle_.push_back(std::move(image));
}

JobDiscs::JobDiscs(std::filesystem::path images) : pool_(std::make_shared<Pool>(std::move(images))) {}
JobDiscs::~JobDiscs() = default;

std::shared_ptr<JobDisc> JobDiscs::make(const DiscSize& size) {
  return pool_->make({size.bytes, size.inodes + kOwnInodes});
}

void JobDiscs::prepare(const DiscSize& size, std::size_t count) {
  pool_->prepare({size.bytes, size.inodes + kOwnInodes}, count);
}

int probe_disc(DiscKind kind) {
  constexpr DiscSize kSmall{1 << 20, 64};
  try {
    if (kind == DiscKind::image) {
      if (::geteuid() != 0) return EPERM;
      make_image("/tmp", kSmall);
    } else {
      mount_tmpfs(kSmall.bytes, kSmall.inodes);
    }
    return 0;
  } catch (const std::system_error& error) {
    return error.code().value();
  }
}

}  // namespace remotist::volunteer
