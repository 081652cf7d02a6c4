// Choosing one of several candidates by a score, privately.
//
//   exponential        probability ∝ exp(ε score / 2Δ)                                 (McSherry and Talwar 2007)
//   permute-and-flip   never worse in expected score than exponential, same guarantee    (McKenna and Sheldon 2020)
//   report-noisy-max   the largest score after Laplace noise of scale 2Δ/ε                 (Dwork and Roth 2014)
//
// Guarantee:     ε-DP where one unit moves every score by at most the stated sensitivity. If all scores move in the
//                same direction (monotonic: counts under add-remove; refused for replace-one, which adds and removes),
//                the same ε needs half the noise. Scores are rounded to a grid of 2^-32 of the sensitivity and the
//                choice is exact from there on: integers only, or 320 bits where exp is needed. Ties in noisy max go to
//                the lower index, which costs no privacy: raising one candidate's noise never makes it lose. Scores
//                that are NaN count as 0; infinities saturate.
// Timing:        the time that permute-and-flip takes depends on the scores.
// Thread safety: const after construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "noisefloor/mechanisms/answer_grid.h"
#include "noisefloor/mechanisms/release.h"
#include "noisefloor/mechanisms/sensitivity.h"

namespace noisefloor {

enum class SelectionRule : std::uint8_t { kExponential, kPermuteAndFlip, kNoisyMax };

[[nodiscard]] std::string_view name_of(SelectionRule rule);  // "exponential", "permute-and-flip", "noisy-max"

struct SelectionOptions {
  SelectionRule rule = SelectionRule::kPermuteAndFlip;
  bool monotonic = false;
};

class SelectionMechanism {
 public:
  // `sensitivity.l1` bounds the change of any one score.
  [[nodiscard]] static Result<SelectionMechanism> create(const Sensitivity& sensitivity, Epsilon epsilon,
                                                         SelectionOptions options = {});

  // The index of the chosen candidate. Requires 1 to 2^24 scores.
  template <RandomSource Source>
  [[nodiscard]] Result<Release<Source, std::size_t>> release(std::span<const double> scores, Source& source) const {
    NF_TRY(const std::size_t chosen, choose(scores, source));
    return Release<Source, std::size_t>(chosen, statement());
  }

  // The indices of `count` candidates, best first, by choosing and setting aside `count` times: the cost is `count`
  // times that of one choice. Requires 1 ≤ count ≤ number of scores.
  template <RandomSource Source>
  [[nodiscard]] Result<Release<Source, std::vector<std::size_t>>> release_top(std::span<const double> scores,
                                                                              std::size_t count, Source& source) const {
    NF_TRY(std::vector<std::size_t> chosen, choose_top(scores, count, source));
    NF_TRY(const Steps steps, Steps::make(count));
    return Release<Source, std::vector<std::size_t>>(std::move(chosen), statement_of_top(steps));
  }

  [[nodiscard]] const DpStatement& statement() const { return statement_; }
  // What `count` choices by release_top cost.
  [[nodiscard]] DpStatement statement_of_top(Steps choices) const {
    return {statement_.adjacency, statement_.unit, SelfComposedEvent{choices, statement_.event}};
  }

  // The exact probability with which each candidate is chosen, up to rounding of doubles. For the exponential rule
  // only: it is for planning with made-up scores; on private scores it would be a leak.
  [[nodiscard]] Result<std::vector<double>> exponential_probabilities(std::span<const double> scores) const;

  // A candidate whose score is lower by this much is e times less likely, roughly. In the units of the scores.
  [[nodiscard]] double scale() const;

  // With at least the given probability the chosen score is within this of the best, among `candidates` of them
  // (1 or more).
  [[nodiscard]] double score_gap_bound(std::size_t candidates, Confidence confidence) const;

 private:
  SelectionMechanism(LaplaceOnLattice calibration, SelectionOptions options, DpStatement statement)
      : calibration_(calibration), options_(options), statement_(std::move(statement)) {}

  [[nodiscard]] Result<std::size_t> choose(std::span<const double> scores, BitStream& stream) const;
  [[nodiscard]] Result<std::vector<std::size_t>> choose_top(std::span<const double> scores, std::size_t count,
                                                            BitStream& stream) const;
  [[nodiscard]] std::size_t choose_point(std::span<const Int128> points, BitStream& stream) const;
  [[nodiscard]] Result<std::vector<Int128>> to_points(std::span<const double> scores) const;
  // The scale of the noise in steps: a score that is this much lower is e times less likely.
  [[nodiscard]] Uint128 scale_steps() const;

  LaplaceOnLattice calibration_;
  SelectionOptions options_;
  DpStatement statement_;
};

}  // namespace noisefloor
