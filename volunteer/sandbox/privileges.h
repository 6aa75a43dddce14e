// Changes of a process's uid and capabilities, for guests. None can be undone.
#pragma once

#include <sys/types.h>

namespace remotist::volunteer {

// Sets the real, effective and saved uid and gid and removes supplementary groups. Requires CAP_SETUID and
// CAP_SETGID. Keeps the capabilities with `keep`. Throws std::system_error.
void switch_user(uid_t uid, gid_t gid, bool keep);

// Makes programs that this process starts inherit its capabilities: for a guest without
// Protections::no_privileges.
void keep_capabilities();

// Enters a new user namespace that maps only this process's uid and gid, to kGuestUid. `proc` is an open
// /proc. Throws std::system_error.
void enter_own_user_namespace(int proc);

// Empties the bounding set; requires CAP_SETPCAP. Throws std::system_error.
void empty_bounding_set();
// Drops every capability except those in the mask, and sets no_new_privs. Throws std::system_error.
void drop_capabilities(unsigned long long kept_mask = 0);

}  // namespace remotist::volunteer
