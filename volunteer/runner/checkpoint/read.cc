// Reads a checkpoint back: looks first whether it is whole, then at the state, then puts the job's files in
// place.
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "volunteer/runner/checkpoint/chunks.h"
#include "volunteer/runner/checkpoint/native.h"
#include "volunteer/runner/write_all.h"

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

// The state in a checkpoint that is open; how much of it is left.
struct Source {
  ChunkReader* chunks;
  std::uint64_t left;

  bool take(void* to, std::size_t length) {
    if (left < length) return false;
    left -= length;
    return chunks->take(to, length);
  }
};

void in_bytes(R_inpstream_t stream, void* to, int length) {
  if (!static_cast<Source*>(stream->data)->take(to, static_cast<std::size_t>(length)))
    Rf_error("the checkpoint's state ends early");
}
int in_char(R_inpstream_t stream) {
  unsigned char byte = 0;
  in_bytes(stream, &byte, 1);
  return byte;
}
SEXP unserialise(void* source) {
  R_inpstream_st stream{};
  R_InitInPStream(&stream, static_cast<R_pstream_data_t>(source), R_pstream_any_format, in_char, in_bytes,
                  refhook_in, R_NilValue);
  const Kept ways(R_Unserialize(&stream));
  call_engine("go_ways", {ways});
  return R_Unserialize(&stream);
}

SEXP what_is_wrong(SEXP condition, void*) {
  const bool says =
      TYPEOF(condition) == VECSXP && Rf_xlength(condition) > 0 && TYPEOF(VECTOR_ELT(condition, 0)) == STRSXP;
  return says ? VECTOR_ELT(condition, 0) : Rf_mkString("the checkpoint cannot be read");
}

// read_state(path): the state, or a text that says what is wrong.
SEXP read_state(SEXP path) {
  const Mapped file(path);
  auto chunks = ChunkReader::of(file.view());
  // Before anything is done with what is in it: nothing may begin that could not be ended.
  if (!chunks || !chunks->is_whole()) return Rf_mkString(kDamaged);
  Source source{&*chunks, chunks->number()};
  return R_tryCatchError(unserialise, &source, what_is_wrong, nullptr);
}

// A file's head in a checkpoint; its contents follow.
struct Head {
  std::string path;
  std::uint32_t mode = 0;
  timespec changed{};
  std::uint64_t length = 0;
};

bool read_head(ChunkReader& from, Head& head) {
  constexpr std::uint32_t kPathMost = 1 << 16;
  std::uint32_t length = 0;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  if (!from.number(length) || length > kPathMost) return false;
  head.path.resize(length);
  if (!from.take(head.path.data(), length) || !from.number(head.mode) || !from.number(seconds) ||
      !from.number(nanoseconds) || !from.number(head.length))
    return false;
  head.changed = {seconds, nanoseconds};
  return true;
}

// Calls `each(head, chunks)` for the files in a checkpoint, which has to read their contents; it ends where
// that yields false. False when it is damaged.
template <class Each>
bool each_file(SEXP path, Each each) {
  const Mapped file(path);
  auto chunks = ChunkReader::of(file.view());
  std::uint64_t count = 0;
  if (!chunks || !chunks->skip(chunks->number()) || !chunks->number(count)) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    Head head;
    if (!read_head(*chunks, head)) return false;
    if (!each(head, *chunks)) break;
  }
  return !chunks->failed();
}

// Reads on only when it is there.
bool is_there(const std::string& path, std::uint64_t length, ChunkReader& from) {
  std::error_code fault;
  if (std::filesystem::file_size(path, fault) != length || fault) return false;
  std::ifstream file{path, std::ios::binary};
  ChunkReader ahead = from;
  std::string read;
  while (length > 0) {
    const auto piece = ahead.some(length);
    read.resize(piece.size());
    if (piece.empty() || !file.read(read.data(), static_cast<std::streamsize>(read.size())) || read != piece)
      return false;
    length -= piece.size();
  }
  from = std::move(ahead);
  return true;
}

// A file that is there already, such as one that the job began with, is left alone.
bool put_in_place(const std::string& path, const Head& head, ChunkReader& from) {
  if (is_there(path, head.length, from)) return true;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return false;
  bool fine = true;
  for (std::uint64_t left = head.length; left > 0 && fine;) {
    const auto piece = from.some(left);
    fine = !piece.empty() && write_all(file, piece);
    left -= piece.size();
  }
  const timespec times[2] = {head.changed, head.changed};
  ::fchmod(file, head.mode);
  ::futimens(file, times);
  ::close(file);
  return fine;
}

// file_names(path): those in a checkpoint; none when it is damaged.
SEXP file_names(SEXP path) {
  std::vector<std::string> names;
  const bool fine = each_file(path, [&](const Head& head, ChunkReader& from) {
    names.push_back(head.path);
    return from.skip(head.length);
  });
  if (!fine) names.clear();
  const Kept all(Rf_allocVector(STRSXP, static_cast<R_xlen_t>(names.size())));
  for (std::size_t i = 0; i < names.size(); ++i)
    SET_STRING_ELT(all, static_cast<R_xlen_t>(i), Rf_mkCharCE(names[i].c_str(), CE_UTF8));
  return all;
}

// restore_files(path, from, to): the files whose name begins with from[i] are written to to[i] + the rest of
// the name. "" or what is wrong.
SEXP restore_files(SEXP path, SEXP from, SEXP to) {
  std::string why;
  const bool fine = each_file(path, [&](const Head& head, ChunkReader& contents) {
    const std::string_view name = head.path;
    for (R_xlen_t k = 0; k < Rf_xlength(from); ++k) {
      const std::string_view prefix = CHAR(STRING_ELT(from, k));
      if (!name.starts_with(prefix)) continue;
      const std::string place = std::string(CHAR(STRING_ELT(to, k))).append(name.substr(prefix.size()));
      if (name.contains("/../") || name.ends_with("/..")) {
        why = kDamaged;
      } else if (!put_in_place(place, head, contents)) {
        why = "the file cannot be put in place: " + place;
      }
      return why.empty();
    }
    return contents.skip(head.length);
  });
  return Rf_mkString(fine ? why.c_str() : kDamaged);
}

}  // namespace

std::vector<Routine> read_routines() {
  return {routine("read_state", read_state), routine("file_names", file_names),
          routine("restore_files", restore_files)};
}

}  // namespace remotist::volunteer::checkpoint
