#include "noisefloor/ledger/budget_question.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/event/json.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

Error bad_plan(std::string_view what) {
  return input_data_error(
      fmt::format("{}. A plan is {{\"items\": [{{\"name\": \"…\", \"times\": 1, \"event\": {{…}}}}]}}", what));
}

Result<PlanItem> item_of(const Json& json) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string() || !json.contains("event")) {
    return bad_plan("an item needs a name and an event");
  }
  for (const auto& [field, value] : json.items()) {
    if (field != "name" && field != "event" && field != "times") {
      return bad_plan(fmt::format("an item has no field {}", shown(field)));
    }
  }
  std::uint64_t times = 1;
  if (json.contains("times")) {
    if (!json["times"].is_number_unsigned()) return bad_plan("times is a whole number, 1 or above");
    times = json["times"].get<std::uint64_t>();
  }
  NF_TRY(const Steps count, Steps::make(times));
  NF_TRY(DpEvent event, parse_event(json["event"].dump()));
  return PlanItem{json["name"].get<std::string>(), std::move(event), count};
}

DpEvent planned_event(const std::string& name, const BudgetTerms& terms) {
  for (const PlanItem& item : terms.plan) {
    if (item.name == name) return item.event;
  }
  return ZeroCostEvent{};  // the ledger refuses it and names the items that exist
}

Result<DpEvent> event_in(const std::string& text, const BudgetTerms& terms) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("noisefloor_event")) return parse_event(text);
  NF_TRY(const DpStatement statement, parse_statement(text));
  if (statement.adjacency != terms.adjacency || statement.unit != terms.unit) {
    return invalid_argument(
        fmt::format("the budget {} is for {} of one {}, and the event is for {} of one {}: use a budget for the same",
                    shown(terms.name), name_of(terms.adjacency), name_of(terms.unit), name_of(statement.adjacency),
                    name_of(statement.unit)));
  }
  return statement.event;
}

Result<DpEvent> noisy_event(NoiseMultiplier noise, const StatedTraining& training, Adjacency adjacency) {
  if (training.samples()) {
    NF_TRY(const BatchLaw law, training.law(adjacency));
    if (!training.steps && !training.epochs) return law.step(noise);
    NF_TRY(const PlannedRun run, training.run(adjacency));
    return run.event(noise);
  }
  if (training.epochs) {
    return invalid_argument("epochs are passes over sampled batches: give a sampling rate, or the number of steps");
  }
  if (!training.steps) return DpEvent(GaussianEvent{noise});
  return DpEvent(SelfComposedEvent{*training.steps, GaussianEvent{noise}});
}

}  // namespace

Result<BudgetTerms> terms_of(StatedTerms stated) {
  // Rényi divergences take account of sampling, and need a δ.
  const Rule usual = stated.delta.value() > 0 ? Rule::kRdp : Rule::kBasic;
  const Rule rule = stated.plan ? Rule::kPlanned : stated.rule.value_or(usual);
  if (rule == Rule::kPlanned && !stated.plan) {
    return invalid_argument("a planned budget needs its plan: give the items that may be used");
  }
  return BudgetTerms{.name = std::move(stated.name),
                     .epsilon = stated.epsilon,
                     .delta = stated.delta,
                     .adjacency = stated.adjacency,
                     .unit = stated.unit,
                     .rule = rule,
                     .failures = stated.failures.value_or(default_failures(rule)),
                     .orders = std::move(stated.orders),
                     .plan = std::move(stated.plan).value_or(std::vector<PlanItem>{}),
                     .parent = std::move(stated.parent),
                     .from = stated.from,
                     .until = stated.until};
}

Result<std::vector<PlanItem>> parse_plan_items(std::string_view json_text) {
  const Json json = Json::parse(json_text, nullptr, false);
  if (!json.is_object() || !json.contains("items") || !json["items"].is_array()) {
    return bad_plan("the plan has no list of items");
  }
  std::vector<PlanItem> items;
  for (const Json& one : json["items"]) {
    NF_TRY(PlanItem item, item_of(one));
    items.push_back(std::move(item));
  }
  return items;
}

Result<DpEvent> event_of_use(const StatedUse& use, const BudgetTerms& terms) {
  if (terms.rule == Rule::kPlanned) return planned_event(use.item, terms);
  const int stated =
      int{use.event.has_value()} + int{use.rho.has_value()} + int{use.noise.has_value()} + int{use.epsilon.has_value()};
  if (stated > 1)
    return invalid_argument(
        "the cost is stated more than once: state only one of an event, rho, a noise multiplier and epsilon");
  if (!use.noise && (use.training.samples() || use.training.steps || use.training.epochs)) {
    return invalid_argument("steps and batches need a noise multiplier: their cost follows from it");
  }
  if (use.event) return event_in(*use.event, terms);
  if (use.rho) {
    if (use.rho->value() == 0) return invalid_argument("rho must be above 0; got 0");
    return DpEvent(ZcdpEvent{*use.rho, Delta::of(0)});
  }
  if (use.noise) return noisy_event(*use.noise, use.training, terms.adjacency);
  if (use.epsilon) {
    NF_TRY(const PrivacyLoss loss, PrivacyLoss::make(use.epsilon->value()));
    return DpEvent(EpsilonDeltaEvent{loss, use.delta.value_or(Delta::of(0))});
  }
  return invalid_argument(
      "what is to be spent? State epsilon (and delta), a noise multiplier (with steps and batches), rho, an event, or "
      "an item of a plan");
}

Result<std::vector<std::string>> stated_blocks(const BudgetTerms& terms, const std::string& list) {
  if (terms.blocks) return parse_blocks(*terms.blocks, list);
  if (list.empty()) return std::vector<std::string>{};
  return invalid_argument(fmt::format("the budget {} has no blocks: name none", shown(terms.name)));
}

Result<std::vector<PlanItem>> plan_items_in(std::string_view json_text, const std::string& file) {
  Result<std::vector<PlanItem>> items = parse_plan_items(json_text);
  if (items.has_value()) return items;
  return input_data_error(fmt::format("{}: {}", shown(file), items.error().message));
}

Result<std::vector<double>> parse_orders(const std::string& text) {
  std::vector<double> orders;
  if (text.empty()) return orders;
  for (const std::string_view part : split_list(text)) {
    NF_TRY(const double order, parse_number("an order", part));
    orders.push_back(order);
  }
  return orders;
}

Result<std::optional<TimeMs>> parse_optional_time(const std::string& text) {
  if (text.empty()) return std::optional<TimeMs>{};
  NF_TRY(const TimeMs time, parse_time(text));
  return std::optional(time);
}

}  // namespace noisefloor
