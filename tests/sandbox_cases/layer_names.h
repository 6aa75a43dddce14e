// The switches of Layers by their names, for tables and command lines.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "volunteer/sandbox/layers.h"

namespace remotist::volunteer::cases {

inline constexpr std::array<std::pair<std::string_view, bool Layers::*>, 13> kLayers{{
    {"own_root", &Layers::own_root},
    {"own_inodes", &Layers::own_inodes},
    {"own_processes", &Layers::own_processes},
    {"own_network", &Layers::own_network},
    {"own_ipc", &Layers::own_ipc},
    {"own_time", &Layers::own_time},
    {"own_uid", &Layers::own_uid},
    {"no_privileges", &Layers::no_privileges},
    {"seccomp", &Layers::seccomp},
    {"rlimits", &Layers::rlimits},
    {"cgroup", &Layers::cgroup},
    {"disc_limit", &Layers::disc_limit},
    {"frame_budget", &Layers::frame_budget},
}};
static_assert(sizeof(Layers) == kLayers.size(), "a switch is missing here");

}  // namespace remotist::volunteer::cases
