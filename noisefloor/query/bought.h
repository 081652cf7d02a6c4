// What a question bought, in a form that says which other questions follow from it: the configuration of its answer.
//
// Internal to query/.
//
// Guarantee:     equal parts have equal digests, and different ones different digests (BLAKE2b). Nothing in it was read
//                from a table.
// Thread safety: pure functions; plain data.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/query/noise_split.h"
#include "noisefloor/query/plan.h"

namespace noisefloor::query {

struct BoughtQuantity {
  std::string digest;  // of its canonical text
  Quantity::Kind kind = Quantity::Kind::kCount;
  double step = 1;
  ErrorLaw error = {};
  bool has_error = true;
};

struct BoughtPlan {
  std::string measured;                 // digest of all that is measured, and for whom
  std::string rows;                     // digest of Origin::rows
  std::vector<std::string> conditions;  // digests of canonical texts, sorted, each once
  std::vector<std::string> keys;        // digests of canonical texts, in the order of the table
  std::vector<engine::Type> key_types;
  bool listed = false;  // all groups are in the table
  std::vector<BoughtQuantity> quantities;
};

struct Bought {
  double epsilon = 0;  // that was asked for
  double delta = 0;
  std::vector<BoughtPlan> plans;
};

// Equal for plans that measure the same, whatever they compute from it.
[[nodiscard]] std::string measured_digest(const Plan& plan);

[[nodiscard]] BoughtPlan bought_plan(const Plan& plan, const PlanNoise& noise);

// A JSON object without spaces.
[[nodiscard]] std::string configuration_of(std::span<const Plan> plans, const NoiseSplit& split,
                                           const NoiseTerms& terms);
// kInputData if it is not such an object.
[[nodiscard]] Result<Bought> parse_bought(std::string_view configuration);

[[nodiscard]] std::string digest_of_text(std::string_view text);

}  // namespace noisefloor::query
