// The table of hostile guests, one misbehaviour each. Their scripts are in scripts/, their programs in
// programs/.
#pragma once

#include <string_view>
#include <vector>

#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer::cases {

enum class Group { files, network, resources, kernel, processes, protocol, r };
std::string_view name_of(Group group);

// What a case does with every protection off.
enum class Unguarded {
  escapes,
  kernel_may_refuse,  // escapes, unless this kernel or the guard refuses it to every process
  held_by_host,       // contained by the host's own code, which has no switch: see `why`
};

struct Case {
  std::string_view key;
  Group group;
  std::string_view script;        // scripts/<script>.R
  std::string_view program = {};  // programs/<program>.c, built as a shared object, present as program.so
  std::vector<std::string_view> endings = {"completed"};  // one of them; "limit:ram" for a limit
  GuestLimits limits = {};
  bool cancel = false;  // stopped once it has printed "trying: "
  Unguarded unguarded = Unguarded::escapes;
  std::string_view why = {};
  bool needs_real_root = false;   // with protections off only real root can do it; harmless
  bool beside_neighbour = false;  // needs the neighbour
  bool ends_everything = false;   // with protections off it kills the test: runs alone
};

const std::vector<Case>& all_cases();
// Throws std::out_of_range.
const Case& case_of(std::string_view key);

}  // namespace remotist::volunteer::cases
