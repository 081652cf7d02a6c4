// Copies of an image that still show the same thing: moved by a few pixels, mirrored.
//
// Implements:    augmentation multiplicity (De et al. 2022): an example's gradient is the mean over its copies, which
//                is clipped once. It costs time, and no privacy.
// Guarantee:     a copy depends only on its own image and on random bits.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "noisefloor/lanes/layers.h"

namespace noisefloor {

struct Augmentation {
  std::size_t copies = 1;  // copies of each example in each step
  std::size_t shift = 0;   // moves by at most this many pixels up, down, left and right; new pixels are 0
  bool mirror = false;     // exchanges left and right in every second copy, at random

  [[nodiscard]] bool is_none() const { return copies == 1 && shift == 0 && !mirror; }
};

// Makes one copy, by the bits of `word`.
void augment(std::span<const float> image, const lanes::Shape& shape, const Augmentation& how, std::uint32_t word,
             std::span<float> copy);

}  // namespace noisefloor
