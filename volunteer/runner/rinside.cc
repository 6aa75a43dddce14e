#include "volunteer/runner/rinside.h"

#include <RInside.h>
#include <cstdlib>

namespace remotist::volunteer {

void start_rinside() {
  static const char* const arguments[] = {"remotist-runner"};
  // Never deleted: its destructor would end R, which runs a shell.
  [[maybe_unused]] static auto* const r = new RInside(1, arguments, false, false, false);
  // Set from the environment in which RInside was built.
  for (const char* name : {"R_INSTALL_PKG", "R_PACKAGE_NAME", "R_LIBS_USER", "R_CMD", "R_DEFAULT_PACKAGES",
                           "R_VERSION", "R_OSTYPE", "R_SESSION_TMPDIR"}) {
    ::unsetenv(name);
  }
}

}  // namespace remotist::volunteer
