// Scores of attacks on membership: larger for examples that seem to have been trained on. Each takes what models say of
// examples, and no model.
//
// Implements:    Yeom et al. 2018 (threshold), Carlini et al. 2022 (LiRA, online and offline), Zarifzadeh et al. 2024
//                (RMIA, offline form of the references' probabilities).
// Requires:      confidences as logit_confidence() computes them, in double from logits. Reference models are trained
//                on as many rows as the target, with coins, seeds and stopping of their own.
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor::audit {

// ln(p/(1 − p)) of the right class: its logit less the logarithm of the sum of the others' exponentials. For one logit
// (two classes) that is the logit, with its sign.
[[nodiscard]] double logit_confidence(std::span<const float> logits, std::size_t right);

// What reference models say of the examples, model by model: confidence of example j under model i at
// i * examples + j, and whether it was among that model's training rows.
struct References {
  std::size_t models = 0;
  std::size_t examples = 0;
  std::vector<double> confidence;
  std::vector<std::uint8_t> member;  // 0 or 1
  // Whether models 2 i and 2 i + 1 were trained on complementary halves: then whoever attacks one leaves out the other.
  bool paired = false;
};
// kInvalidArgument if the sizes do not fit, or a confidence is no number.
[[nodiscard]] Result<void> check_references(const References& references);

struct LiraOptions {
  // Below so many models with an example, and so many without it, one spread serves for all examples.
  std::size_t models_for_own_spread = 32;
};
// The log of the ratio of two Gaussians' densities at the target's confidence: of models with the example, and of those
// without it, around their medians. Every example needs a model of each kind (refused otherwise).
[[nodiscard]] Result<std::vector<double>> lira_online(std::span<const double> target, const References& references,
                                                      const LiraOptions& options = {});
// From models without the example alone: the log of the probability that one of them is at most as confident as the
// target. One-sided; the spread comes from models without the example.
[[nodiscard]] Result<std::vector<double>> lira_offline(std::span<const double> target, const References& references,
                                                       const LiraOptions& options = {});

struct RmiaOptions {
  double gamma = 1;      // by how much an example's ratio has to exceed that of another one
  double offline = 0.3;  // how models with the example are guessed from those without it, in [0, 1]
};
// For each example, the share of population examples whose ratio of the target's probability to the references' is
// smaller by gamma. `population` are places of examples that are nobody's to be found out (they may be the same as
// those that are judged: an example is never compared with itself).
[[nodiscard]] Result<std::vector<double>> rmia(std::span<const double> target, const References& references,
                                               std::span<const std::size_t> population,
                                               const RmiaOptions& options = {});

}  // namespace noisefloor::audit
