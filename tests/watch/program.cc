#include "tests/watch/program.h"

#include <array>
#include <format>
#include <initializer_list>
#include <random>
#include <string_view>

namespace remotist::volunteer::watched {

namespace {

// Always a number each. None is called c: `c <<- 1` at the top level would be an error, as R's own c is
// meant.
constexpr std::array kNumbers{"a", "b", "d"};
constexpr int kDepthMax = 3;

class Program {
 public:
  explicit Program(std::uint64_t seed) : chance_(seed) {}

  std::string all() {
    std::string text =
        "a <- 1; b <- 2; d <- 3; l <- list(k = 1, m = list(n = 2)); v <- c(1, 2, 3); e <- new.env(); e$z <- "
        "0\n"
        "left <- new.env(); left$calls <- 200\n";
    for (int i = 0; i < 3; ++i) text += function(i);
    const int statements = 6 + die(10);
    for (int i = 0; i < statements; ++i) text += statement(0, true) + "\n";
    return text + "print(list(a, b, d, l, v, e$z))\n" + (die(8) == 0 ? "stop('at the end ', a)\n" : "");
  }

 private:
  int die(int sides) { return std::uniform_int_distribution<int>{0, sides - 1}(chance_); }
  std::string_view one_of(std::initializer_list<std::string_view> all) {
    return all.begin()[die(static_cast<int>(all.size()))];
  }
  std::string number() { return kNumbers[static_cast<std::size_t>(die(3))]; }

  // Values stay small: sums and products are taken modulo.
  std::string expression(int depth) {
    if (depth >= kDepthMax) return die(2) == 0 ? number() : std::to_string(die(9) + 1);
    const auto deeper = [&] { return expression(depth + 1); };
    switch (die(14)) {
      case 0:
        return std::format("({} + {}) %% 97", deeper(), deeper());
      case 1:
        return std::format("({} * {}) %% 89", deeper(), deeper());
      case 2:
        return std::format("max({}, {})", deeper(), deeper());
      case 3:
        return std::format("(if ({} > {}) {} else {})", deeper(), deeper(), deeper(), deeper());
      case 4:
        return std::format("sum(vapply(1:3, function(i) i + {}, 0)) %% 83", deeper());
      case 5:
        return "v[2]";
      case 6:
        return "l$k";
      case 7:
        return "e$z";
      case 8:
        return std::format("f{}({})", die(3), deeper());
      case 9:
        return std::format("({} <- {})", number(), deeper());
      case 10:
        return std::format("local({{ a <- {}; a + 1 }})", deeper());
      case 11:
        return std::format("tryCatch({{ if ({} > 40) stop('x'); {} }}, error = function(err) {})", deeper(),
                           deeper(), deeper());
      case 12:
        return std::format("(function(p = {}) p %% 7)()", deeper());
      default:
        return number();
    }
  }

  std::string statement(int depth, bool global) {
    const auto value = expression(1);
    const auto op =
        std::string(global ? one_of({" <- ", " = ", " <<- "}) : one_of({" <- ", " <<- ", " <<- "}));
    const auto body = [&] { return depth >= 2 ? number() + op + value : statement(depth + 1, global); };
    switch (die(20)) {
      case 0:
        return std::format("v[{}]{}{}", die(4) + 1, op, value);
      case 1:
        return std::format("l$k{}{}", op, value);
      case 2:
        return std::format("l$m$n{}l$m$n + 1", op);
      case 3:
        return std::format("names(v){}letters[seq_along(v)]", op);
      case 4:
        return std::format("assign('{}', {}, envir = globalenv())", number(), value);
      case 5:
        return std::format("for (i in 1:{}) {{ {}; {} }}", die(4) + 1, body(), body());
      case 6:
        return std::format("if ({} > {}) {{ {} }} else {{ {} }}", value, expression(2), body(), body());
      case 7:
        return std::format("e$z <- {}", value);
      case 8:
        return std::format("print({})", value);
      case 9:
        return std::format("eval(quote({{ {}; {} }}))", body(), body());
      case 10:
        return std::format("invisible(lapply(1:2, function(i) {} <<- {}))", number(), value);
      case 11:
        return std::format("k{0} <- 0; while (k{0} < {1}) {{ k{0} <- k{0} + 1; {2} }}", depth, die(4),
                           body());
      case 12:
        return std::format("eval(parse(text = '{} <- {}'))", number(), die(50));
      case 13:
        return std::format("with(list(q = {}), {{ {} <<- q }})", value, number());
      case 14:
        return std::format("try({{ {}; if (a > 60) stop('enough') }}, silent = TRUE)", body());
      case 15:
        return std::format(
            "withCallingHandlers({{ {}; warning('w') }}, warning = function(w) {{ b <<- {}; "
            "invokeRestart('muffleWarning') }})",
            body(), value);
      case 16:
        return std::format("f{}({})", die(3), value);
      case 17:
        return std::format("if (a > 70) warning('a is ', a)");
      default:
        return number() + op + value;
    }
  }

  // A function may call any other: how often in all is bounded, so that the program ends.
  std::string function(int number_of) {
    return std::format(
        "f{} <- function(x, ...) {{\n  if (left$calls < 1) return(1)\n  left$calls <- left$calls - 1\n"
        "  y <- x; {}; {}; {} <<- (y + 1) %% 79; (y + {}) %% 71\n}}\n",
        number_of, statement(1, false), statement(1, false), number(), expression(2));
  }

  std::mt19937_64 chance_;
};

}  // namespace

std::string random_program(std::uint64_t seed) {
  return Program{seed}.all();
}

}  // namespace remotist::volunteer::watched
