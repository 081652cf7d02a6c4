#include "noisefloor/query/bought.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "noisefloor/base/hex.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/query/canonical.h"

namespace noisefloor::query {
namespace {

using Json = nlohmann::ordered_json;

constexpr engine::Type kTypes[] = {engine::Type::kInteger, engine::Type::kNumber, engine::Type::kText,
                                   engine::Type::kDate, engine::Type::kTruth};
constexpr const char* kKinds[] = {"count", "units", "distinct", "sum", "quantile"};

Json json_of(const ErrorLaw& law) {
  Json laplace = Json::array();
  for (const auto& [scale, count] : law.laplace) laplace.push_back({scale, count});
  return {{"variance", law.gaussian_variance}, {"laplace", laplace}, {"rounding", law.rounding}};
}

ErrorLaw law_of(const Json& json) {
  ErrorLaw law{json.at("variance").get<double>(), {}, json.at("rounding").get<double>()};
  for (const Json& part : json.at("laplace"))
    law.laplace.emplace_back(part.at(0).get<double>(), part.at(1).get<double>());
  return law;
}

Json json_of(const BoughtPlan& plan, const Plan& from, const PlanNoise& noise) {
  Json types = Json::array();
  for (const engine::Type type : plan.key_types) types.push_back(name_of(type));
  Json quantities = Json::array();
  for (std::size_t i = 0; i < plan.quantities.size(); ++i) {
    const BoughtQuantity& one = plan.quantities[i];
    Json made = {{"kind", kKinds[static_cast<std::size_t>(one.kind)]},
                 {"text", one.digest},
                 {"step", one.step},
                 {"noise", name_of(noise.quantities[i].kind)}};
    if (one.has_error) {
      made["error"] = json_of(one.error);
    } else {
      made["epsilon"] = noise.quantities[i].epsilon;
    }
    quantities.push_back(std::move(made));
  }
  Json made = {{"text", digest_of_text(from.canonical)},
               {"measured", plan.measured},
               {"rows", plan.rows},
               {"conditions", plan.conditions},
               {"keys", plan.keys},
               {"types", types},
               {"listed", plan.listed},
               {"quantities", quantities}};
  if (noise.keys) {
    made["named_by"] = {{"rule", name_of(noise.keys->rule())},
                        {"epsilon", noise.keys->terms().epsilon.value()},
                        {"delta", noise.keys->terms().delta.value()},
                        {"groups", noise.keys->terms().groups}};
  }
  return made;
}

BoughtPlan plan_of(const Json& json) {
  BoughtPlan plan;
  plan.measured = json.at("measured").get<std::string>();
  plan.rows = json.at("rows").get<std::string>();
  plan.conditions = json.at("conditions").get<std::vector<std::string>>();
  plan.keys = json.at("keys").get<std::vector<std::string>>();
  plan.listed = json.at("listed").get<bool>();
  for (const Json& type : json.at("types")) {
    for (const engine::Type known : kTypes) {
      if (name_of(known) == type.get<std::string>()) plan.key_types.push_back(known);
    }
  }
  for (const Json& one : json.at("quantities")) {
    BoughtQuantity quantity{one.at("text").get<std::string>()};
    for (std::size_t kind = 0; kind < std::size(kKinds); ++kind) {
      if (one.at("kind") == kKinds[kind]) quantity.kind = static_cast<Quantity::Kind>(kind);
    }
    quantity.step = one.at("step").get<double>();
    quantity.has_error = one.contains("error");
    if (quantity.has_error) quantity.error = law_of(one.at("error"));
    plan.quantities.push_back(std::move(quantity));
  }
  return plan;
}

}  // namespace

std::string digest_of_text(std::string_view text) { return to_hex(blake2b(text)); }

std::string measured_digest(const Plan& plan) {
  std::string text = fmt::format("{} {} {} {}", canonical_text(plan.measurement), name_of(plan.unit),
                                 name_of(plan.adjacency), plan.private_keys);
  for (const Quantity& quantity : plan.quantities) {
    text += fmt::format(" {} {:.17g} {:.17g}", static_cast<int>(quantity.kind), quantity.step, quantity.level);
  }
  return digest_of_text(text);
}

BoughtPlan bought_plan(const Plan& plan, const PlanNoise& noise) {
  BoughtPlan made;
  made.measured = measured_digest(plan);
  made.rows = digest_of_text(plan.origin.rows);
  for (const engine::Expression& condition : plan.origin.conditions) {
    made.conditions.push_back(digest_of_text(canonical_text(condition)));
  }
  std::sort(made.conditions.begin(), made.conditions.end());
  made.conditions.erase(std::unique(made.conditions.begin(), made.conditions.end()), made.conditions.end());
  for (std::size_t i = 0; i < plan.keys.size(); ++i) {
    made.keys.push_back(digest_of_text(canonical_text(plan.origin.keys[i])));
    made.key_types.push_back(plan.keys[i].type);
  }
  made.listed = !plan.private_keys;
  for (std::size_t i = 0; i < plan.quantities.size(); ++i) {
    const QuantityNoise& one = noise.quantities[i];
    made.quantities.push_back({digest_of_text(plan.origin.quantities[i]), plan.quantities[i].kind,
                               plan.quantities[i].step, one.error, one.kind != QuantityNoise::Kind::kExponential});
  }
  return made;
}

std::string configuration_of(std::span<const Plan> plans, const NoiseSplit& split, const NoiseTerms& terms) {
  Json queries = Json::array();
  for (std::size_t i = 0; i < plans.size(); ++i) {
    queries.push_back(json_of(bought_plan(plans[i], split.plans[i]), plans[i], split.plans[i]));
  }
  const Json made = {{"epsilon", terms.epsilon.value()},
                     {"delta", split.delta.value()},
                     {"confidence", terms.confidence.value()},
                     {"queries", queries}};
  return made.dump();
}

Result<Bought> parse_bought(std::string_view configuration) {
  try {
    const Json json = Json::parse(configuration);
    Bought bought{json.at("epsilon").get<double>(), json.at("delta").get<double>(), {}};
    for (const Json& plan : json.at("queries")) bought.plans.push_back(plan_of(plan));
    return bought;
  } catch (const Json::exception&) {
    return input_data_error("the configuration of a kept answer is not that of queries");
  }
}

}  // namespace noisefloor::query
