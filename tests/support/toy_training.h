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

// The same training file, which declares its rows public.
inline std::string declared_public(std::string toml) {
  const std::string section = "[data]\n";
  return toml.insert(toml.find(section) + section.size(), "public = true\n");
}

// 200 images in the format of MNIST: 0 or 1 by which half is bright.
struct ToyImages {
  std::string images;
  std::string labels;
};
inline ToyImages toy_images(int side) {
  const auto big_endian = [](int x) {
    return std::string{'\0', '\0', static_cast<char>(x >> 8), static_cast<char>(x)};
  };
  ToyImages made{big_endian(0x0803) + big_endian(200) + big_endian(side) + big_endian(side),
                 big_endian(0x0801) + big_endian(200)};
  for (int i = 0; i < 200; ++i) {
    for (int p = 0; p < side * side; ++p) {
      const bool bright = (2 * p < side * side) == (i % 2 == 0);
      made.images += static_cast<char>(bright ? 200 : 10 + i % 40);
    }
    made.labels += static_cast<char>(i % 2);
  }
  return made;
}

// Of the files "images" and "labels".
inline std::string toy_images_toml(const std::string& model, const std::string& training) {
  return R"(name = "images"
[budget]
epsilon = 8.0
delta = 1e-4
[data]
format = "idx"
train = "images"
train_labels = "labels"
rows = 200
test_fraction = 0.2
classes = 2
[model]
)" + model +
         "\n[training]\nbatch_size = 50\nsteps = 30\nclip_norm = 1.0\nlearning_rate = 1.0\n" + training;
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
rows = 2000
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
