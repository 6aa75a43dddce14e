// What a guest's process gives up, for good.
#pragma once

#include <sys/types.h>

namespace remotist::volunteer {

// Becomes uid and gid, in every sense, without supplementary groups. Requires CAP_SETUID and CAP_SETGID. With
// `keep` the capabilities stay. Throws std::system_error.
void become(uid_t uid, gid_t gid, bool keep);

// Hands this process's capabilities on to the programs that it starts: for a guest without
// Layers::no_privileges.
void keep_capabilities();

// Goes into a new user namespace that knows this process's uid and gid alone, as kGuestUid. `proc` is an open
// /proc. Throws std::system_error.
void enter_own_user_namespace(int proc);

// Empties the bounding set; requires CAP_SETPCAP. Throws std::system_error.
void empty_bounding_set();
// Gives up every capability but those in the mask, and sets no_new_privs. Throws std::system_error.
void drop_capabilities(unsigned long long kept_mask = 0);

}  // namespace remotist::volunteer
