// What the examples share: a heading, and the check that a result is where theory puts it.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "noisefloor/base/result.h"

namespace noisefloor::example {

inline void heading(std::string_view title, std::string_view source) {
  fmt::print("\n{}\n{:=<{}}\n{}\n\n", title, "", title.size(), source);
}

// The value of a result; prints the error and ends the program otherwise.
template <class T>
T must(Result<T> result) {
  if (result.has_value()) return std::move(result).value();
  fmt::print(stderr, "{}\n", result.error().message);
  std::exit(exit_code(result.error().code));
}

// Collects whether all results are in range, for the exit code.
class Expectations {
 public:
  void between(std::string_view what, double value, double low, double high) {
    if (value >= low && value <= high) return;
    fmt::print(stderr, "out of range: {} is {}, expected {} to {}\n", what, value, low, high);
    failed_ = true;
  }
  [[nodiscard]] int exit_code() const { return failed_ ? EXIT_FAILURE : EXIT_SUCCESS; }

 private:
  bool failed_ = false;
};

}  // namespace noisefloor::example
