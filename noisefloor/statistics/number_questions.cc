#include "noisefloor/statistics/number_questions.h"

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "noisefloor/mechanisms/bounded_sum.h"
#include "noisefloor/mechanisms/geometric.h"
#include "noisefloor/mechanisms/laplace.h"
#include "noisefloor/mechanisms/quantile.h"
#include "noisefloor/statistics/question_parts.h"

namespace noisefloor {
namespace {

using internal::around;
using internal::begin_question;
using internal::Json;
using internal::noise_name;
using internal::scale_fact;

Json parameters_of(const BoundedQuery& query) {
  return {{"lower", query.bounds.lower()},
          {"upper", query.bounds.upper()},
          {"rows_per_unit", query.neighbours.rows_per_unit.value()}};
}

}  // namespace

std::string_view name_of(GaussianCalibration calibration) {
  switch (calibration) {
    case GaussianCalibration::kAnalytic:
      return "analytic";
    case GaussianCalibration::kClassical:
      return "classical";
    case GaussianCalibration::kClassicalBeyondItsProof:
      break;
  }
  return "classical-beyond-its-proof";
}

Result<Question> laplace_question(double answer, const Sensitivity& sensitivity, Epsilon epsilon,
                                  Confidence confidence) {
  NF_TRY(const LaplaceMechanism laplace, LaplaceMechanism::create(sensitivity, epsilon));
  Question question =
      begin_question("laplace", laplace.statement(), epsilon, Delta::of(0), internal::parameters_of(sensitivity));
  question.draw_by([=](auto& source) -> Result<Drawn> {
    NF_TRY(const auto release, laplace.release(answer, source));
    return Drawn{{{{"value", release.value(), laplace.lattice().step(),
                    around(release.value(), laplace.error_bound(confidence), confidence)}},
                  {},
                  {scale_fact(laplace.scale(), "sensitivity / epsilon")}},
                 release.statement()};
  });
  return question;
}

Result<Question> gaussian_question(double answer, const Sensitivity& sensitivity, Epsilon epsilon, Delta delta,
                                   GaussianCalibration calibration, Confidence confidence) {
  NF_TRY(const GaussianMechanism gaussian,
         GaussianMechanism::create(sensitivity, epsilon, delta, kScalar, calibration));
  Json parameters = internal::parameters_of(sensitivity);
  parameters["calibration"] = name_of(calibration);
  Question question = begin_question("gaussian", gaussian.statement(), epsilon, delta, std::move(parameters));
  question.asked->proved = calibration != GaussianCalibration::kClassicalBeyondItsProof;
  question.draw_by([=](auto& source) -> Result<Drawn> {
    NF_TRY(const auto release, gaussian.release(answer, source));
    return Drawn{
        {{{"value", release.value(), gaussian.lattice().step(),
           around(release.value(), gaussian.error_bound(confidence), confidence)}},
         {},
         {{"calibration", std::string(name_of(calibration))}, scale_fact(gaussian.sigma(), "standard deviation")}},
        release.statement()};
  });
  return question;
}

Result<Question> geometric_question(std::int64_t count, const Sensitivity& sensitivity, Epsilon epsilon,
                                    Confidence confidence) {
  NF_TRY(const GeometricMechanism geometric, GeometricMechanism::create(sensitivity, epsilon));
  Question question =
      begin_question("geometric", geometric.statement(), epsilon, Delta::of(0), internal::parameters_of(sensitivity));
  question.draw_by([=](auto& source) -> Result<Drawn> {
    const auto release = geometric.release(count, source);
    const auto error = static_cast<double>(geometric.error_bound(confidence));
    return Drawn{{{{"value", release.value(), {}, around(static_cast<double>(release.value()), error, confidence)}},
                  {},
                  {scale_fact(geometric.scale(), "sensitivity / epsilon")}},
                 release.statement()};
  });
  return question;
}

std::optional<double> for_no_number(const BoundedQuery& query) {
  if (query.neighbours.adjacency != Adjacency::kReplaceOne) return std::nullopt;
  return query.bounds.lower();
}

Result<Question> sum_question(const EachNumber& numbers, const BoundedQuery& query) {
  NF_TRY(BoundedSum made, BoundedSum::create(query.neighbours, query.bounds, query.epsilon, query.delta));
  // The accumulator points at the sum, so that both live together.
  const auto sum = std::make_shared<const BoundedSum>(std::move(made));
  BoundedSum::Accumulator data = sum->accumulator();
  NF_TRY_VOID(numbers([&](double value) -> Result<void> {
    data.add(value);
    return success();
  }));
  Question question = begin_question("sum", sum->statement(), query.epsilon, query.delta, parameters_of(query));
  question.draw_by([sum, data, query](auto& source) -> Result<Drawn> {
    const auto release = sum->release(data, source);
    return Drawn{{{{"value", release.value(), sum->lattice().step(),
                    around(release.value(), sum->error_bound(query.confidence), query.confidence)}},
                  {},
                  {scale_fact(sum->noise_scale(), noise_name(query.delta))}},
                 release.statement()};
  });
  return question;
}

Result<Question> mean_question(std::vector<double> numbers, const BoundedQuery& query) {
  NF_TRY(const BoundedMean mean, BoundedMean::create(query.neighbours, query.bounds, query.epsilon, query.delta));
  Question question = begin_question("mean", mean.statement(), query.epsilon, query.delta, parameters_of(query));
  const auto data = std::make_shared<const std::vector<double>>(std::move(numbers));
  question.draw_by([mean, data, query](auto& source) -> Result<Drawn> {
    NF_TRY(const auto release, mean.release(std::span<const double>(*data), source));
    Drawn drawn{{{{"value", release.value()}}}, release.statement()};
    // Under add-remove the number of rows is private, and the width of an exact interval would tell it.
    if (query.neighbours.adjacency != Adjacency::kReplaceOne) return drawn;
    NF_TRY(const Rows rows, Rows::make(data->size()));
    drawn.content.values[0].error_bars =
        around(release.value(), mean.error_bound(rows, query.confidence), query.confidence);
    drawn.content.facts = {scale_fact(mean.noise_scale(rows), noise_name(query.delta)),
                           {"rows", static_cast<std::int64_t>(rows.value())}};
    return drawn;
  });
  return question;
}

Result<Question> quantile_question(std::vector<double> numbers, double level, const BoundedQuery& query) {
  if (query.delta.value() != 0) return invalid_argument("a quantile is pure DP: set its delta to 0");
  NF_TRY(const QuantileMechanism quantile,
         QuantileMechanism::create(query.neighbours, query.bounds, level, query.epsilon));
  Json parameters = parameters_of(query);
  parameters["level"] = level;
  Question question =
      begin_question("quantile", quantile.statement(), query.epsilon, query.delta, std::move(parameters));
  const auto data = std::make_shared<const std::vector<double>>(std::move(numbers));
  question.draw_by([quantile, data, level, query](auto& source) -> Result<Drawn> {
    NF_TRY(const auto release, quantile.release(std::span<const double>(*data), source));
    return Drawn{{{{"value", release.value()}},
                  {{"rank_error", query.confidence, quantile.rank_error_bound(query.confidence)}},
                  {{"level", level}}},
                 release.statement()};
  });
  return question;
}

}  // namespace noisefloor
