// Copies of an image that still show what it shows: moved by a few pixels, mirrored.
//
// Implements:    augmentation multiplicity (De et al. 2022): an example's gradient is the mean over its copies, which is clipped
//                once. It costs time, and no privacy.
// Guarantee:     a copy depends on its own image and on random bits alone.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "noisefloor/lanes/layers.h"

namespace noisefloor {

struct Augmentation {
  std::size_t copies = 1;  // of each example in each step
  std::size_t shift = 0;   // at most so many pixels up, down, left and right; what comes in is 0
  bool mirror = false;     // left and right are exchanged in every second copy, at random

  [[nodiscard]] bool is_none() const { return copies == 1 && shift == 0 && !mirror; }
};

// One copy, by the bits of `word`.
void augment(std::span<const float> image, const lanes::Shape& shape, const Augmentation& how, std::uint32_t word,
             std::span<float> copy);

}  // namespace noisefloor
