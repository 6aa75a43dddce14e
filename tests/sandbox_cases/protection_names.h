// The switches of Protections by name, for tables and command lines.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "volunteer/sandbox/protections.h"

namespace remotist::volunteer::cases {

inline constexpr std::array<std::pair<std::string_view, bool Protections::*>, 13> kProtections{{
    {"own_root", &Protections::own_root},
    {"own_inodes", &Protections::own_inodes},
    {"own_processes", &Protections::own_processes},
    {"own_network", &Protections::own_network},
    {"own_ipc", &Protections::own_ipc},
    {"own_time", &Protections::own_time},
    {"own_uid", &Protections::own_uid},
    {"no_privileges", &Protections::no_privileges},
    {"seccomp", &Protections::seccomp},
    {"rlimits", &Protections::rlimits},
    {"cgroup", &Protections::cgroup},
    {"disc_limit", &Protections::disc_limit},
    {"frame_budget", &Protections::frame_budget},
}};
static_assert(sizeof(Protections) == kProtections.size(), "a switch is missing here");

}  // namespace remotist::volunteer::cases
