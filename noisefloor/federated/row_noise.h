// Noise inside a sum over sites that protects single rows: each row's clipped gradient is rounded to a public grid by
// itself, each site adds its rows and a share of integer noise, and only the sum over sites is opened.
//
// Guarantee:     one row moves the sum by at most bound() steps (L2), whatever its gradient is. The sum of n survivors,
//                of whom at most `colluders` leave their noise out, is what event(n) says: n − colluders discrete
//                Gaussians on integers that one row moves by that much. It protects a row against everyone who sees no
//                more than the sum and the colluders' own vectors, the coordinator included: so what opens the sum must
//                be a secure sum (secagg/). Against someone who sees a site's vector, that site's share alone protects.
//                Sums are modulo 2^kLaneBits, which costs no privacy. A sum is right if no coordinate leaves the range;
//                create() takes the finest grid with which the longest sum of all rows, and noise of twelve standard
//                deviations, stay within it.
// Never:         a site's float sum is not rounded instead: neighbours would then differ by rounding in every
//                coordinate.
// Implements:    Kairouz, Liu, Steinke 2021 (sums of discrete Gaussians), with rows in place of clients.
// Neighbours:    a row of one site is there or not (add-remove).
// Thread safety: const after creation; add_share() needs a stream of the caller's own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/random/discrete_gaussian.h"
#include "noisefloor/sgd/gradient_grid.h"

namespace noisefloor::federated {

struct RowNoiseOptions {
  ClipNorm clip;  // of a row's gradient
  // Standard deviation of the sum's noise over the clip norm, with the fewest survivors and without the colluders.
  NoiseMultiplier noise;
  std::size_t parameters = 0;
  std::uint64_t rows = 0;               // of all sites together, as a public number
  std::uint32_t sites = 1;              // at most
  std::uint32_t minimum_survivors = 1;  // fewer: nothing is opened
  std::uint32_t colluders = 0;          // below minimum_survivors
  friend bool operator==(const RowNoiseOptions&, const RowNoiseOptions&) = default;
};

class RowNoise {
 public:
  // Whole numbers of this many bits are exact in the floats of an upload.
  static constexpr int kLaneBits = 24;
  static constexpr float kLaneUnit = 0x1p-8F;  // a step, as a lane has it: within the range of exact_sum.h
  // A coarser grid would make the bound, and the noise, much larger than the clip norm.
  static constexpr int kLeastBits = 6;

  // Fails if the lanes are too few for so many rows and so much noise.
  [[nodiscard]] static Result<RowNoise> create(const RowNoiseOptions& options);

  [[nodiscard]] const GradientGrid& grid() const { return grid_; }
  [[nodiscard]] double bound() const { return grid_.bound(); }
  [[nodiscard]] double share_sigma() const { return share_.sigma().value(); }  // in steps

  // Adds one site's share of the noise to its sum of rounded gradients. Once for each sum: the caller has paid.
  void add_share(BitStream& stream, std::span<std::int64_t> sum) const;
  // A site's lanes: its sum modulo 2^kLaneBits, each step being kLaneUnit.
  [[nodiscard]] std::vector<float> lanes_of(std::span<const std::int64_t> sum) const;
  // The sum of gradients, from the sum of lanes.
  [[nodiscard]] std::vector<double> decode(std::span<const double> lanes) const;

  // The event of opening the sum of so many survivors; no statement for fewer than the minimum.
  [[nodiscard]] Result<DpEvent> event(std::uint32_t survivors) const;

 private:
  RowNoise(const RowNoiseOptions& options, GradientGrid grid, DiscreteGaussian share)
      : options_(options), grid_(grid), share_(std::move(share)) {}

  RowNoiseOptions options_;
  GradientGrid grid_;
  DiscreteGaussian share_;
};

}  // namespace noisefloor::federated
