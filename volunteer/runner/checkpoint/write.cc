// Writes a checkpoint in a child process, so that the script waits only for the fork. Contents
// (volunteer/sandbox/checkpoint_file.h): the paths to environments of packages (packages.cc) and the state,
// each serialised by R in native binary format, then the job's files (saved_files.h).
//
// It is written under a temporary name and renamed: a file with the final name is complete. In plain R it is
// synced before, because another process may resume from it after the machine has failed; a host sends it
// away.
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <exception>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/limits.h"
#include "volunteer/runner/checkpoint/chunks.h"
#include "volunteer/runner/checkpoint/native.h"
#include "volunteer/runner/checkpoint/saved_files.h"

namespace remotist::volunteer::checkpoint {

namespace {

Host host;
std::uint64_t number = 0;  // of the newest checkpoint that was begun
double began_ms = 0;       // R was held up from then on

KnownCheckpoints& known() {
  static KnownCheckpoints all;
  return all;
}
SavedFiles& saved_files() {
  static SavedFiles all;
  return all;
}

double clock_ms(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

// copy_files(paths, names in the checkpoint, folder for copies): the first one that cannot be read, or "".
SEXP copy_files(SEXP paths, SEXP shown, SEXP folder) {
  known().update();
  std::vector<std::pair<std::string, std::string>> files;
  for (R_xlen_t i = 0; i < Rf_xlength(paths); ++i)
    files.emplace_back(CHAR(STRING_ELT(paths, i)), CHAR(STRING_ELT(shown, i)));
  const auto bad = saved_files().take(files, {CHAR(STRING_ELT(folder, 0)), host.exact_times}, known());
  if (!bad.empty()) saved_files().release();
  return Rf_mkString(bad.c_str());
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

int child_pipe = -1;
pid_t child = -1;

// In the child.
void report_to_host(bool complete) {
  if (host.written < 0) return;
  const WriterReport report{number, clock_ms(CLOCK_PROCESS_CPUTIME_ID), complete};
  [[maybe_unused]] const auto written = ::write(host.written, &report, sizeof report);
}

[[noreturn]] void refuse(const std::string& why) {
  [[maybe_unused]] const auto written = ::write(child_pipe, why.data(), why.size());
  report_to_host(false);
  ::_exit(2);
}

struct SerializeCall {
  SEXP parts;
  R_xlen_t count;
  ChunkWriter* writer;
};

SEXP serialise(void* what) {
  auto& call = *static_cast<SerializeCall*>(what);
  R_outpstream_st stream{};
  // The hook is called for every environment and pointer, and names those that are not copied.
  R_InitOutPStream(&stream, static_cast<R_pstream_data_t>(call.writer), R_pstream_binary_format, 3, out_char,
                   out_bytes, name_reference, Rf_ScalarLogical(TRUE));
  for (R_xlen_t i = 0; i < call.count; ++i) R_Serialize(VECTOR_ELT(call.parts, i), &stream);
  return R_NilValue;
}

// R's message is not printed: the script's log must not show it.
SEXP cannot_serialise(SEXP, void*) {
  refuse("R cannot serialize the state");
}

std::string text_at(SEXP texts, R_xlen_t at) {
  return at < Rf_xlength(texts) ? std::string(Rf_translateCharUTF8(STRING_ELT(texts, at))) : std::string{};
}

// `about`: list(c(R's version, architecture, script, call), line, packages).
CheckpointManifest manifest_of(SEXP about, std::uint64_t state_bytes, double pause_ms) {
  const SEXP texts = VECTOR_ELT(about, 0);
  const SEXP packages = VECTOR_ELT(about, 2);
  CheckpointManifest manifest{.r_version = text_at(texts, 0),
                              .architecture = text_at(texts, 1),
                              .state_bytes = static_cast<std::int64_t>(state_bytes),
                              .file = text_at(texts, 2),
                              .line = Rf_asInteger(VECTOR_ELT(about, 1)),
                              .call = text_at(texts, 3),
                              .pause_ms = pause_ms,
                              .child_cpu_ms = clock_ms(CLOCK_PROCESS_CPUTIME_ID),
                              .files = static_cast<std::int64_t>(saved_files().count()),
                              .files_read = static_cast<std::int64_t>(saved_files().read_count())};
  for (R_xlen_t i = 0; i < Rf_xlength(packages); ++i) manifest.packages.push_back(text_at(packages, i));
  return manifest;
}

std::string file_name(const std::string& folder) {
  const std::string name = folder + "/checkpoint";
  return host.written < 0 ? name : name + "-" + std::to_string(number);
}

void sync_and_rename(int file, const std::string& unfinished, const std::string& name,
                     const std::string& folder) {
  const bool synced = host.written >= 0 || ::fsync(file) == 0;
  if (!synced || ::rename(unfinished.c_str(), name.c_str()) != 0)
    refuse("the checkpoint cannot be synced to the disc");
  if (host.written >= 0) return;
  if (const int dir = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); dir >= 0) ::fsync(dir);
}

[[noreturn]] void write_checkpoint(SEXP prepare, const std::string& folder, int table_file) {
  const double pause_ms = clock_ms(CLOCK_MONOTONIC) - began_ms;
  // Nothing may be printed: the script's log must not show it.
  std::set_terminate([] { refuse("there is not enough memory to write the checkpoint"); });
  const std::string unfinished = folder + "/checkpoint.tmp";
  // Yields a list of what is to be written, and about it, or a string: why it cannot be.
  int failed = 0;
  const SEXP parts = R_tryEvalSilent(prepare, R_BaseEnv, &failed);
  if (failed != 0) refuse("the state could not be prepared");
  PROTECT(parts);
  if (TYPEOF(parts) == STRSXP) refuse(CHAR(STRING_ELT(parts, 0)));
  const int file = ::open(unfinished.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) refuse("the checkpoint's file cannot be created");
  ChunkWriter writer(file, &known());
  const R_xlen_t about = Rf_xlength(parts) - 1;
  SerializeCall call{parts, about, &writer};
  R_tryCatchError(serialise, &call, cannot_serialise, nullptr);
  const std::uint64_t length = writer.count();
  CheckpointTable table;
  if (!saved_files().put(writer, known(), table)) refuse("a copy of a file cannot be read");
  writer.end_chunk();
  table.chunks = writer.chunks();
  if (table.chunks.size() > limits::kCheckpointFileChunksMax)
    refuse("the state has too many chunks to be saved");
  if (!writer.finish(encode(manifest_of(VECTOR_ELT(parts, about), length, pause_ms))))
    refuse("the checkpoint cannot be written to the disc");
  // Without the table the host's confirmation has no effect.
  if (table_file >= 0) write_table(table_file, table);
  sync_and_rename(file, unfinished, file_name(folder), folder);
  report_to_host(true);
  ::_exit(0);
}

// Memory that R writes to while the child lives is split into small pages, which slows a script with much
// memory down for long. Of a large state of which little is new, waiting for the child costs less.
void wait_briefly_for_child() {
  constexpr int kWaitMsMax = 400;
  constexpr std::uint64_t kLargeStateBytes = 64 << 20;
  if (known().base() == nullptr) return;
  std::uint64_t bytes = 0;
  for (const auto& chunk : known().base()->chunks) bytes += chunk.length;
  pollfd ended{child_pipe, POLLIN, 0};
  if (bytes >= kLargeStateBytes) ::poll(&ended, 1, kWaitMsMax);
}

// fork_and_write(prepare, folder, began): TRUE when a child was started; it evaluates the call `prepare` and
// writes its value. `began`: since when R has been held up, in seconds.
SEXP fork_and_write(SEXP prepare, SEXP folder, SEXP began) {
  began_ms = 1000 * Rf_asReal(began);
  const std::string where = CHAR(STRING_ELT(folder, 0));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Rf_ScalarLogical(FALSE);
  ++number;
  Descriptor table;
  if (host.written >= 0) {
    table = Descriptor{::open(where.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
    fast_hash({});  // chooses its seed
    host.begun(number, began_ms);
  }
  const pid_t parent = ::getpid();
  child = ::fork();
  if (child == 0) {
    // A child must not outlive the script: another process may already resume from the previous checkpoint.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(4);
    ::close(ends[0]);
    child_pipe = ends[1];
    write_checkpoint(prepare, where, table.get());
  }
  ::close(ends[1]);
  child_pipe = ends[0];
  if (child < 0) ::close(child_pipe);
  if (child > 0 && table) known().add(number, std::move(table));
  saved_files().release();
  if (child > 0) wait_briefly_for_child();
  if (child > 0 && host.forked != nullptr) host.forked(clock_ms(CLOCK_MONOTONIC) - began_ms);
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

// report_refusal(why)
SEXP report_refusal(SEXP why) {
  if (host.refused != nullptr) host.refused(Rf_translateCharUTF8(STRING_ELT(why, 0)));
  return R_NilValue;
}

// Whether this is a process that the script forked: it is not the job.
SEXP is_other_process() {
  return Rf_ScalarLogical(host.process != 0 && host.process != ::getpid());
}

SEXP kill_self() {
  ::kill(::getpid(), SIGKILL);
  return R_NilValue;
}

}  // namespace

void set_host(const Host& its) {
  host = its;
}

void confirm_checkpoint(std::uint64_t confirmed) {
  known().confirm(confirmed);
}

void forget_checkpoints() {
  known().forget();
}

std::vector<Routine> write_routines() {
  return {routine("copy_files", copy_files),
          routine("fork_and_write", fork_and_write),
          routine("writer_result", writer_result),
          routine("is_writing", is_writing),
          routine("report_refusal", report_refusal),
          routine("is_other_process", is_other_process),
          routine("kill_self", kill_self)};
}

}  // namespace remotist::volunteer::checkpoint
