// Writes a checkpoint from a child process, so that the script waits for the fork alone. In the file
// (chunks.h) are:
//
//   the ways to environments that packages keep (packages.cc), and the state: what R's serialize makes of
//   each, native binary format; the file's number is the length of both
//   u64 number of files; for each: u32 length of the path, path, u32 mode, i64 seconds and i64 nanoseconds of
//   its last change, u64 length, contents
//
// It is written under another name, synced, and renamed: what has the right name is whole, or the disc is
// broken.
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "volunteer/runner/checkpoint/chunks.h"
#include "volunteer/runner/checkpoint/native.h"

namespace remotist::volunteer::checkpoint {

namespace {

// A file of the job at the moment of the checkpoint: small ones in memory, the child has them by the fork;
// large ones as a nameless copy, which costs nothing where the file system can share blocks.
struct Held {
  std::string path;
  std::uint32_t mode = 0;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  std::uint64_t length = 0;
  std::string bytes;
  int copy = -1;
};
std::vector<Held> held;

constexpr std::uint64_t kSmall = 4 << 20;

bool copy_all(int from, int to, std::uint64_t length) {
  std::array<char, 1 << 16> buffer{};
  while (length > 0) {
    ssize_t got = ::copy_file_range(from, nullptr, to, nullptr, length, 0);
    if (got < 0) {
      got = ::read(from, buffer.data(), std::min<std::uint64_t>(buffer.size(), length));
      if (got <= 0 || ::write(to, buffer.data(), static_cast<std::size_t>(got)) != got) return false;
    }
    if (got == 0) return false;
    length -= static_cast<std::uint64_t>(got);
  }
  return true;
}

bool hold(const std::string& path, const std::string& shown, const std::string& folder) {
  // A pipe would hold the script for ever.
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return false;
  struct stat about{};
  bool fine = ::fstat(file, &about) == 0 && S_ISREG(about.st_mode);
  Held one{shown,
           about.st_mode & 07777U,
           about.st_mtim.tv_sec,
           about.st_mtim.tv_nsec,
           static_cast<std::uint64_t>(about.st_size),
           {},
           -1};
  if (fine && one.length <= kSmall) {
    one.bytes.resize(one.length);
    std::size_t got = 0;
    while (got < one.length) {
      const ssize_t n = ::read(file, one.bytes.data() + got, one.length - got);
      if (n <= 0) break;
      got += static_cast<std::size_t>(n);
    }
    fine = got == one.length;
  } else if (fine) {
    one.copy = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    fine = one.copy >= 0 && copy_all(file, one.copy, one.length);
  }
  ::close(file);
  if (fine) held.push_back(std::move(one));
  return fine;
}

void let_go() {
  for (const auto& one : held) {
    if (one.copy >= 0) ::close(one.copy);
  }
  held.clear();
}

// hold_files(paths, names in the checkpoint, folder for copies): the first one that cannot be read, or "".
SEXP hold_files(SEXP paths, SEXP shown, SEXP folder) {
  let_go();
  const std::string where = CHAR(STRING_ELT(folder, 0));
  for (R_xlen_t i = 0; i < Rf_xlength(paths); ++i) {
    if (!hold(CHAR(STRING_ELT(paths, i)), CHAR(STRING_ELT(shown, i)), where)) {
      let_go();
      return Rf_ScalarString(STRING_ELT(paths, i));
    }
  }
  return Rf_mkString("");
}

void out_bytes(R_outpstream_t stream, void* bytes, int length) {
  static_cast<ChunkWriter*>(stream->data)->put(bytes, static_cast<std::size_t>(length));
}
void out_char(R_outpstream_t stream, int c) {
  const auto byte = static_cast<char>(c);
  static_cast<ChunkWriter*>(stream->data)->put(&byte, 1);
}
SEXP hook_out(SEXP object, SEXP) {
  return refhook_out(object);
}

int when_written = -1;
int child_tells = -1;
pid_t child = -1;

[[noreturn]] void refuse(const std::string& why) {
  [[maybe_unused]] const auto told = ::write(child_tells, why.data(), why.size());
  ::_exit(2);
}

struct Work {
  SEXP parts;
  ChunkWriter* writer;
};

SEXP serialise(void* what) {
  auto& work = *static_cast<Work*>(what);
  R_outpstream_st stream{};
  // NULL is called for every reference object, so that the engine's own are named.
  R_InitOutPStream(&stream, static_cast<R_pstream_data_t>(work.writer), R_pstream_binary_format, 3, out_char,
                   out_bytes, hook_out, Rf_ScalarLogical(TRUE));
  for (R_xlen_t i = 0; i < Rf_xlength(work.parts); ++i) R_Serialize(VECTOR_ELT(work.parts, i), &stream);
  return R_NilValue;
}

// Nobody who reads the script's log has to know why.
SEXP cannot_serialise(SEXP, void*) {
  refuse("R cannot serialize the state");
}

void put_files(ChunkWriter& writer) {
  writer.number(static_cast<std::uint64_t>(held.size()));
  std::array<char, 1 << 16> buffer{};
  for (const auto& one : held) {
    writer.number(static_cast<std::uint32_t>(one.path.size()));
    writer.put(one.path.data(), one.path.size());
    writer.number(one.mode);
    writer.number(one.seconds);
    writer.number(one.nanoseconds);
    writer.number(one.length);
    if (one.copy < 0) {
      writer.put(one.bytes.data(), one.bytes.size());
      continue;
    }
    ::lseek(one.copy, 0, SEEK_SET);
    for (std::uint64_t left = one.length; left > 0;) {
      const ssize_t got = ::read(one.copy, buffer.data(), std::min<std::uint64_t>(buffer.size(), left));
      if (got <= 0) ::_exit(3);
      writer.put(buffer.data(), static_cast<std::size_t>(got));
      left -= static_cast<std::uint64_t>(got);
    }
  }
}

[[noreturn]] void write_all(SEXP look, const std::string& folder) {
  const std::string name = folder + "/checkpoint";
  const std::string unfinished = name + ".tmp";
  // A call that yields what is to be written, in a list, or why it cannot be.
  int failed = 0;
  const SEXP parts = R_tryEvalSilent(look, R_BaseEnv, &failed);
  if (failed != 0) refuse("the state could not be looked through");
  PROTECT(parts);
  if (TYPEOF(parts) == STRSXP) refuse(CHAR(STRING_ELT(parts, 0)));
  const int file = ::open(unfinished.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) refuse("the checkpoint's file cannot be made");
  ChunkWriter writer(file);
  Work work{parts, &writer};
  R_tryCatchError(serialise, &work, cannot_serialise, nullptr);
  const std::uint64_t length = writer.count();
  put_files(writer);
  if (!writer.finish(length)) refuse("the disc does not take the checkpoint");
  if (::fsync(file) != 0 || ::rename(unfinished.c_str(), name.c_str()) != 0)
    refuse("the disc does not keep the checkpoint");
  if (const int dir = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); dir >= 0) ::fsync(dir);
  if (when_written >= 0) [[maybe_unused]]
    const auto told = ::write(when_written, "w", 1);
  ::_exit(0);
}

// fork_and_write(look, folder): TRUE when a child is on its way.
SEXP fork_and_write(SEXP look, SEXP folder) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Rf_ScalarLogical(FALSE);
  const pid_t parent = ::getpid();
  child = ::fork();
  if (child == 0) {
    // With the script's process the right to write its checkpoint ends: another may go on from the last one.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(4);
    ::close(ends[0]);
    child_tells = ends[1];
    write_all(look, CHAR(STRING_ELT(folder, 0)));
  }
  ::close(ends[1]);
  child_tells = ends[0];
  if (child < 0) ::close(child_tells);
  let_go();
  return Rf_ScalarLogical(child > 0);
}

