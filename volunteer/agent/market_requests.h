// What the transfers of an attempt have in common: its credentials, its requests to the market, and how they
// fail. Blocking; run with BackgroundCalls.
#pragma once

#include <cerrno>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/chunk.h"
#include "core/json.h"
#include "core/protocol.h"
#include "volunteer/agent/attempts.h"
#include "volunteer/connection/rest.h"

namespace remotist::volunteer {

// Authorises a request on behalf of an attempt.
struct AttemptCredentials {
  std::string machine_token;
  protocol::AttemptKey attempt;

  std::vector<std::string> headers() const;
  // With the type of a JSON body.
  std::vector<std::string> json_headers() const;
};

// Thrown inside a transfer; caught by fault_of().
struct TransferError {
  TransferFault fault;
};

// Throw TransferError.
RestAnswer require_success(RestAnswer answer);
nlohmann::json json_of_answer(const std::string& body);

// Runs a transfer and returns its fault, if any.
template <class Work>
TransferFault fault_of(Work work) {
  try {
    work();
    return {};
  } catch (const TransferError& error) {
    return error.fault;
  } catch (const std::system_error& fault) {
    const bool is_full = fault.code() == std::errc::no_space_on_device || fault.code() == std::errc{EDQUOT};
    return {is_full ? "disk_full" : "no_file", fault.what()};
  } catch (const std::exception& fault) {
    return {"damaged", fault.what()};
  }
}

// A chunk of the job as the market sent it.
struct FetchedChunk {
  std::string frame;
  std::string bytes;
  bool is_intact = false;  // the bytes are those of its name
};
FetchedChunk fetch_chunk(Rest& rest, const AttemptCredentials& credentials, const ChunkName& name);

// Of these chunks those that the market does not have. `query` is appended to the path.
std::set<std::string> missing_chunks(Rest& rest, const AttemptCredentials& credentials,
                                     const std::vector<std::string>& names, std::string_view query = {});
void put_chunk(Rest& rest, const AttemptCredentials& credentials, const std::string& name,
               std::string_view frame, std::string_view query = {});

}  // namespace remotist::volunteer
