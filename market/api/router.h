// Finds the route of a path. Exact parts and {values} only, no patterns: a look-up is a walk over the path's
// parts.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace remotist::market {

class Router {
 public:
  // `path` like "/job/{id}/code"; `route` is the caller's own number. Requires that no two routes collide.
  void add(std::string_view method, std::string_view path, std::size_t route);

  struct Match {
    std::optional<std::size_t> route;  // empty: the path exists, the method does not
    std::vector<std::string> values;
    std::string allowed;  // "GET, PUT": the methods of this path
  };
  // Takes the path as it came, with its %…: a value may have a slash of its own (%2F). Empty when there is no
  // such path, or a value is not text. "/job" and "/job/" are the same; "//" is not "/".
  std::optional<Match> find(std::string_view method, std::string_view path) const;

 private:
  struct Node {
    std::map<std::string, std::unique_ptr<Node>, std::less<>> exact;
    std::unique_ptr<Node> value;
    std::map<std::string, std::size_t, std::less<>> methods;
  };
  Node root_;
};

}  // namespace remotist::market
