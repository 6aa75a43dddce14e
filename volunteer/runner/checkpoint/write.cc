// Writes a checkpoint in a child process, so that the script waits only for the fork. Contents of the file
// (chunks.h):
//
//   the paths to environments of packages (packages.cc) and the state, each serialised by R in native binary
//   format; the file's number is the length of both u64 number of files; for each: u32 length of the path,
//   path, u32 mode, i64 seconds and i64 nanoseconds of its last change, u64 length, contents
//
// It is written under a temporary name, synced, and renamed: a file with the final name is complete.
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

// A file of the job as it is at the moment of the checkpoint. Small ones are copied into memory, which the
// child inherits; large ones into an unnamed file, which costs nothing where the file system can share
// blocks.
struct FileCopy {
  std::string path;
  std::uint32_t mode = 0;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  std::uint64_t length = 0;
  std::string bytes;
  int copy = -1;
};
std::vector<FileCopy> file_copies;

constexpr std::uint64_t kInMemoryMax = 4 << 20;

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

bool copy_file(const std::string& path, const std::string& shown, const std::string& folder) {
  // O_NONBLOCK: opening a pipe would block forever.
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return false;
  struct stat about{};
  bool fine = ::fstat(file, &about) == 0 && S_ISREG(about.st_mode);
  FileCopy one{shown,
               about.st_mode & 07777U,
               about.st_mtim.tv_sec,
               about.st_mtim.tv_nsec,
               static_cast<std::uint64_t>(about.st_size),
               {},
               -1};
  if (fine && one.length <= kInMemoryMax) {
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
  if (fine) file_copies.push_back(std::move(one));
  return fine;
}

void release_copies() {
  for (const auto& one : file_copies) {
    if (one.copy >= 0) ::close(one.copy);
  }
  file_copies.clear();
}

// copy_files(paths, names in the checkpoint, folder for copies): the first one that cannot be read, or "".
SEXP copy_files(SEXP paths, SEXP shown, SEXP folder) {
  release_copies();
  const std::string where = CHAR(STRING_ELT(folder, 0));
  for (R_xlen_t i = 0; i < Rf_xlength(paths); ++i) {
    if (!copy_file(CHAR(STRING_ELT(paths, i)), CHAR(STRING_ELT(shown, i)), where)) {
      release_copies();
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
SEXP name_reference(SEXP object, SEXP) {
  return refhook_out(object);
}

int notify_descriptor = -1;
int child_pipe = -1;
pid_t child = -1;

[[noreturn]] void refuse(const std::string& why) {
  [[maybe_unused]] const auto written = ::write(child_pipe, why.data(), why.size());
  ::_exit(2);
}

struct SerializeCall {
  SEXP parts;
  ChunkWriter* writer;
};

SEXP serialise(void* what) {
  auto& call = *static_cast<SerializeCall*>(what);
  R_outpstream_st stream{};
  // The hook is called for every environment and pointer, and names those that are not copied.
  R_InitOutPStream(&stream, static_cast<R_pstream_data_t>(call.writer), R_pstream_binary_format, 3, out_char,
                   out_bytes, name_reference, Rf_ScalarLogical(TRUE));
  for (R_xlen_t i = 0; i < Rf_xlength(call.parts); ++i) R_Serialize(VECTOR_ELT(call.parts, i), &stream);
  return R_NilValue;
}

// R's message is not printed: the script's log must not show it.
SEXP cannot_serialise(SEXP, void*) {
  refuse("R cannot serialize the state");
}

void put_files(ChunkWriter& writer) {
  writer.number(static_cast<std::uint64_t>(file_copies.size()));
  std::array<char, 1 << 16> buffer{};
  for (const auto& one : file_copies) {
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

[[noreturn]] void write_checkpoint(SEXP prepare, const std::string& folder) {
  const std::string name = folder + "/checkpoint";
  const std::string unfinished = name + ".tmp";
  // Yields a list of what is to be written, or a string: why it cannot be.
  int failed = 0;
  const SEXP parts = R_tryEvalSilent(prepare, R_BaseEnv, &failed);
  if (failed != 0) refuse("the state could not be prepared");
  PROTECT(parts);
  if (TYPEOF(parts) == STRSXP) refuse(CHAR(STRING_ELT(parts, 0)));
  const int file = ::open(unfinished.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) refuse("the checkpoint's file cannot be created");
  ChunkWriter writer(file);
  SerializeCall call{parts, &writer};
  R_tryCatchError(serialise, &call, cannot_serialise, nullptr);
  const std::uint64_t length = writer.count();
  put_files(writer);
  if (!writer.finish(length)) refuse("the checkpoint cannot be written to the disc");
  if (::fsync(file) != 0 || ::rename(unfinished.c_str(), name.c_str()) != 0)
    refuse("the checkpoint cannot be synced to the disc");
  if (const int dir = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); dir >= 0) ::fsync(dir);
  if (notify_descriptor >= 0) [[maybe_unused]]
    const auto written = ::write(notify_descriptor, "w", 1);
  ::_exit(0);
}

// fork_and_write(prepare, folder): TRUE when a child was started; it evaluates the call `prepare` and writes
// its value.
SEXP fork_and_write(SEXP prepare, SEXP folder) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Rf_ScalarLogical(FALSE);
  const pid_t parent = ::getpid();
  child = ::fork();
  if (child == 0) {
    // A child must not outlive the script: another process may already resume from the previous checkpoint.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(4);
    ::close(ends[0]);
    child_pipe = ends[1];
    write_checkpoint(prepare, CHAR(STRING_ELT(folder, 0)));
  }
  ::close(ends[1]);
  child_pipe = ends[0];
  if (child < 0) ::close(child_pipe);
  release_copies();
  return Rf_ScalarLogical(child > 0);
}

// writer_result(wait): NULL while the child writes, "" when the checkpoint is complete, else why it is not.
SEXP writer_result(SEXP wait) {
  if (child <= 0) return Rf_mkString("");
  int status = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(child, &status, Rf_asLogical(wait) == TRUE ? 0 : WNOHANG);
  } while (ended < 0 && errno == EINTR);
  if (ended == 0) return R_NilValue;
  std::string why;
  std::array<char, 512> text{};
  for (ssize_t got = 0; (got = ::read(child_pipe, text.data(), text.size())) > 0;) {
    why.append(text.data(), static_cast<std::size_t>(got));
  }
  ::close(child_pipe);
  child = -1;
  const bool complete = ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!complete && why.empty()) why = "the process that wrote the checkpoint was ended";
  return Rf_mkString(complete ? "" : why.c_str());
}

SEXP is_writing() {
  return Rf_ScalarLogical(child > 0);
}

SEXP kill_self() {
  ::kill(::getpid(), SIGKILL);
  return R_NilValue;
}

}  // namespace

void notify_when_written(int descriptor) {
  notify_descriptor = descriptor;
}

std::vector<Routine> write_routines() {
  return {routine("copy_files", copy_files), routine("fork_and_write", fork_and_write),
          routine("writer_result", writer_result), routine("is_writing", is_writing),
          routine("kill_self", kill_self)};
}

}  // namespace remotist::volunteer::checkpoint
