// The uids of a zygote and its guests.
//
// As root: a user namespace that maps a range of otherwise unused uids of this machine, one for the zygote
// and one for each guest. Otherwise, or where this process's own namespace has too few uids: a user namespace
// with this user's uid only, and a nested one for each guest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <sys/types.h>

namespace remotist::volunteer {

inline constexpr uid_t kGuestUid = 1000;  // of the first guest, in the user namespace

struct Uids {
  bool range = false;  // a uid for each guest; else all have this user's
  uid_t zygote = 0;    // on the host; those of the guests follow it
  gid_t zygote_group = 0;
  std::size_t guests = 0;

  // With range: the uid with an index on the host and in the user namespace.
  uid_t host_uid(std::size_t index) const { return zygote + 1 + static_cast<uid_t>(index); }
  uid_t guest_uid(std::size_t index) const { return kGuestUid + static_cast<uid_t>(index); }
};

// What this process may use for so many guests. `key` is a folder: different folders mostly get different
// ranges, so that the guests of two agents do not share uids.
Uids choose_uids(std::size_t guests, const std::filesystem::path& key);

// Writes the uid and gid maps of a process that is in a new user namespace. Throws std::system_error.
void map_uids(pid_t process, const Uids& uids);

}  // namespace remotist::volunteer
