// How a budget is divided over the numbers of one or more queries and over the choice of their private groups.
//
//   NF_TRY(const NoiseSplit split, split_budget(plans, terms));
//   split.plans[0].quantities[0].scale   // of the exact whole noise on the first number of the first query
//
// Guarantee:     the certified ε of `statement` at `delta` is at most terms.epsilon, and doing what the split says to
//                plans whose sensitivities hold costs no more than the statement. Every quantity of every plan is paid
//                for exactly once, those that HAVING or ORDER BY alone ask for too; a number of units that choosing
//                groups gives anyway is not paid for twice. The split follows from the plans and the terms alone.
// Rule:          Σ weight · variance is made small: Laplace ε ∝ (weight · Δ₁²)^⅓, Gaussian ρ ∝ Δ₂ √weight, where
//                the weight of a number is that of its column over the square of its public scale.
// Errors:        kInvalidArgument for private groups or Gaussian noise without a δ, for weights that fit no column, and
//                where the exact samplers have no such noise.
// Thread safety: pure functions; plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/mechanisms/counted_quantile.h"
#include "noisefloor/numerics/interval.h"
#include "noisefloor/query/error_law.h"
#include "noisefloor/query/key_selection.h"
#include "noisefloor/query/noise_terms.h"
#include "noisefloor/query/plan.h"

namespace noisefloor::query {

struct QuantityNoise {
  enum class Kind : std::uint8_t {
    kLaplace,
    kGaussian,
    kExponential,   // a quantile
    kKeySelection,  // the number of units that choosing groups gives
  };
  Kind kind = Kind::kLaplace;
  // Of Laplace and Gaussian noise: in steps of 2^-fine_bits of the quantity's own steps.
  double scale = 0;
  int fine_bits = 0;
  double epsilon = 0;  // of a quantile, for each group
  ErrorLaw error;      // in the units of the answer; not of a quantile
  // Of a quantile: with the probability of the terms, the wanted rank is within this many rows.
  double rank_error = 0;
};

[[nodiscard]] std::string_view name_of(QuantityNoise::Kind kind);  // "laplace", "gaussian", "exponential", "keys"

struct PlanNoise {
  std::optional<KeySelection> keys = {};  // where groups are private
  std::vector<QuantityNoise> quantities;  // one for each of the plan
  DpEvent event = ZeroCostEvent{};        // of this plan alone
};

struct NoiseSplit {
  NoiseKind noise = NoiseKind::kLaplace;  // of the numbers: never kAuto
  std::vector<PlanNoise> plans;
  DpStatement statement;
  Delta delta = Delta::of(0);  // 0 where nothing needs one
  Interval epsilon{0, 0};      // certified, at delta
  // The root of the mean of weight · variance for both kinds of noise, before the accountant found what parts cost
  // together; nothing for what is impossible.
  std::optional<double> laplace_error = {};
  std::optional<double> gaussian_error = {};
};

// Requires plans of one dataset (checked: one unit, one adjacency) and at least one.
[[nodiscard]] Result<NoiseSplit> split_budget(std::span<const Plan> plans, const NoiseTerms& terms);

// The terms of the private choice of a quantile.
[[nodiscard]] QuantileTerms quantile_terms(const Plan& plan, const Quantity& quantity);

// The quantities that a column of the answer is computed from, in order.
[[nodiscard]] std::vector<std::size_t> quantities_under(const Plan& plan, const engine::Expression& value);

// Whether the quantity is the number of units of a group, which choosing private groups gives anyway.
[[nodiscard]] bool counts_units(const Plan& plan, const Quantity& quantity);

}  // namespace noisefloor::query
