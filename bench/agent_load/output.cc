#include "bench/agent_load/output.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "core/digest.h"

namespace remotist::bench {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie in memory");

std::uint64_t next(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

std::string result_of(const protocol::AttemptName& attempt, std::size_t bytes) {
  std::string result = attempt.job.text() + " " + std::to_string(attempt.number) + "\n";
  std::uint64_t state = 0;
  std::memcpy(&state, sha256(result).data(), sizeof state);
  std::size_t at = result.size();
  result.resize(std::max(bytes, at));
  while (at < bytes) {
    const std::uint64_t number = next(state);
    const auto take = std::min(sizeof number, bytes - at);
    std::memcpy(result.data() + at, &number, take);
    at += take;
  }
  result.resize(bytes);
  return result;
}

}  // namespace remotist::bench
