// Reads a checkpoint back: looks first whether it is whole, then at the state, then puts the job's files in
// place.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "volunteer/runner/checkpoint/checkpoint_file.h"
#include "volunteer/runner/checkpoint/native.h"

namespace remotist::volunteer::checkpoint {

namespace {

class Mapped {
 public:
  // A path, or a descriptor.
  explicit Mapped(SEXP from) {
    const int file = TYPEOF(from) == STRSXP ? ::open(CHAR(STRING_ELT(from, 0)), O_RDONLY | O_CLOEXEC)
                                            : ::fcntl(Rf_asInteger(from), F_DUPFD_CLOEXEC, 0);
    struct stat about{};
    if (file >= 0 && ::fstat(file, &about) == 0 && about.st_size > 0) {
      length_ = static_cast<std::size_t>(about.st_size);
      void* const at = ::mmap(nullptr, length_, PROT_READ, MAP_PRIVATE, file, 0);
      if (at != MAP_FAILED) bytes_ = static_cast<const char*>(at);
    }
    if (file >= 0) ::close(file);
  }
  ~Mapped() {
    if (bytes_ != nullptr) ::munmap(const_cast<char*>(bytes_), length_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  [[nodiscard]] std::string_view view() const {
    return bytes_ == nullptr ? std::string_view{} : std::string_view(bytes_, length_);
  }

 private:
  const char* bytes_ = nullptr;
  std::size_t length_ = 0;
};

struct Source {
  std::string_view left;
  bool short_of = false;

  void take(void* to, std::size_t length) {
    if (left.size() < length) {
      short_of = true;
      std::memset(to, 0, length);
      return;
    }
    std::memcpy(to, left.data(), length);
    left.remove_prefix(length);
  }
  template <class Number>
  Number number() {
    Number n{};
    take(&n, sizeof n);
    return n;
  }
  std::string_view piece(std::uint64_t length) {
    if (left.size() < length) {
      short_of = true;
      return {};
    }
    const auto it = left.substr(0, length);
    left.remove_prefix(length);
    return it;
  }
};

// The parts of a checkpoint that is whole; false when it is not.
bool whole(std::string_view all, std::string_view& state, std::string_view& files) {
  constexpr std::size_t kHead = kMagic.size() + 8;
  if (all.size() < kHead + 24 || !all.starts_with(kMagic)) return false;
  std::uint64_t length = 0;
  std::uint64_t again = 0;
  std::uint64_t said = 0;
  std::memcpy(&length, all.data() + kMagic.size(), 8);
  std::memcpy(&again, all.data() + all.size() - 16, 8);
  std::memcpy(&said, all.data() + all.size() - 8, 8);
  if (length != again || length > all.size() - kHead - 24) return false;
  Digest digest;
  digest.add(kMagic.data(), kMagic.size());
  constexpr std::uint64_t kNone = 0;
  digest.add(&kNone, 8);
  digest.add(all.data() + kHead, all.size() - kHead - 8);
  if (digest.value() != said) return false;
  state = all.substr(kHead, length);
  files = all.substr(kHead + length, all.size() - kHead - length - 16);
  return true;
}

int in_char(R_inpstream_t stream) {
  return static_cast<Source*>(stream->data)->number<unsigned char>();
}
void in_bytes(R_inpstream_t stream, void* to, int length) {
  auto& source = *static_cast<Source*>(stream->data);
  source.take(to, static_cast<std::size_t>(length));
  if (source.short_of) Rf_error("the checkpoint's state ends early");
}
// R's errors jump over destructors: nothing here has one that matters.
SEXP hook_in(SEXP name, SEXP engine) {
  const char* const text = CHAR(STRING_ELT(name, 0));
  if (std::strcmp(text, "remotist:engine") == 0) return engine;
  if (const SEXP environment = environment_called(text); environment != R_NilValue) return environment;
  if (const SEXP pointer = pointer_called(text); pointer != R_NilValue) return pointer;
  Rf_error("the checkpoint names '%s', which this engine does not have", text);
}

struct Reading {
  Source source;
  SEXP engine;
};

SEXP unserialise(void* what) {
  auto& reading = *static_cast<Reading*>(what);
  R_inpstream_st stream{};
  R_InitInPStream(&stream, static_cast<R_pstream_data_t>(&reading.source), R_pstream_any_format, in_char,
                  in_bytes, hook_in, reading.engine);
  return R_Unserialize(&stream);
}

SEXP what_is_wrong(SEXP condition, void*) {
  const bool says =
      TYPEOF(condition) == VECSXP && Rf_xlength(condition) > 0 && TYPEOF(VECTOR_ELT(condition, 0)) == STRSXP;
  return says ? VECTOR_ELT(condition, 0) : Rf_mkString("the checkpoint cannot be read");
}

// read_state(path, engine): the state, or a text that says what is wrong.
SEXP read_state(SEXP path, SEXP engine) {
  const Mapped file(path);
  std::string_view state;
  std::string_view files;
  if (!whole(file.view(), state, files)) return Rf_mkString("the checkpoint is damaged");
  Reading reading{{state}, engine};
  return R_tryCatchError(unserialise, &reading, what_is_wrong, nullptr);
}

bool is_there(const std::string& path, std::string_view bytes) {
  std::ifstream file{path, std::ios::binary};
  std::array<char, 1 << 16> buffer{};
  while (file.read(buffer.data(), buffer.size()) || file.gcount() > 0) {
    const auto count = static_cast<std::size_t>(file.gcount());
    if (!bytes.starts_with(std::string_view(buffer.data(), count))) return false;
    bytes.remove_prefix(count);
  }
  return file.eof() && bytes.empty();
}

// A file that is there already, such as one that the job began with, is left alone.
bool put_in_place(const std::string& path, std::string_view bytes, std::uint32_t mode,
                  const timespec& changed) {
  if (is_there(path, bytes)) return true;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return false;
  bool fine = true;
  while (!bytes.empty() && fine) {
    const ssize_t sent = ::write(file, bytes.data(), bytes.size());
    if (sent < 0 && errno == EINTR) continue;
    fine = sent > 0;
    if (fine) bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  const timespec times[2] = {changed, changed};
  ::fchmod(file, mode);
  ::futimens(file, times);
  ::close(file);
  return fine;
}

// file_names(path): those in a checkpoint; none when it is damaged.
SEXP file_names(SEXP path) {
  const Mapped file(path);
  std::string_view state;
  std::string_view files;
  std::vector<std::string> names;
  if (whole(file.view(), state, files)) {
    Source source{files};
    const auto count = source.number<std::uint64_t>();
    for (std::uint64_t i = 0; i < count && !source.short_of; ++i) {
      names.emplace_back(source.piece(source.number<std::uint32_t>()));
      source.piece(sizeof(std::uint32_t) + 2 * sizeof(std::int64_t));
      source.piece(source.number<std::uint64_t>());
    }
  }
  const Kept all(Rf_allocVector(STRSXP, static_cast<R_xlen_t>(names.size())));
  for (std::size_t i = 0; i < names.size(); ++i)
    SET_STRING_ELT(all, static_cast<R_xlen_t>(i), Rf_mkCharCE(names[i].c_str(), CE_UTF8));
  return all;
}

// restore_files(path, from, to): the files whose name begins with from[i] are written to to[i] + the rest of
// the name.
SEXP restore_files(SEXP path, SEXP from, SEXP to) {
  const Mapped file(path);
  std::string_view state;
  std::string_view files;
  if (!whole(file.view(), state, files)) return Rf_mkString("the checkpoint is damaged");
  Source source{files};
  const auto count = source.number<std::uint64_t>();
  for (std::uint64_t i = 0; i < count && !source.short_of; ++i) {
    const auto name = source.piece(source.number<std::uint32_t>());
    const auto mode = source.number<std::uint32_t>();
    const auto seconds = source.number<std::int64_t>();
    const auto nanoseconds = source.number<std::int64_t>();
    const auto bytes = source.piece(source.number<std::uint64_t>());
    for (R_xlen_t k = 0; k < Rf_xlength(from); ++k) {
      const std::string_view prefix = CHAR(STRING_ELT(from, k));
      if (!name.starts_with(prefix)) continue;
      if (name.contains("/../") || name.ends_with("/..")) return Rf_mkString("the checkpoint is damaged");
      const std::string place = std::string(CHAR(STRING_ELT(to, k))).append(name.substr(prefix.size()));
      if (!put_in_place(place, bytes, mode, timespec{seconds, nanoseconds})) {
        return Rf_mkString(("the file cannot be put in place: " + place).c_str());
      }
      break;
    }
  }
  return Rf_mkString(source.short_of ? "the checkpoint is damaged" : "");
}

}  // namespace

std::vector<Routine> read_routines() {
  return {routine("read_state", read_state), routine("file_names", file_names),
          routine("restore_files", restore_files)};
}

}  // namespace remotist::volunteer::checkpoint
