// Questions whose answer is one number, ready for release_answer (release/answer_road.h): parameters in, Question out.
//
// Guarantee:     the statement is that of the mechanism, and the configuration holds only public parameters: bounds,
//                levels, sensitivities; never a value. Wrong parameters are an error here, before anything is drawn.
// Values:        each answer holds "value", with an interval if the mechanism has one; "scale" is a fact.
// Thread safety: pure functions. A question may be drawn by several threads, each with a source of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/mechanisms/gaussian.h"
#include "noisefloor/mechanisms/sensitivity.h"
#include "noisefloor/release/question.h"

namespace noisefloor {

// The parameters of a bounded statistic.
struct BoundedQuery {
  Neighbours neighbours;
  Bounds bounds;
  Epsilon epsilon;
  Delta delta = Delta::of(0);  // 0: Laplace noise; above 0: Gaussian
  Confidence confidence = Confidence::of(0.95);
};

// Passes each private number to a function, once; stops at the first error.
using EachNumber = std::function<Result<void>(const std::function<Result<void>(double)>& take)>;

[[nodiscard]] Result<Question> laplace_question(double answer, const Sensitivity& sensitivity, Epsilon epsilon,
                                                Confidence confidence);
[[nodiscard]] Result<Question> gaussian_question(double answer, const Sensitivity& sensitivity, Epsilon epsilon,
                                                 Delta delta, GaussianCalibration calibration, Confidence confidence);
// The value is a whole number.
[[nodiscard]] Result<Question> geometric_question(std::int64_t count, const Sensitivity& sensitivity, Epsilon epsilon,
                                                  Confidence confidence);

// What stands for a line or record that is no number, by a public rule: under replace-one the lower bound, so that
// every unit gives one number within the bounds; under add-remove nothing, so that it gives at most one. Either is
// within the bounds that the mechanisms' noise is for (dataset/column.h).
[[nodiscard]] std::optional<double> for_no_number(const BoundedQuery& query);

// Reads the numbers here, and keeps none of them.
[[nodiscard]] Result<Question> sum_question(const EachNumber& numbers, const BoundedQuery& query);
// Under replace-one the number of rows is public, and the answer has an interval and a fact "rows". Under add-remove it
// is private.
[[nodiscard]] Result<Question> mean_question(std::vector<double> numbers, const BoundedQuery& query);
// Pure DP: the query's delta must be 0. The error is in rows: the bound "rank_error".
[[nodiscard]] Result<Question> quantile_question(std::vector<double> numbers, double level, const BoundedQuery& query);

// "analytic", "classical", "classical-beyond-its-proof".
[[nodiscard]] std::string_view name_of(GaussianCalibration calibration);

}  // namespace noisefloor
