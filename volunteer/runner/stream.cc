#include "volunteer/runner/stream.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace remotist::volunteer {

namespace {

// Trivial types only: an R error is a longjmp, which skips destructors.
struct Sink {
  int file;
  int error;
  std::size_t held;
  SEXP value;
  char buffer[1 << 16];
};
Sink sink;

void flush() {
  std::size_t done = 0;
  while (done < sink.held && sink.error == 0) {
    const ssize_t written = ::write(sink.file, sink.buffer + done, sink.held - done);
    if (written > 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      sink.error = errno;
    }
  }
  sink.held = 0;
}

void write_bytes(R_outpstream_st*, void* bytes, int count) {
  const char* from = static_cast<const char*>(bytes);
  std::size_t left = static_cast<std::size_t>(count);
  while (left > 0 && sink.error == 0) {
    const std::size_t piece = std::min(left, sizeof sink.buffer - sink.held);
    std::memcpy(sink.buffer + sink.held, from, piece);
    sink.held += piece;
    from += piece;
    left -= piece;
    if (sink.held == sizeof sink.buffer) flush();
  }
  if (sink.error != 0) Rf_error("%s", std::strerror(sink.error));
}

void write_char(R_outpstream_st* stream, int one) {
  char byte = static_cast<char>(one);
  write_bytes(stream, &byte, 1);
}

void serialize_to_sink(void*) {
  R_outpstream_st stream{};
  R_InitOutPStream(&stream, nullptr, R_pstream_xdr_format, 3, write_char, write_bytes, nullptr, R_NilValue);
  R_Serialize(sink.value, &stream);
  flush();
}

// Closes the file.
std::string write_value(SEXP value, int file) {
  sink.file = file;
  sink.error = 0;
  sink.held = 0;
  sink.value = value;
  const bool whole = R_ToplevelExec(serialize_to_sink, nullptr) != FALSE;
  ::close(sink.file);
  if (sink.error != 0) return std::strerror(sink.error);
  return whole ? "" : R_curErrorBuf();
}

}  // namespace

std::string save_value(SEXP value, int folder, const char* name) {
  ::unlinkat(folder, name, 0);
  const int file = ::openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  return file < 0 ? std::strerror(errno) : write_value(value, file);
}

void discard_value(SEXP value) {
  const int file = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (file >= 0) write_value(value, file);
}

}  // namespace remotist::volunteer
