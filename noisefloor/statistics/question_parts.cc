#include "noisefloor/statistics/question_parts.h"

#include <fmt/format.h>

#include "noisefloor/base/hex.h"
#include "noisefloor/crypto/hash.h"

namespace noisefloor::internal {
namespace {

constexpr const char* kData =
    "bounds, bins, candidates and sensitivities are those of the question, stated without looking at the data";

}  // namespace

Question begin_question(std::string_view mechanism, const DpStatement& statement, Epsilon epsilon, Delta delta,
                        Json parameters) {
  Question question{std::string(mechanism), statement, delta, AskedFor{epsilon}};
  Json configuration{{"mechanism", mechanism}};
  question.former_configuration = configuration.dump();
  configuration["epsilon"] = epsilon.value();
  configuration["delta"] = delta.value();
  configuration.update(parameters);
  question.configuration = configuration.dump();
  question.data = kData;
  return question;
}

Json parameters_of(const Sensitivity& sensitivity) {
  return {{"l1_sensitivity", sensitivity.l1.value()},
          {"l2_sensitivity", sensitivity.l2.value()},
          {"rows_per_unit", sensitivity.neighbours.rows_per_unit.value()}};
}

std::string digest_of_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += fmt::format("{}:{}", name.size(), name);
  return to_hex(blake2b(text));
}

ErrorBars around(double value, double error, Confidence confidence) {
  return {confidence, {value - error, value + error}};
}

AnswerFact scale_fact(double scale, std::string_view meaning) { return {"scale", scale, std::string(meaning)}; }

std::string_view noise_name(Delta delta) { return delta.value() == 0 ? "Laplace scale" : "standard deviation"; }

Result<void> expect_named(std::size_t names, std::size_t numbers) {
  if (names == numbers) return success();
  return invalid_argument(fmt::format("there are {} names for {} numbers: give one for each", names, numbers));
}

}  // namespace noisefloor::internal
