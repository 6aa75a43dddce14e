// A progress callback of libcurl that aborts the transfer when an atomic flag is set.
#pragma once

#include <atomic>
#include <curl/curl.h>

namespace remotist::volunteer {

// `stopping` points to the std::atomic<bool>.
inline int ends_early(void* stopping, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(stopping)->load() ? 1 : 0;
}

}  // namespace remotist::volunteer
