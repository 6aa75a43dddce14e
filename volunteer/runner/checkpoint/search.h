// Finds the environments that can be reached from the variables of namespaces, and the path to each.
// Evaluates nothing, except, on request, variables of a package that have not been loaded from its file yet.
//
// R's thread. Invariants: environments_[i] is reached by paths_[i]; each environment is found once, and its
// path begins at a root or at an environment found before it; pending_ is empty between calls. A search does
// not protect what it finds: it lives as long as the packages do.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "volunteer/runner/checkpoint/native.h"

namespace remotist::volunteer::checkpoint {

// The first character of a step; a name or an index from 1 follows.
constexpr char kNamespace = ':';
constexpr char kAttached = '>';
constexpr char kVariable = '$';
constexpr char kElement = '[';
constexpr char kAttribute = '@';
constexpr char kActive = '=';   // the function of an active binding
constexpr char kAround = '(';   // the environment of a function
constexpr char kParent = '^';   // the parent of an environment
constexpr char kPromise = '~';  // the environment of a promise

// R's own variables about classes, generics and methods in a namespace, which session.R saves.
bool is_class_metadata(SEXP symbol);
// The value of a forced promise; anything else, also an unforced promise, as it is.
SEXP forced_value(SEXP x);
SEXP value_of(SEXP environment, SEXP symbol);
bool is_active(SEXP environment, SEXP symbol);

template <class Each>
void each_variable(SEXP env, Each each) {
  const Protected names(variables_in(env));
  for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) each(Rf_installTrChar(STRING_ELT(names, i)));
}

class Search {
 public:
  // Environments in `known` are not entered.
  explicit Search(SEXP known);

  // Variables that have not been loaded from the package's file yet are left out unless `all`.
  void add_namespace(SEXP space, const char* name, bool all = false);
  void add_variable(SEXP space, const char* name, const char* variable);
  void add_attached(SEXP env, const char* name);
  // Follows paths through environments; call it after the paths that lead through none.
  void enter_environments();

  [[nodiscard]] const std::vector<SEXP>& environments() const { return environments_; }
  [[nodiscard]] bool has_pointers() const { return has_pointers_; }
  [[nodiscard]] bool has_pointers_in_environments() const { return has_pointers_in_environments_; }
  // The number of the environment at which the path begins, its index + 1; 0: it begins at a root.
  [[nodiscard]] int from_of(std::size_t i) const { return paths_[i].from; }
  [[nodiscard]] std::vector<std::string> steps_of(std::size_t i) const;

 private:
  static constexpr int kNone = -1;
  struct Step {
    int before;
    std::string text;
  };
  struct Path {
    int from;
    int last;
  };
  struct Item {
    SEXP x;
    Path path;
  };

  int step(int before, char kind, std::string_view what = {});
  void push(SEXP object, Path path, char kind, std::string_view what = {});
  void enter_pending();
  void enter(SEXP x, Path path);
  void enter_environment(SEXP x, Path path);
  void enter_attributes(SEXP x, Path path);

  std::vector<Step> steps_;
  std::vector<SEXP> environments_;
  std::vector<Path> paths_;
  bool has_pointers_ = false;
  bool has_pointers_in_environments_ = false;
  std::unordered_set<SEXP> seen_;
  std::vector<Item> pending_;
};

}  // namespace remotist::volunteer::checkpoint
