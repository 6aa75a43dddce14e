#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer {

std::string_view name_of(Ending ending) {
  switch (ending) {
    case Ending::completed:
      return "completed";
    case Ending::r_error:
      return "r_error";
    case Ending::cancelled:
      return "cancelled";
    case Ending::limit:
      return "limit";
    case Ending::killed:
      return "killed";
    case Ending::sandbox_failure:
      return "sandbox_failure";
  }
  return "unknown";
}

std::string_view name_of(Limit limit) {
  switch (limit) {
    case Limit::cpu:
      return "cpu";
    case Limit::ram:
      return "ram";
    case Limit::disc:
      return "disc";
    case Limit::inodes:
      return "inodes";
    case Limit::frames:
      return "frames";
  }
  return "unknown";
}

}  // namespace remotist::volunteer
