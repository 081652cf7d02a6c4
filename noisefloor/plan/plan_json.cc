#include "noisefloor/plan/plan_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "noisefloor/event/json.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

Json as_json(Interval epsilon) { return {{"lower", epsilon.lower}, {"upper", epsilon.upper}}; }

Json as_json(const std::vector<Condition>& conditions) {
  Json list = Json::array();
  for (const Condition& one : conditions) {
    Json item{{"name", one.name},
              {"statement", one.statement},
              {"value", one.value},
              {"relation", one.at_least ? ">=" : "<="},
              {"bound", std::isfinite(one.bound) ? Json(one.bound) : Json(nullptr)},
              {"holds", one.holds}};
    if (!one.holds) item["remedy"] = one.remedy;
    list.push_back(std::move(item));
  }
  return {{"holds", all_hold(conditions)}, {"conditions", std::move(list)}};
}

Json as_json(const ExactPlan& plan) {
  return {{"noise_multiplier", plan.noise.value()},
          {"rounds", plan.sizes.rounds()},
          {"batch", plan.sizes.largest()},
          {"epsilon", as_json(plan.epsilon)},
          {"event", Json::parse(to_json(plan.event))}};
}

// Adds the setting and the theorems' verdicts to `json`.
Json with_verdicts(Json json, const TheoremVerdicts& verdicts) {
  const ProactiveSetting& setting = verdicts.setting;
  json["noise_multiplier"] = setting.noise.value();
  json["rounds"] = setting.sizes.rounds();
  json["batch"] = setting.sizes.largest();
  json["theta"] = setting.sizes.theta();
  json["theorem_3_1"] = as_json(verdicts.theorem_3_1);
  json["theorem_b2"] = as_json(verdicts.theorem_b2);
  json["theorem_b4"] = as_json(verdicts.theorem_b4);
  return json;
}

Json as_json(const ClosedFormAnswer& closed, GammaMode mode) {
  const ClosedFormPlan& plan = closed.plan;
  return with_verdicts(
      {{"mode", mode == GammaMode::kPaper ? "paper: gamma after one update" : "gamma is the root of (55)"},
       {"epsilon", plan.setting.epsilon.value()},
       {"gamma", plan.gamma},
       {"alpha", plan.alpha},
       {"min_rounds", plan.min_rounds},
       {"min_rounds_asymptotic", plan.min_rounds_asymptotic},
       {"max_batch", plan.mean_size},
       {"max_batch_asymptotic", plan.mean_size_asymptotic},
       {"exact_epsilon", as_json(closed.epsilon)}},
      closed.verdicts);
}

Json as_json(const PlanCapacity& capacity) {
  Json json{{"exact_epochs", capacity.exact_epochs}, {"tasks", capacity.trainings}};
  if (capacity.closed_form_epochs) json["closed_form_epochs"] = *capacity.closed_form_epochs;
  return json;
}

}  // namespace

std::string to_json(const PlanQuestion& question, const PlanAnswer& answer) {
  Json json{{"rows", question.rows.value()},
            {"epochs", question.epochs},
            {"delta", question.delta.value()},
            {"adjacency", name_of(question.adjacency())}};
  if (answer.closed_form) {
    json["closed_form"] = as_json(*answer.closed_form, question.mode);
  } else {
    json["closed_form"] = question.draw == Draw::kFixedSize ? Json(nullptr) : Json{{"error", answer.no_closed_form}};
  }
  json["exact"] = as_json(answer.exact);
  if (answer.same_batch) {
    json["exact_same_batch"] = as_json(*answer.same_batch);
    json["rounds_ratio"] = answer.rounds_ratio();
    json["noise_ratio"] = answer.noise_ratio();
  }
  if (answer.given) json["as_given"] = with_verdicts(Json::object(), *answer.given);
  if (answer.capacity) json["capacity"] = as_json(*answer.capacity);
  return json.dump();
}

std::string to_csv(std::span<const TradeOff> curves) {
  std::string csv = "epochs,batch,rounds,noise_multiplier,epsilon\n";
  for (const TradeOff& curve : curves) {
    for (const ExactPlan& plan : curve.plans) {
      csv += fmt::format("{:g},{},{},{:.8g},{:.8g}\n", curve.epochs, plan.sizes.largest(), plan.sizes.rounds(),
                         plan.noise.value(), plan.epsilon.upper);
    }
  }
  return csv;
}

}  // namespace noisefloor
