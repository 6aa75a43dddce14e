// Request and reply types of handlers.
#pragma once

#include <drogon/HttpRequest.h>
#include <drogon/utils/coroutine.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/id.h"
#include "core/json.h"
#include "core/result.h"

namespace remotist::market {

struct Request {
  drogon::HttpRequestPtr http;
  RequestId id;
  // The values of {…} in the route's path, in order.
  std::vector<std::string> path_values;
  // Digest of the bearer token, or empty when there is none. The token itself is not kept.
  std::string token_hash;
  std::string client_address;  // as a trusted proxy reports it, else the socket's
  bool from_this_machine = false;
};

struct Reply {
  int status = 200;
  std::string body;
  std::string media_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;

  Reply with_header(std::string name, std::string value) && {
    headers.emplace_back(std::move(name), std::move(value));
    return std::move(*this);
  }
  static Reply nothing() { return Reply{204, {}, {}, {}}; }
  static Reply json(const nlohmann::json& document, int http_status = 200) {
    return Reply{http_status, document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), {}, {}}
        .as("application/json");
  }
  Reply as(std::string type) && {
    media_type = std::move(type);
    return std::move(*this);
  }
};

using Answer = drogon::Task<Result<Reply>>;

}  // namespace remotist::market
