// A small table that anything can learn, and its training file.
#pragma once

#include <cmath>
#include <string>

namespace noisefloor::testing {

inline std::string toy_table() {
  std::string table = "x,y,kind\n";
  for (int i = 0; i < 2000; ++i) {
    const double x = std::sin(i * 12.9898);
    const double y = std::sin(i * 78.233 + 1);
    table += std::to_string(x) + "," + std::to_string(y) + "," + (x + y > 0 ? "yes" : "no") + "\n";
  }
  return table;
}

// Of data.csv, with `more` at the end, which is [training].
inline std::string toy_toml(const std::string& more = "steps = 40\n") {
  return R"(name = "toy"
[budget]
epsilon = 2.0
delta = 1e-5
[data]
format = "csv"
train = "data.csv"
test_fraction = 0.2
label = "kind"
classes = ["no", "yes"]
[[data.column]]
name = "x"
lower = -1
upper = 1
[[data.column]]
name = "y"
lower = -1
upper = 1
[model]
kind = "logistic"
[training]
batch_size = 200
clip_norm = 1.0
learning_rate = 2.0
)" + more;
}

}  // namespace noisefloor::testing
