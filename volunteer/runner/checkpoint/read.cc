// Reads a checkpoint: verifies that it is complete, then reads the state, then restores the job's files.
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include "volunteer/runner/checkpoint/chunks.h"
#include "volunteer/runner/checkpoint/native.h"
#include "volunteer/runner/checkpoint/saved_files.h"
#include "volunteer/runner/write_all.h"

namespace remotist::volunteer::checkpoint {

namespace {

// A path, or a descriptor.
Descriptor open_checkpoint(SEXP from) {
  return Descriptor{TYPEOF(from) == STRSXP ? ::open(CHAR(STRING_ELT(from, 0)), O_RDONLY | O_CLOEXEC)
                                           : ::fcntl(Rf_asInteger(from), F_DUPFD_CLOEXEC, 0)};
}

// The serialised state in an open checkpoint; `left` bytes of it are unread.
struct Source {
  ChunkReader* chunks;
  std::uint64_t left;

  bool read(void* to, std::size_t length) {
    if (left < length) return false;
    left -= length;
    return chunks->read(to, length);
  }
};

void read_bytes(R_inpstream_t stream, void* to, int length) {
  if (!static_cast<Source*>(stream->data)->read(to, static_cast<std::size_t>(length)))
    Rf_error("the checkpoint's state ends early");
}
int read_char(R_inpstream_t stream) {
  unsigned char byte = 0;
  read_bytes(stream, &byte, 1);
  return byte;
}
SEXP unserialise(void* source) {
  R_inpstream_st stream{};
  R_InitInPStream(&stream, static_cast<R_pstream_data_t>(source), R_pstream_any_format, read_char, read_bytes,
                  refhook_in, R_NilValue);
  const Protected paths(R_Unserialize(&stream));
  call_engine("resolve_paths", {paths});
  return R_Unserialize(&stream);
}

SEXP message_of(SEXP condition, void*) {
  const bool says =
      TYPEOF(condition) == VECSXP && Rf_xlength(condition) > 0 && TYPEOF(VECTOR_ELT(condition, 0)) == STRSXP;
  return says ? VECTOR_ELT(condition, 0) : Rf_mkString("the checkpoint cannot be read");
}

// read_state(path): the state, or a string that says what is wrong.
SEXP read_state(SEXP path) {
  const auto file = open_checkpoint(path);
  auto chunks = ChunkReader::of(file.get());
  if (!chunks) return Rf_mkString(chunks.error().c_str());
  // The whole file is verified before anything is read: a resume must not fail half-way because of damage.
  if (!chunks->is_intact()) return Rf_mkString(kDamaged);
  Source source{&*chunks, static_cast<std::uint64_t>(chunks->file().manifest().state_bytes)};
  return R_tryCatchError(unserialise, &source, message_of, nullptr);
}

// Calls `each(header, chunks)` for the files in a checkpoint, which must read or skip their contents; ends
// where that yields false. False when the checkpoint is damaged.
template <class Each>
bool each_file(SEXP path, Each each) {
  const auto file = open_checkpoint(path);
  auto chunks = ChunkReader::of(file.get());
  if (!chunks || !chunks->skip(static_cast<std::uint64_t>(chunks->file().manifest().state_bytes)))
    return false;
  SavedFileReader files(*chunks);
  if (!files.read_table()) return false;
  for (const auto& header : files.files()) {
    if (!files.move_to(header)) return false;
    if (!each(header, *chunks)) break;
    files.passed(header);
  }
  return !chunks->failed();
}

// Whether the file exists with these contents. Advances the reader only then.
bool is_unchanged(const std::string& path, std::uint64_t length, ChunkReader& from) {
  std::error_code fault;
  if (std::filesystem::file_size(path, fault) != length || fault) return false;
  std::ifstream file{path, std::ios::binary};
  ChunkReader ahead = from;
  std::string read;
  while (length > 0) {
    const auto piece = ahead.read_some(length);
    read.resize(piece.size());
    if (piece.empty() || !file.read(read.data(), static_cast<std::streamsize>(read.size())) || read != piece)
      return false;
    length -= piece.size();
  }
  from = std::move(ahead);
  return true;
}

// An unchanged file, such as one of the job's input, is left alone.
bool restore_file(const std::string& path, const FileHeader& header, ChunkReader& from) {
  if (is_unchanged(path, header.length, from)) return true;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return false;
  bool fine = true;
  for (std::uint64_t left = header.length; left > 0 && fine;) {
    const auto piece = from.read_some(left);
    fine = !piece.empty() && write_all(file, piece);
    left -= piece.size();
  }
  const timespec times[2] = {header.changed, header.changed};
  ::fchmod(file, header.mode);
  ::futimens(file, times);
  ::close(file);
  return fine;
}

// file_names(path): the names of the files in a checkpoint; none when it is damaged.
SEXP file_names(SEXP path) {
  std::vector<std::string> names;
  const bool fine = each_file(path, [&](const FileHeader& header, ChunkReader& from) {
    names.push_back(header.path);
    return from.skip(header.length);
  });
  if (!fine) names.clear();
  const Protected all(Rf_allocVector(STRSXP, static_cast<R_xlen_t>(names.size())));
  for (std::size_t i = 0; i < names.size(); ++i)
    SET_STRING_ELT(all, static_cast<R_xlen_t>(i), Rf_mkCharCE(names[i].c_str(), CE_UTF8));
  return all;
}

// restore_files(path, from, to): the files whose name begins with from[i] are written to to[i] + the rest of
// the name. "" or what is wrong.
SEXP restore_files(SEXP path, SEXP from, SEXP to) {
  std::string why;
  const bool fine = each_file(path, [&](const FileHeader& header, ChunkReader& contents) {
    const std::string_view name = header.path;
    for (R_xlen_t k = 0; k < Rf_xlength(from); ++k) {
      const std::string_view prefix = CHAR(STRING_ELT(from, k));
      if (!name.starts_with(prefix)) continue;
      const std::string place = std::string(CHAR(STRING_ELT(to, k))).append(name.substr(prefix.size()));
      if (name.contains("/../") || name.ends_with("/..")) {
        why = kDamaged;
      } else if (!restore_file(place, header, contents)) {
        why = "the file cannot be restored: " + place;
      }
      return why.empty();
    }
    return contents.skip(header.length);
  });
  return Rf_mkString(fine ? why.c_str() : kDamaged);
}

}  // namespace

std::vector<Routine> read_routines() {
  return {routine("read_state", read_state), routine("file_names", file_names),
          routine("restore_files", restore_files)};
}

}  // namespace remotist::volunteer::checkpoint
