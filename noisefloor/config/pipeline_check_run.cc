#include "noisefloor/config/pipeline_check_run.h"

#include <fmt/format.h>

#include <cmath>

#include "noisefloor/base/text.h"

namespace noisefloor::internal {
namespace {

constexpr double kLargeEpsilon = 10;

}  // namespace

void check_size(const Located<Epsilon>& total, Findings& findings) {
  if (!total.has() || total.value->value() <= kLargeEpsilon) return;
  const double epsilon = total.value->value();
  findings.warning(
      "epsilon_large", total.place,
      fmt::format("a total epsilon of {:g} promises little: outcomes may become e^{:g} = {:.3g} times as likely, and "
                  "someone who guesses at even odds whether a person is in the data may be right in {:.6g} % of cases",
                  epsilon, epsilon, std::exp(epsilon), 100 / (1 + std::exp(-epsilon))),
      "aim at 1 to 3, and at most 10; if it must be more, say why in the report");
}

void RunChecker::error(const char* code, Place place, const std::string& message, std::string remedy) {
  findings_.error(code, place.line == 0 ? run_.place : place, fmt::format("run {}: {}", shown(run_.name), message),
                  std::move(remedy));
}

void RunChecker::warning(const char* code, Place place, const std::string& message, std::string remedy) {
  findings_.warning(code, place.line == 0 ? run_.place : place, fmt::format("run {}: {}", shown(run_.name), message),
                    std::move(remedy));
}

}  // namespace noisefloor::internal
