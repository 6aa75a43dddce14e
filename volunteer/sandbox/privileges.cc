#include "volunteer/sandbox/privileges.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <format>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include "volunteer/sandbox/descriptor.h"
#include "volunteer/sandbox/fail.h"
#include "volunteer/sandbox/uids.h"

namespace remotist::volunteer {

namespace {

void write_at(int folder, const char* name, const std::string& text) {
  const Descriptor file{::openat(folder, name, O_WRONLY | O_CLOEXEC)};
  if (!file || ::write(file.get(), text.data(), text.size()) < 0) fail("a guest's uid cannot be mapped");
}

void set_capabilities(unsigned long long mask, unsigned long long inheritable = 0) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  for (int i = 0; i < 2; ++i) {
    data[i].effective = data[i].permitted = static_cast<__u32>(mask >> (32 * i));
    data[i].inheritable = static_cast<__u32>(inheritable >> (32 * i));
  }
  if (::syscall(SYS_capset, &header, data) != 0) fail("capabilities cannot be dropped");
}

unsigned long long permitted() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  ::syscall(SYS_capget, &header, data);
  return data[0].permitted | static_cast<unsigned long long>(data[1].permitted) << 32;
}

}  // namespace

void switch_user(uid_t uid, gid_t gid, bool keep) {
  if (keep) ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
  if (::setgroups(0, nullptr) != 0) fail("groups cannot be dropped");
  if (::setresgid(gid, gid, gid) != 0 || ::setresuid(uid, uid, uid) != 0)
    fail("the guest's uid cannot be set");
}

void keep_capabilities() {
  set_capabilities(permitted(), permitted());
  for (unsigned long capability = 0; capability < 64; ++capability) {
    ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0);
  }
}

void enter_own_user_namespace(int proc) {
  if (::unshare(CLONE_NEWUSER) != 0) fail("a guest's user namespace cannot be made");
  write_at(proc, "self/uid_map", std::format("{} 0 1\n", kGuestUid));
  write_at(proc, "self/gid_map", std::format("{} 0 1\n", kGuestUid));
}

void empty_bounding_set() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) fail("the bounding set cannot be emptied");
  }
}

void drop_capabilities(unsigned long long kept_mask) {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  set_capabilities(permitted() & kept_mask);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("no_new_privs cannot be set");
}

}  // namespace remotist::volunteer
