// Functions that the questions of this folder share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/mechanisms/sensitivity.h"
#include "noisefloor/release/question.h"

namespace noisefloor::internal {

using Json = nlohmann::ordered_json;

// A question without its drawing function. `parameters` are public.
[[nodiscard]] Question begin_question(std::string_view mechanism, const DpStatement& statement, Epsilon epsilon,
                                      Delta delta, Json parameters);

// The parameters that tell one sensitivity from another.
[[nodiscard]] Json parameters_of(const Sensitivity& sensitivity);

// A digest of public names, so that a question about other names is another question.
[[nodiscard]] std::string digest_of_names(const std::vector<std::string>& names);

// value ± error.
[[nodiscard]] ErrorBars around(double value, double error, Confidence confidence);

// The scale of the noise, and what it is.
[[nodiscard]] AnswerFact scale_fact(double scale, std::string_view meaning);

// "Laplace scale", or "standard deviation" if there is a δ.
[[nodiscard]] std::string_view noise_name(Delta delta);

// kInvalidArgument unless there is a name for each number.
[[nodiscard]] Result<void> expect_named(std::size_t names, std::size_t numbers);

}  // namespace noisefloor::internal
