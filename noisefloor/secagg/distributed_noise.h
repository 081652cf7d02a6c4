// Differential privacy inside a secure sum: every client adds a share of integer noise to its rounded vector before
// masking.
//
// clip to length c → rotate (rotation.h) → divide by γ → round at random, until the length is within bounds → add noise
// → modulo 2^bits
//
// Guarantee:     the sum of the vectors of n survivors, of whom k collude with whoever sees it and leave their noise
//                out, is what statement(n) says: n − k shares of noise on integers that one client moves by at most l2
//                and l1. With too few survivors there is no statement, and nothing may be released. The bounds hold for
//                the integers themselves, which are measured after rounding: no rounding of floating-point numbers can
//                break them. Reducing modulo 2^bits costs no privacy. The sum leaves the modulus' range, and then the
//                answer is wrong, with probability at most 2^log2_wrap.
// Neighbours:    a client contributes its vector or zeros; it adds noise either way (add-remove of its data).
// Implements:    Kairouz, Liu, Steinke 2021, "The Distributed Discrete Gaussian Mechanism for Federated Learning with
//                Secure Aggregation"; Agarwal, Kairouz, Liu 2021, "The Skellam Mechanism for Differentially Private
//                Federated Learning".
// Sensitivity:   l2² = min{(c + γ√d)², c² + γ²d/4 + √(2 ln 1/β)·γ·(c + γ√d/2)}/γ²; a rounding is longer with
//                probability at most β, and is drawn again. l1 ≤ l2·min(√d, l2), for integers.
// Replay:        a ReplayRandom cannot stand in for a SecureRandom: only a ReplayedNoise takes one, and it has no
//                statement.
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/random/discrete_gaussian.h"
#include "noisefloor/random/skellam.h"
#include "noisefloor/secagg/lane_vector.h"
#include "noisefloor/secagg/rotation.h"

namespace noisefloor::secagg {

enum class NoiseLaw : std::uint8_t {
  kSkellam,           // sums of shares are Skellam again: exact for any number of survivors
  kDiscreteGaussian,  // sums are nearly discrete Gaussian; the difference is accounted for
};

struct DistributedNoiseOptions {
  NoiseLaw law = NoiseLaw::kSkellam;
  std::uint64_t dimension;
  ClipNorm clip;
  // Standard deviation of the sum's noise over the clip norm, if as few clients as allowed survive and all colluders
  // leave their noise out.
  NoiseMultiplier noise_multiplier;
  std::uint32_t clients;            // at most
  std::uint32_t minimum_survivors;  // fewer: nothing is released. Above colluders
  std::uint32_t colluders = 0;
  unsigned bits = 16;
  double log2_wrap = -20;
};

class DistributedNoise {
 public:
  // Takes the finest γ with which the sum stays within the modulus, and on which the noise can be drawn. `seed` is
  // public and the same for all. Fails if `bits` are too few.
  [[nodiscard]] static Result<DistributedNoise> create(const DistributedNoiseOptions& options, const Digest& seed);

  [[nodiscard]] unsigned bits() const { return options_.bits; }
  // The dimension of the encoded vectors: a power of two.
  [[nodiscard]] std::uint64_t dimension() const { return rotation_.padded(); }
  [[nodiscard]] double granularity() const { return granularity_; }
  // How far one client moves the sum of integers.
  [[nodiscard]] double l2_sensitivity() const { return l2_; }
  [[nodiscard]] double l1_sensitivity() const { return l1_; }

  // A client's vector, with its share of noise. Requires values.size() == options.dimension (checked). Values that are
  // not finite count as 0.
  [[nodiscard]] LaneVector encode(SecureRandom& stream, std::span<const double> values) const {
    return encode_by(stream, values);
  }
  // Requires a vector of bits() and dimension() (checked).
  [[nodiscard]] std::vector<double> decode(const LaneVector& sum) const;

  // The statement for a sum of the vectors of this many clients.
  [[nodiscard]] Result<DpStatement> statement(std::uint32_t survivors) const;

 private:
  using Law = std::variant<Skellam, DiscreteGaussian>;
  DistributedNoise(const DistributedNoiseOptions& options, Rotation rotation, double granularity, double l2, Law law);

  friend class ReplayedNoise;
  [[nodiscard]] LaneVector encode_by(BitStream& stream, std::span<const double> values) const;
  // The rotated, clipped vector in units of γ.
  [[nodiscard]] std::vector<double> prepare(std::span<const double> values) const;

  DistributedNoiseOptions options_;
  Rotation rotation_;
  double granularity_;
  double l2_;
  double l1_;
  Law law_;
};

// The same encoding with noise that can be repeated, for tests and demonstrations. Whoever knows the seed can subtract
// the noise, so nothing can be stated about a sum of such vectors.
class ReplayedNoise {
 public:
  explicit ReplayedNoise(DistributedNoise code) : code_(std::move(code)) {}

  [[nodiscard]] LaneVector encode(ReplayRandom& stream, std::span<const double> values) const {
    return code_.encode_by(stream, values);
  }
  [[nodiscard]] std::vector<double> decode(const LaneVector& sum) const { return code_.decode(sum); }
  [[nodiscard]] unsigned bits() const { return code_.bits(); }
  [[nodiscard]] std::uint64_t dimension() const { return code_.dimension(); }
  [[nodiscard]] double granularity() const { return code_.granularity(); }
  [[nodiscard]] double l2_sensitivity() const { return code_.l2_sensitivity(); }
  [[nodiscard]] double l1_sensitivity() const { return code_.l1_sensitivity(); }

 private:
  DistributedNoise code_;
};

}  // namespace noisefloor::secagg
