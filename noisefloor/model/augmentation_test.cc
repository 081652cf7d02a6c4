#include "noisefloor/model/augmentation.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <vector>

#include "noisefloor/random/bit_stream.h"

namespace noisefloor {
namespace {

constexpr lanes::Shape kShape{2, 3, 4};

std::vector<float> picture() {
  std::vector<float> image(kShape.size());
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i + 1);
  return image;
}

std::vector<float> copy_of(const Augmentation& how, std::uint32_t word) {
  std::vector<float> copy(kShape.size(), -1.0F);
  augment(picture(), kShape, how, word, copy);
  return copy;
}

TEST(Augmentation, ReturnsTheImageIfThereIsNothingToDo) {
  for (const std::uint32_t word : {0U, 1U, 0xFFFFFFFFU}) EXPECT_EQ(copy_of({.copies = 3}, word), picture());
}

TEST(Augmentation, MirrorsHalfOfTheTime) {
  const std::vector<float> mirrored = copy_of({.mirror = true}, 1);
  for (std::size_t c = 0; c < 2; ++c) {
    for (std::size_t y = 0; y < 3; ++y) {
      for (std::size_t x = 0; x < 4; ++x) {
        EXPECT_EQ(mirrored[(c * 3 + y) * 4 + x], picture()[(c * 3 + y) * 4 + 3 - x]);
      }
    }
  }
  EXPECT_EQ(copy_of({.mirror = true}, 0), picture());
}

// Every place occurs about as often as any other, and shows the image from there with zeros around.
TEST(Augmentation, MovesEverywhereWithinItsReach) {
  ReplayRandom random = ReplayRandom::create(3).value();
  const Augmentation how{.shift = 1};
  std::map<std::array<int, 2>, int> seen;
  constexpr int kDraws = 9000;
  for (int i = 0; i < kDraws; ++i) {
    const std::vector<float> copy = copy_of(how, random.next_u32());
    int matches = 0;
    for (int down = -1; down <= 1; ++down) {
      for (int right = -1; right <= 1; ++right) {
        bool same = true;
        for (int y = 0; y < 3; ++y) {
          for (int x = 0; x < 4; ++x) {
            const bool inside = y - down >= 0 && y - down < 3 && x - right >= 0 && x - right < 4;
            const float expected = inside ? picture()[static_cast<std::size_t>((y - down) * 4 + x - right)] : 0.0F;
            same = same && copy[static_cast<std::size_t>(y * 4 + x)] == expected;
          }
        }
        if (!same) continue;
        ++matches;
        ++seen[{down, right}];
      }
    }
    ASSERT_EQ(matches, 1);
  }
  ASSERT_EQ(seen.size(), 9U);
  // A count of 1000 has a standard deviation of 30; the tolerance is 6 of them (α = 2e-9 each).
  for (const auto& [place, count] : seen) EXPECT_NEAR(count, kDraws / 9, 180);
}

}  // namespace
}  // namespace noisefloor