// How the child did: NULL while it writes, "" when the checkpoint is complete, else why not.
SEXP written(SEXP wait) {
  if (child <= 0) return Rf_mkString("");
  int status = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(child, &status, Rf_asLogical(wait) == TRUE ? 0 : WNOHANG);
  } while (ended < 0 && errno == EINTR);
  if (ended == 0) return R_NilValue;
  std::string why;
  std::array<char, 512> text{};
  for (ssize_t got = 0; (got = ::read(child_tells, text.data(), text.size())) > 0;) {
    why.append(text.data(), static_cast<std::size_t>(got));
  }
  ::close(child_tells);
  child = -1;
  const bool complete = ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!complete && why.empty()) why = "the process that wrote the checkpoint was ended";
  return Rf_mkString(complete ? "" : why.c_str());
}

SEXP under_way() {
  return Rf_ScalarLogical(child > 0);
}

SEXP die() {
  ::kill(::getpid(), SIGKILL);
  return R_NilValue;
}

}  // namespace

void tell_when_written(int descriptor) {
  when_written = descriptor;
}

std::vector<Routine> write_routines() {
  return {routine("hold_files", hold_files), routine("fork_and_write", fork_and_write),
          routine("written", written), routine("under_way", under_way), routine("die", die)};
}

}  // namespace remotist::volunteer::checkpoint
