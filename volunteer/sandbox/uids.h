// Who a zygote and its guests are.
//
// As root: a user namespace whose uids stand for a range of uids of this machine that nobody else has, one
// for the zygote and one for each guest. Otherwise, or where this process's own namespace holds too few uids:
// a user namespace with this user's uid alone, and another one within it for each guest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <sys/types.h>

namespace remotist::volunteer {

inline constexpr uid_t kGuestUid = 1000;  // as the first guest sees itself

struct Uids {
  bool range = false;  // one uid for each guest; else all have this user's
  uid_t zygote = 0;    // outside; guests' follow it
  gid_t zygote_group = 0;
  std::size_t guests = 0;

  // Both with range only: how a slot's guest is seen from outside and from inside.
  uid_t outside(std::size_t slot) const { return zygote + 1 + static_cast<uid_t>(slot); }
  uid_t inside(std::size_t slot) const { return kGuestUid + static_cast<uid_t>(slot); }
};

// What this process can give. `key` is a folder: houses with different folders get different ranges, as far
// as there are enough.
Uids choose_uids(std::size_t guests, const std::filesystem::path& key);

// Writes the uid and gid maps of a process that is in a new user namespace. Throws std::system_error.
void map_uids(pid_t process, const Uids& uids);

}  // namespace remotist::volunteer
