// Above threshold (the sparse vector technique): which of many questions have a large answer, paying only for those.
//
// Guarantee:     ε-DP for the whole sequence of replies, up to and including the last allowed "above", however many
//                "below" came between. Further questions are refused.
// Implements:    Lyu, Su, Li 2017, Algorithm 1 (the standard form, with ε divided in the ratio 1 : (2c)^(2/3)), on a
//                grid with discrete Laplace noise: the proof shifts noise by whole numbers of steps only, so it holds
//                unchanged.
// Requires:      each answer moves by at most the stated sensitivity. Monotonic: if one answer rises when a unit is
//                added, all do; refused for replace-one.
// Thread safety: none; it counts the "above" replies.
#pragma once

#include <cstdint>
#include <utility>

#include "noisefloor/mechanisms/answer_grid.h"
#include "noisefloor/mechanisms/release.h"
#include "noisefloor/mechanisms/sensitivity.h"
#include "noisefloor/random/discrete_laplace.h"

namespace noisefloor {

struct AboveThresholdOptions {
  double threshold = 0;
  std::uint64_t max_above = 1;
  bool monotonic = false;
};

// What all replies of one AboveThreshold cost. The cost is known before the object is created.
[[nodiscard]] Result<DpStatement> above_threshold_statement(const Sensitivity& sensitivity, Epsilon epsilon);

template <RandomSource Source>
class AboveThreshold {
 public:
  // A copy would compare with the same noised threshold again, for which nobody has paid.
  AboveThreshold(const AboveThreshold&) = delete;
  AboveThreshold& operator=(const AboveThreshold&) = delete;
  AboveThreshold& operator=(AboveThreshold&&) = delete;
  // A moved-from object answers no more questions.
  AboveThreshold(AboveThreshold&& other) noexcept
      : AboveThreshold(*other.source_, other.lattice_, other.noised_threshold_, other.answer_noise_,
                       std::exchange(other.above_left_, 0), other.statement_) {}
  ~AboveThreshold() = default;

  // Draws the noise of the threshold: keeps `source`, which must outlive it.
  [[nodiscard]] static Result<AboveThreshold> create(const Sensitivity& sensitivity, Epsilon epsilon,
                                                     AboveThresholdOptions options, Source& source);

  // Whether the noised answer is at or above the noised threshold. After `max_above` times "above" every question is
  // refused with kBudgetExhausted.
  [[nodiscard]] Result<bool> ask(double answer);

  [[nodiscard]] std::uint64_t above_left() const { return above_left_; }

  // What the whole sequence of replies costs; it does not depend on how many were asked. Marked as not private for a
  // replay.
  [[nodiscard]] const DpStatement& statement() const { return statement_; }

  // The scale of the noise on each answer.
  [[nodiscard]] double answer_scale() const { return answer_noise_.scale().value() * lattice_.step(); }

 private:
  AboveThreshold(Source& source, Lattice lattice, Int128 noised_threshold, DiscreteLaplace answer_noise,
                 std::uint64_t above_left, DpStatement statement)
      : source_(&source),
        lattice_(lattice),
        noised_threshold_(noised_threshold),
        answer_noise_(answer_noise),
        above_left_(above_left),
        statement_(std::move(statement)) {}

  Source* source_;
  Lattice lattice_;
  Int128 noised_threshold_;
  DiscreteLaplace answer_noise_;
  std::uint64_t above_left_;
  DpStatement statement_;
};

extern template class AboveThreshold<SecureRandom>;
extern template class AboveThreshold<ReplayRandom>;

}  // namespace noisefloor
