// The hostile guests: a table of them, each one misbehaviour. Scripts stand in scripts/, programs in
// programs/.
#pragma once

#include <string_view>
#include <vector>

#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer::cases {

enum class Group { files, network, resources, kernel, processes, protocol, r };
std::string_view name_of(Group group);

// What happens with every layer of the sandbox off.
enum class Unguarded {
  escapes,
  kernel_may_refuse,  // escapes, unless this kernel or the guard refuses it to everybody
  held_by_host,       // no layer but the host's own code holds it: `why` says which
};

struct Case {
  std::string_view key;
  Group group;
  std::string_view script;        // scripts/<script>.R
  std::string_view program = {};  // programs/<program>.c, built as a shared object; brought as program.so
  std::vector<std::string_view> endings = {"completed"};  // one of them; "limit:ram" for a limit
  GuestLimits limits = {};
  bool cancel = false;  // stopped as soon as it has said what it tries
  Unguarded unguarded = Unguarded::escapes;
  std::string_view why = {};
  bool needs_real_root = false;   // unguarded only root of the real machine can do it; it does no harm there
  bool beside_neighbour = false;  // about a guest that runs beside it
  bool ends_everything = false;   // unguarded it takes the test with it: runs alone
};

const std::vector<Case>& all_cases();
// Throws std::out_of_range.
const Case& case_of(std::string_view key);

}  // namespace remotist::volunteer::cases
