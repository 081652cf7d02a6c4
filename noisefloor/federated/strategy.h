// How the server moves the model by the mean of the clients' updates: one small interface for all strategies.
//
//   (model, mean, state) → (model, state)
//
// An update is Δ = y − x: where a site's descent ended, less where it began. p_i is a site's weight: n_i / Σ n, or one
// over the number of sites.
//
// Strategies:    kFedAvg      x += η Σ p_i Δ_i
//                kFedAvgM     m = β m + Δ; x += η m
//                kFedProx     FedAvg; sites descend along g + μ (y − x) (corrected())
//                kScaffold    FedAvg; sites descend along g − c_i + c, and the server keeps c
//                kFedAdagrad, kFedYogi, kFedAdam   m = β1 m + (1 − β1) Δ; v += Δ², v −= (1 − β2) Δ² sign(v − Δ²), or
//                             v = β2 v + (1 − β2) Δ²; x += η m / (√v + τ). No bias correction; v begins with τ²
//                kFedNova     x += η (Σ p_i τ_i) Σ p_i Δ_i / τ_i, for sites that make τ_i steps
// Implements:    McMahan et al. 2017; Hsu et al. 2019; Li et al. 2020; Karimireddy et al. 2020 (option II); Reddi et
//                al. 2021, Algorithm 2; Wang et al. 2020.
// SCAFFOLD:      with K steps of rate η_l at all sites, option II says c_i⁺ − c_i = −c − Δ_i / (K η_l). So
//                c ← (1 − W) c − W Δ / (K η_l), where W = Σ p_i over the sites of this round and Δ is their weighted
//                mean: the server needs nothing beside the mean that it has anyway. One p_i serves both: a weighted Δ
//                with an unweighted c would train another objective.
// Guarantee:     everything here is a function of the mean and of public numbers: it costs no privacy. The sum over
//                clients, and its fixed denominator where there is one, are made before (upload.h).
// Thread safety: immutable; pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/base/result.h"

namespace noisefloor::federated {

enum class StrategyKind : std::uint8_t {
  kFedAvg,
  kFedAvgM,
  kFedProx,
  kScaffold,
  kFedAdagrad,
  kFedYogi,
  kFedAdam,
  kFedNova
};
// The names that users write.
inline constexpr std::array<std::pair<std::string_view, StrategyKind>, 8> kStrategies{
    {{"fedavg", StrategyKind::kFedAvg},
     {"fedavgm", StrategyKind::kFedAvgM},
     {"fedprox", StrategyKind::kFedProx},
     {"scaffold", StrategyKind::kScaffold},
     {"fedadagrad", StrategyKind::kFedAdagrad},
     {"fedyogi", StrategyKind::kFedYogi},
     {"fedadam", StrategyKind::kFedAdam},
     {"fednova", StrategyKind::kFedNova}}};
[[nodiscard]] std::string_view name_of(StrategyKind kind);

struct StrategyOptions {
  StrategyKind kind = StrategyKind::kFedAvg;
  double server_rate = 1;         // η
  double momentum = 0.9;          // β of kFedAvgM
  double beta1 = 0.9;             // kFedAdagrad, kFedYogi, kFedAdam
  double beta2 = 0.99;            // kFedYogi, kFedAdam
  double tau = 1e-3;              // kFedAdagrad, kFedYogi, kFedAdam
  double proximal = 0.01;         // μ of kFedProx
  std::uint64_t local_steps = 1;  // K of kScaffold: the same at all sites
  double local_rate = 0.1;        // η_l of kScaffold
  friend bool operator==(const StrategyOptions&, const StrategyOptions&) = default;
};

// A round's result, as the strategy sees it.
struct RoundMean {
  std::span<const double> update;  // Σ p_i Δ_i / Σ p_i; for kFedNova Σ p_i (Δ_i / τ_i) / Σ p_i
  double share = 1;                // Σ p_i over the sites in the mean: their part of all sites' weight. For kScaffold
  double steps = 1;                // Σ p_i τ_i / Σ p_i. For kFedNova
};

struct StrategyState {
  std::uint64_t rounds = 0;
  std::vector<double> first;    // m; empty where there is none
  std::vector<double> second;   // v
  std::vector<double> control;  // c
  friend bool operator==(const StrategyState&, const StrategyState&) = default;
};

class Strategy {
 public:
  // Fails for a number that is not finite or out of its range.
  [[nodiscard]] static Result<Strategy> create(const StrategyOptions& options, std::size_t parameters);

  [[nodiscard]] const StrategyOptions& options() const { return options_; }
  [[nodiscard]] std::size_t parameters() const { return parameters_; }
  // The state before the first round, and after each change of who is a member: c and all c_i begin with zeros then.
  [[nodiscard]] StrategyState initial() const;

  struct Moved {
    std::vector<float> model;
    StrategyState state;
  };
  // Fails if sizes differ, if the mean is not finite, or if the model would not be.
  [[nodiscard]] Result<Moved> move(std::span<const float> model, const RoundMean& mean,
                                   const StrategyState& state) const;

  // What a site does differently. Requires spans of one size.
  // The direction at y of a descent that began at x, in place of the gradient. `control` is the server's c, and `own`
  // the site's c_i; both may be empty where they are zeros.
  void correct(std::span<float> gradient, std::span<const float> y, std::span<const float> x,
               std::span<const double> control, std::span<const double> own) const;
  // The site's next c_i, from the update that it sends: the clipped one, where updates are clipped.
  [[nodiscard]] std::vector<double> next_own_control(std::span<const double> own, std::span<const double> control,
                                                     std::span<const float> sent) const;

 private:
  Strategy(const StrategyOptions& options, std::size_t parameters) : options_(options), parameters_(parameters) {}

  StrategyOptions options_;
  std::size_t parameters_;
};

}  // namespace noisefloor::federated
