// Goes over all that variables of namespaces lead to, without evaluating anything but, on request, variables
// that nobody asked for yet. Finds environments, and by which steps they are reached.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "volunteer/runner/checkpoint/native.h"

namespace remotist::volunteer::checkpoint {

// The first character of a step; behind it the name of what, or its index from 1.
constexpr char kNamespace = ':';
constexpr char kAttached = '>';
constexpr char kVariable = '$';
constexpr char kElement = '[';
constexpr char kAttribute = '@';
constexpr char kActive = '=';   // the function of an active binding
constexpr char kAround = '(';   // the environment of a function
constexpr char kParent = '^';   // or of an environment
constexpr char kPromise = '~';  // or of a promise

// What R keeps in a namespace of its classes, generics and methods is cared for elsewhere.
bool is_of_r(SEXP symbol);
// What is behind a promise, but the promise itself as long as nobody asked for it.
SEXP behind(SEXP x);
SEXP value_of(SEXP environment, SEXP symbol);
bool is_active(SEXP environment, SEXP symbol);

template <class Each>
void each_variable(SEXP env, Each each) {
  const Kept names(variables_in(env));
  for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) each(Rf_installTrChar(STRING_ELT(names, i)));
}

class Search {
 public:
  // The known environments are not entered.
  explicit Search(SEXP known);

  // What nobody asked for yet is as the package's file has it, and left out unless `all`.
  void from_namespace(SEXP space, const char* name, bool all = false);
  void from_variable(SEXP space, const char* name, const char* variable);
  void from_attached(SEXP env, const char* name);
  // After all that do not lead through an environment.
  void through_environments();

  [[nodiscard]] const std::vector<SEXP>& environments() const { return environments_; }
  [[nodiscard]] bool has_pointers() const { return has_pointers_; }
  [[nodiscard]] bool has_pointers_in_environments() const { return has_pointers_in_environments_; }
  // From which environment, by its number, which is its place behind 0; 0: from none.
  [[nodiscard]] int from_of(std::size_t i) const { return ways_[i].from; }
  [[nodiscard]] std::vector<std::string> steps_of(std::size_t i) const;

 private:
  static constexpr int kNone = -1;
  struct Step {
    int before;
    std::string text;
  };
  struct Way {
    int from;
    int last;
  };
  struct Item {
    SEXP x;
    Way way;
  };

  int step(int before, char kind, std::string_view what = {});
  void push(SEXP object, Way way, char kind, std::string_view what = {});
  void go_on();
  void enter(SEXP x, Way way);
  void enter_environment(SEXP x, Way way);
  void enter_attributes(SEXP x, Way way);

  std::vector<Step> steps_;
  std::vector<SEXP> environments_;
  std::vector<Way> ways_;
  bool has_pointers_ = false;
  bool has_pointers_in_environments_ = false;
  std::unordered_set<SEXP> seen_;
  std::vector<Item> todo_;
};

}  // namespace remotist::volunteer::checkpoint
