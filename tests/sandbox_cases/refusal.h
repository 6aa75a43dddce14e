// Simulates a machine that refuses some system calls.
#pragma once

#include <cerrno>
#include <cstdint>
#include <seccomp.h>
#include <stdexcept>
#include <sys/syscall.h>
#include <vector>

namespace remotist::volunteer::cases {

// A seccomp filter for this process and its children; begin() applies it.
class Refusal {
 public:
  Refusal() : filter_{seccomp_init(SCMP_ACT_ALLOW)} { call(SYS_clone3, ENOSYS); }
  void call(int number, int error = EPERM) { add(number, error, {}); }
  void when(int number, unsigned argument, std::uint64_t mask, std::uint64_t value) {
    add(number, EPERM, {scmp_arg_cmp{argument, SCMP_CMP_MASKED_EQ, mask, value}});
  }
  void begin() {
    if (seccomp_load(filter_) != 0) throw std::runtime_error{"seccomp_load"};
  }

 private:
  void add(int number, int error, const std::vector<scmp_arg_cmp>& when) {
    if (seccomp_rule_add_array(filter_, SCMP_ACT_ERRNO(static_cast<unsigned>(error)), number,
                               static_cast<unsigned>(when.size()), when.data()) != 0)
      throw std::runtime_error{"seccomp_rule_add"};
  }

  scmp_filter_ctx filter_;
};

}  // namespace remotist::volunteer::cases
