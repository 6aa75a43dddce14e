#include "volunteer/sandbox/policy.h"

#include <cerrno>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <functional>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace remotist::volunteer;

namespace {

// The result of a call under the policy, in a child process: 0, or its errno.
int under(const PolicyOptions& options, const std::function<long()>& call) {
  const auto policy = compile_policy(options);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !load_policy(policy)) ::_exit(255);
    ::_exit(call() >= 0 ? 0 : errno);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

long map(unsigned long flags) {
  return ::syscall(SYS_mmap, nullptr, 4096, PROT_READ | PROT_WRITE, flags, -1, 0) == -1 ? -1 : 0;
}

// Sets the bits of an argument that the kernel ignores.
unsigned long with_high_bits(unsigned long value) {
  return value | 0xffffffffUL << 32;
}

int a_file() {
  char name[] = "/tmp/remotist-policy-XXXXXX";
  const int file = ::mkstemp(name);
  ::unlink(name);
  return file;
}

}  // namespace

TEST_CASE("parts of files can be locked unless the files may be the host's own") {
  const int file = a_file();
  struct flock all{};
  all.l_type = F_WRLCK;
  const auto whole = [&] { return ::flock(file, LOCK_EX | LOCK_NB); };
  const auto part = [&] { return ::fcntl(file, F_SETLK, &all); };
  CHECK(under({}, whole) == ENOSYS);
  CHECK(under({}, part) == 0);
  CHECK(under({}, [&] { return ::fcntl(file, F_OFD_SETLK, &all); }) == EINVAL);
  CHECK(under({.locks = false}, whole) == ENOSYS);
  CHECK(under({.locks = false}, part) == EPERM);
  CHECK(under({.locks = false}, [&] { return ::fcntl(file, F_GETFD); }) == 0);
  ::close(file);
}

TEST_CASE("a job can have a read lease on a file, never a write lease, which would delay readers") {
  char name[] = "/tmp/remotist-policy-XXXXXX";
  ::close(::mkstemp(name));
  const int file = ::open(name, O_RDONLY | O_CLOEXEC);
  ::unlink(name);
  const auto lease = [&](unsigned long kind) {
    return [=] { return ::syscall(SYS_fcntl, file, F_SETLEASE, kind); };
  };
  CHECK(under({}, lease(F_RDLCK)) == 0);
  CHECK(under({}, lease(F_UNLCK)) != EPERM);
  CHECK(under({}, lease(F_WRLCK)) == EPERM);
  CHECK(under({}, lease(with_high_bits(F_WRLCK))) == EPERM);
  CHECK(under({.locks = false}, lease(F_RDLCK)) == EPERM);
  ::close(file);
}

TEST_CASE("anonymous shared memory needs a cgroup that counts it, huge pages are always refused") {
  for (const bool counted : {true, false}) {
    const PolicyOptions options{.memory_counted = counted};
    CHECK(under(options, [] { return map(MAP_PRIVATE | MAP_ANONYMOUS); }) == 0);
    CHECK(under(options, [] { return map(MAP_SHARED | MAP_ANONYMOUS); }) == (counted ? 0 : EPERM));
    CHECK(under(options, [] { return map(MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE); }) ==
          EPERM);
    CHECK(under(options, [] { return map(MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE); }) ==
          EPERM);
  }
}

TEST_CASE("bits that the kernel ignores do not change the meaning of an argument") {
  const auto page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto advise = [&](unsigned long advice) { return ::syscall(SYS_madvise, page, 4096, advice); };
  CHECK(under({}, [&] { return advise(MADV_DONTNEED); }) == 0);
  CHECK(under({}, [&] { return advise(MADV_MERGEABLE); }) == EPERM);
  CHECK(under({}, [&] { return advise(with_high_bits(MADV_MERGEABLE)); }) == EPERM);
  const int file = a_file();
  CHECK(under({}, [&] { return ::syscall(SYS_fcntl, file, with_high_bits(F_NOTIFY), 0); }) == EPERM);
  CHECK(under({}, [&] { return ::syscall(SYS_fcntl, file, with_high_bits(F_GETFD), 0); }) == 0);
  ::close(file);
  ::munmap(page, 4096);
}

TEST_CASE("a file is read with no flags, and advice on it is taken") {
  const int file = a_file();
  char byte = 0;
  const iovec one{&byte, 1};
  CHECK(under({}, [&] { return ::preadv2(file, &one, 1, 0, 0); }) == 0);
  CHECK(under({}, [&] { return ::preadv2(file, &one, 1, 0, RWF_NOWAIT); }) == EOPNOTSUPP);
  CHECK(under({}, [&] { return ::preadv2(file, &one, 1, 0, RWF_HIPRI); }) == EPERM);
  CHECK(under({}, [&] { return ::syscall(SYS_fadvise64, file, 0, 0, POSIX_FADV_DONTNEED); }) == 0);
  ::close(file);
}
