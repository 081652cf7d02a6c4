// Client-level differential privacy: the sum of clipped updates, one of each client, with noise on the sum.
//
// Guarantee:     whatever vector one client sends, it moves the sum by at most the clip norm (L2): vectors are
//                shortened to it, less a margin for the rounding of exact_sum.h, and one with a number that is not
//                finite counts as zeros. finish() adds Gaussian noise of noise_multiplier · clip norm to the sum and
//                divides by a fixed number, never by how many came. With adaptive clipping, the noisy count of clients
//                within the norm is part of the same release: the noise on the sum is larger, so that both together
//                cost what the multiplier says; the norm moves after it was used.
// Implements:    McMahan et al. 2018; Andrew et al. 2021 (the count is of clients that are *not* clipped).
// Neighbours:    one client with all its data is there or not (add-remove); unit: person in events, a client being one.
// Not covered:   noise is floating-point (random/gaussian_vector.h).
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/federated/exact_sum.h"
#include "noisefloor/random/bit_stream.h"

namespace noisefloor::federated {

struct ClientAdaptiveClip {
  double quantile = 0.5;
  double rate = 0.2;
  double count_noise = 0;  // standard deviation of the noise on the count; 0: a twentieth of the denominator
  friend bool operator==(const ClientAdaptiveClip&, const ClientAdaptiveClip&) = default;
};

struct ClientSumOptions {
  ClipNorm clip;
  std::optional<NoiseMultiplier> noise = {};  // none: no noise, and no privacy
  double denominator = 1;                     // the expected number of clients
  std::optional<ClientAdaptiveClip> adaptive = {};
  friend bool operator==(const ClientSumOptions&, const ClientSumOptions&) = default;
};

// Fails for numbers out of range, and for a count's noise that would leave nothing for the sum: 2 σ_b must exceed the
// multiplier.
[[nodiscard]] Result<void> check_client_sum(const ClientSumOptions& options);

// The multiplier of the noise on the sum itself: (z⁻² − (2 σ_b)⁻²)^(−1/2) with adaptive clipping, rounded up; else z.
// Requires check_client_sum, and noise.
[[nodiscard]] double multiplier_on_sum(const ClientSumOptions& options);

// The event of one round over all clients. Non-private without noise.
[[nodiscard]] DpEvent client_event(const ClientSumOptions& options);

class ClientSum {
 public:
  // `clip` is this round's norm. Requires check_client_sum.
  ClientSum(const ClientSumOptions& options, std::size_t dimension, ClipNorm clip);

  // Adds a client's vector. Requires the dimension (checked).
  void add(std::span<const float> vector);

  struct Released {
    std::vector<double> mean;  // (sum + noise) / denominator
    ClipNorm next_clip;
  };
  // The caller has paid for client_event() when this runs. Once for each sum: a second call would be another release.
  [[nodiscard]] Released finish(BitStream& stream);

  [[nodiscard]] const ExactSum& sum() const { return sum_; }
  [[nodiscard]] std::uint32_t unclipped() const { return unclipped_; }

 private:
  ClientSumOptions options_;
  ClipNorm clip_;
  ExactSum sum_;
  std::uint32_t unclipped_ = 0;
  bool finished_ = false;
};

}  // namespace noisefloor::federated
