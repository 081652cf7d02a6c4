#include "noisefloor/training/plan_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "noisefloor/base/hex.h"
#include "noisefloor/event/json.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "noisefloor-plan/1";

// JSON keeps every bit of these numbers.
Json body_of(const PlanFile& plan) {
  return {{"format", kFormat},
          {"name", plan.name},
          {"training", plan.training},
          {"rows", plan.rows.value()},
          {"clip_norm", plan.clip.value()},
          {"noise_multiplier", plan.noise.value()},
          {"batch_size", plan.batch.value()},
          {"steps", plan.steps.value()},
          {"epsilon", plan.epsilon.value()},
          {"delta", plan.delta.value()},
          {"statement", Json::parse(to_json(plan.statement))},
          {"certified_epsilon", {{"lower", plan.certified.lower}, {"upper", plan.certified.upper}}},
          {"target_accuracy", plan.target_accuracy ? Json(*plan.target_accuracy) : Json(nullptr)},
          {"utility", plan.utility},
          {"phase", plan.phase},
          {"phases", plan.phases},
          {"epsilon_before", plan.epsilon_before},
          {"start_from", plan.start_from},
          {"budget", plan.budget},
          {"item", plan.item}};
}

template <class Q>
Result<Q> quantity(const Json& json, const char* key) {
  return Q::make(json.at(key).get<typename Q::Value>());
}

// Throws nlohmann's exceptions.
Result<PlanFile> read(const Json& json) {
  NF_TRY(const Rows rows, quantity<Rows>(json, "rows"));
  NF_TRY(const ClipNorm clip, quantity<ClipNorm>(json, "clip_norm"));
  NF_TRY(const NoiseMultiplier noise, quantity<NoiseMultiplier>(json, "noise_multiplier"));
  NF_TRY(const Rows batch, quantity<Rows>(json, "batch_size"));
  NF_TRY(const Steps steps, quantity<Steps>(json, "steps"));
  NF_TRY(const Epsilon epsilon, quantity<Epsilon>(json, "epsilon"));
  NF_TRY(const Delta delta, quantity<Delta>(json, "delta"));
  NF_TRY(DpStatement statement, parse_statement(json.at("statement").dump()));
  PlanFile plan{
      json.at("name").get<std::string>(),
      json.at("training").get<std::string>(),
      rows,
      clip,
      noise,
      batch,
      steps,
      epsilon,
      delta,
      std::move(statement),
      {json.at("certified_epsilon").at("lower").get<double>(), json.at("certified_epsilon").at("upper").get<double>()},
      {},
      json.at("utility").get<std::string>(),
      json.at("phase").get<std::uint64_t>(),
      json.at("phases").get<std::uint64_t>(),
      json.at("epsilon_before").get<double>(),
      json.at("start_from").get<std::string>(),
      json.at("budget").get<std::string>(),
      json.at("item").get<std::string>()};
  if (!json.at("target_accuracy").is_null()) plan.target_accuracy = json.at("target_accuracy").get<double>();
  return plan;
}

template <class Bytes>
Result<Bytes> bytes_of(const Json& json, const char* key) {
  Bytes bytes{};
  if (from_hex(json.at(key).get<std::string>(), bytes)) return bytes;
  return input_data_error(fmt::format("the {} of a plan file must be hexadecimal digits", key));
}

}  // namespace

Digest digest_of(const PlanFile& plan) { return blake2b(body_of(plan).dump()); }

std::string to_json(const PlanFile& plan, const Sign& sign) {
  Json json = body_of(plan);
  const std::string text = json.dump();
  const auto [key, signature] = sign(text);
  json["digest"] = to_hex(blake2b(text));
  json["public_key"] = to_hex(key);
  json["signature"] = to_hex(signature);
  return json.dump(2) + "\n";
}

std::string to_json(const PlanFile& plan, const SigningKey& key) {
  return to_json(plan, [&](std::string_view text) { return std::pair(key.public_key(), key.sign(text)); });
}

Result<SignedPlan> parse_plan_file(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("format", "") != kFormat) {
    return input_data_error("this is not a plan file: make one by planning the training");
  }
  try {
    NF_TRY(PlanFile plan, read(json));
    NF_TRY(const PublicKey key, bytes_of<PublicKey>(json, "public_key"));
    NF_TRY(const Signature signature, bytes_of<Signature>(json, "signature"));
    const std::string body = body_of(plan).dump();
    if (json.size() != body_of(plan).size() + 3 || json.at("digest") != to_hex(blake2b(body)) ||
        !verify_signature(key, body, signature)) {
      return verification_failed("the plan was changed after it was signed");
    }
    NF_TRY(const Interval epsilon, certified_epsilon(plan.statement, plan.delta));
    if (epsilon.upper > plan.certified.upper || plan.certified.upper > plan.epsilon.value()) {
      return verification_failed(fmt::format("the plan states epsilon {:.10g}, but its event costs {:.10g}",
                                             plan.certified.upper, epsilon.upper));
    }
    return SignedPlan{std::move(plan), key};
  } catch (const nlohmann::json::exception&) {
    return input_data_error("the plan file lacks a field, or one is of another type");
  }
}

}  // namespace noisefloor
