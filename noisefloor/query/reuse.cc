#include "noisefloor/query/reuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "noisefloor/engine/evaluate.h"
#include "noisefloor/query/bought.h"
#include "noisefloor/query/canonical.h"
#include "noisefloor/query/noise.h"
#include "noisefloor/query/shown_table.h"
#include "noisefloor/release/answer_road.h"
#include "noisefloor/release/verify_release.h"

namespace noisefloor::query {
namespace {

using engine::Cell;
using engine::Expression;
using engine::Type;
using engine::Value;

// The expression over the keys of a bought table, as columns k0, k1, …; nothing if it needs anything else.
std::optional<Expression> over_keys(const Expression& e, const BoughtPlan& bought) {
  const std::string digest = digest_of_text(canonical_text(e));
  for (std::size_t i = 0; i < bought.keys.size(); ++i) {
    if (bought.keys[i] == digest && bought.key_types[i] == e.type) return engine::column(fmt::format("k{}", i), e.type);
  }
  if (e.function == engine::Function::kColumn) return std::nullopt;
  Expression made = e;
  for (Expression& argument : made.arguments) {
    std::optional<Expression> one = over_keys(argument, bought);
    if (!one) return std::nullopt;
    argument = std::move(*one);
  }
  return made;
}

Value value_at(const Expression& e, const NoisedGroup& group, const BoughtPlan& bought) {
  return engine::evaluate(e, [&](std::string_view name) -> Value {
    const std::size_t place = std::stoul(std::string(name.substr(1)));
    const Cell& cell = group.keys[place];
    if (const auto* text = std::get_if<std::string>(&cell)) return *text;
    const auto* whole = std::get_if<std::int64_t>(&cell);
    if (whole == nullptr) return {};
    if (bought.key_types[place] == Type::kTruth) return *whole != 0;
    return *whole;
  });
}

Cell cell_of(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* truth = std::get_if<bool>(&value)) return static_cast<std::int64_t>(*truth);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

// How a number of the plan is computed from bought ones: the one at `place`, less `times` the one at `count`.
struct Recipe {
  std::size_t place = 0;
  std::size_t count = 0;
  double times = 0;
};

std::optional<std::size_t> place_of(const BoughtPlan& bought, const std::string& text) {
  const std::string digest = digest_of_text(text);
  for (std::size_t i = 0; i < bought.quantities.size(); ++i) {
    if (bought.quantities[i].digest == digest) return i;
  }
  return std::nullopt;
}

// The sum about a centre, by the sum and the count of an average.
std::optional<Recipe> from_plain_sum(const Plan& plan, std::size_t quantity, const BoughtPlan& bought) {
  for (const Derived& derived : plan.derived) {
    if (derived.kind != Derived::Kind::kMean || derived.sum != quantity) continue;
    const auto sum = place_of(bought, derived.plain_sum);
    const auto count = place_of(bought, plan.origin.quantities[derived.count]);
    if (sum && count) return Recipe{*sum, *count, derived.centre};
  }
  return std::nullopt;
}

std::optional<std::vector<Recipe>> recipes_for(const Plan& plan, const BoughtPlan& bought) {
  std::vector<Recipe> recipes;
  for (std::size_t i = 0; i < plan.quantities.size(); ++i) {
    std::optional<Recipe> recipe;
    if (const auto place = place_of(bought, plan.origin.quantities[i])) recipe = Recipe{*place};
    if (!recipe) recipe = from_plain_sum(plan, i, bought);
    if (!recipe) return std::nullopt;
    recipes.push_back(*recipe);
  }
  return recipes;
}

bool adds_up(Quantity::Kind kind) { return kind == Quantity::Kind::kCount || kind == Quantity::Kind::kSum; }

NoisedGroup group_by(const std::vector<Recipe>& recipes, std::vector<Cell> keys, const NoisedGroup& from) {
  NoisedGroup made{std::move(keys), {}, from.parts};
  for (const Recipe& recipe : recipes) {
    double number = from.numbers[recipe.place];
    if (recipe.times != 0) number -= recipe.times * from.numbers[recipe.count];
    made.numbers.push_back(number);
  }
  return made;
}

// A plan that is seen to follow from a bought one.
class Derivation {
 public:
  Derivation(const Plan& plan, const BoughtPlan& bought) : plan_(plan), bought_(bought) {}

  std::optional<NoisedGroups> from(const std::vector<NoisedGroup>& groups) {
    is_same_ = measured_digest(plan_) == bought_.measured && plan_.quantities.size() == bought_.quantities.size();
    if (!is_same_ && !finds_conditions()) return std::nullopt;
    const auto recipes = is_same_ ? all_places() : recipes_for(plan_, bought_);
    if (!recipes) return std::nullopt;
    NoisedGroups made;
    for (const Recipe& recipe : *recipes) {
      const BoughtQuantity& one = bought_.quantities[recipe.place];
      ErrorLaw error = one.error;
      if (recipe.times != 0) {
        error = sum_of(error, scaled(bought_.quantities[recipe.count].error, recipe.times));
      }
      made.errors.push_back(std::move(error));
      made.has_error.push_back(one.has_error);
    }
    if (has_same_groups()) {
      for (const NoisedGroup& group : groups) made.groups.push_back(group_by(*recipes, group.keys, group));
      return made;
    }
    if (plan_.private_keys || !bought_.listed || !add_groups(groups, *recipes, made)) return std::nullopt;
    return made;
  }

  [[nodiscard]] std::string how() const {
    if (has_same_groups()) return "the same numbers";
    return adds_up_ ? "sums of finer groups; rows in none of their public groups are not in them"
                    : "the groups that the conditions keep";
  }

 private:
  bool finds_conditions() {
    if (digest_of_text(plan_.origin.rows) != bought_.rows) return false;
    std::set<std::string> wanted(bought_.conditions.begin(), bought_.conditions.end());
    std::set<std::string> met;
    for (const Expression& condition : plan_.origin.conditions) {
      const std::string digest = digest_of_text(canonical_text(condition));
      if (wanted.contains(digest)) {
        met.insert(digest);
        continue;
      }
      std::optional<Expression> rewritten = over_keys(condition, bought_);
      if (!rewritten) return false;
      further_.push_back(std::move(*rewritten));
    }
    return met.size() == wanted.size();
  }

  [[nodiscard]] std::optional<std::vector<Recipe>> all_places() const {
    std::vector<Recipe> recipes(plan_.quantities.size());
    for (std::size_t i = 0; i < recipes.size(); ++i) recipes[i].place = i;
    return recipes;
  }

  [[nodiscard]] bool has_same_groups() const {
    if (is_same_) return true;
    if (!further_.empty() || bought_.listed == plan_.private_keys) return false;
    std::vector<std::string> keys;
    for (const Expression& key : plan_.origin.keys) keys.push_back(digest_of_text(canonical_text(key)));
    return keys == bought_.keys;
  }

  bool add_groups(const std::vector<NoisedGroup>& groups, const std::vector<Recipe>& recipes, NoisedGroups& made) {
    std::vector<Expression> keys;
    for (const Expression& key : plan_.origin.keys) {
      std::optional<Expression> rewritten = over_keys(key, bought_);
      if (!rewritten) return false;
      keys.push_back(std::move(*rewritten));
    }
    std::map<std::vector<Cell>, std::size_t> places;
    const std::vector<std::vector<Cell>> all{{}};
    for (const std::vector<Cell>& listed : plan_.measurement.listed ? *plan_.measurement.listed : all) {
      places.emplace(listed, made.groups.size());
      made.groups.push_back({listed, std::vector<double>(plan_.quantities.size(), 0), 0});
    }
    for (const NoisedGroup& group : groups) {
      const bool kept = std::all_of(further_.begin(), further_.end(), [&](const Expression& condition) {
        const Value holds = value_at(condition, group, bought_);
        return std::holds_alternative<bool>(holds) && std::get<bool>(holds);
      });
      if (!kept) continue;
      std::vector<Cell> cells;
      for (const Expression& key : keys) cells.push_back(cell_of(value_at(key, group, bought_)));
      const auto at = places.find(cells);
      if (at == places.end()) continue;
      const NoisedGroup part = group_by(recipes, cells, group);
      NoisedGroup& sum = made.groups[at->second];
      for (std::size_t i = 0; i < part.numbers.size(); ++i) sum.numbers[i] += part.numbers[i];
      sum.parts += part.parts;
    }
    // A group that nothing was bought for has no number, and only some numbers add up.
    adds_up_ = std::any_of(made.groups.begin(), made.groups.end(), [](const NoisedGroup& g) { return g.parts > 1; });
    if (std::any_of(made.groups.begin(), made.groups.end(), [](const NoisedGroup& g) { return g.parts == 0; })) {
      return false;
    }
    return !adds_up_ || std::all_of(plan_.quantities.begin(), plan_.quantities.end(),
                                    [](const Quantity& quantity) { return adds_up(quantity.kind); });
  }

  const Plan& plan_;
  const BoughtPlan& bought_;
  std::vector<Expression> further_;  // conditions on bought groups
  bool is_same_ = false;             // all that is measured is the same
  bool adds_up_ = false;
};

// Σ variance over the public scales, of the worst group.
double error_of(const Plan& plan, const NoisedGroups& groups) {
  double parts = 1;
  for (const NoisedGroup& group : groups.groups) parts = std::max(parts, group.parts);
  double sum = 0;
  for (std::size_t i = 0; i < plan.quantities.size(); ++i) {
    const double scale = plan.quantities[i].scale;
    sum += parts * variance_of(groups.errors[i]) / (scale * scale);
  }
  return sum;
}

// The ledger sorts the names in a configuration.
bool says_the_same(const std::string& a, const std::string& b) {
  const auto one = nlohmann::json::parse(a, nullptr, false);
  return one.is_object() && one == nlohmann::json::parse(b, nullptr, false);
}

// The answer that a ledger kept, if it is one of queries about the dataset, and if all that it says fits together.
Result<std::optional<KeptQueries>> read_kept(const KeptAnswer& one, const AnswerDataset& dataset) {
  NF_TRY(VerifiedRelease verified, verify_release(one.bytes));
  Certificate& certificate = verified.certificate.certificate;
  NF_TRY(const std::optional<Answer> answer, read_answer({one.bytes, certificate, verified.certificate_text}));
  const bool is_about = answer && answer->mechanism == kQueryMechanism && !answer->replayed && answer->dataset &&
                        answer->dataset->name == dataset.name && answer->dataset->digest == dataset.digest;
  if (!is_about || !says_the_same(answer->configuration, one.configuration)) return std::optional<KeptQueries>{};
  const Result<Bought> bought = parse_bought(one.configuration);
  if (!bought.has_value()) return std::optional<KeptQueries>{};
  KeptQueries kept{one.reservation, bought.value().epsilon, one.configuration, {}};
  for (std::size_t i = 0; i < bought.value().plans.size(); ++i) {
    const AnswerValue* const value = find_value(*answer, bought_name(i, bought.value().plans.size()));
    const auto* table = value == nullptr ? nullptr : std::get_if<AnswerTable>(&value->value);
    if (table == nullptr) return std::optional<KeptQueries>{};
    kept.bought.push_back(*table);
  }
  return std::optional<KeptQueries>(std::move(kept));
}

}  // namespace

Result<std::vector<KeptQueries>> answers_in(Ledger& ledger, const std::string& budget, const AnswerDataset& dataset,
                                            std::uint64_t since) {
  std::vector<KeptQueries> all;
  NF_TRY_VOID(ledger.kept_answers(budget, kQueryMechanism, [&](const KeptAnswer& one) -> Result<void> {
    if (one.reservation <= since) return success();
    NF_TRY(std::optional<KeptQueries> kept, read_kept(one, dataset));
    if (kept) all.push_back(std::move(*kept));
    return success();
  }));
  return all;
}

Result<std::optional<DerivedAnswer>> derived_answer(const Plan& plan, Epsilon at_least,
                                                    std::span<const KeptQueries> kept) {
  std::optional<DerivedAnswer> best;
  double least = 0;
  for (const KeptQueries& one : kept) {
    if (one.epsilon < at_least.value()) continue;
    NF_TRY(const Bought bought, parse_bought(one.configuration));
    for (std::size_t i = 0; i < bought.plans.size() && i < one.bought.size(); ++i) {
      const BoughtPlan& from = bought.plans[i];
      NF_TRY(const std::vector<NoisedGroup> groups, groups_in(one.bought[i], from.key_types, from.quantities.size()));
      Derivation derivation(plan, from);
      std::optional<NoisedGroups> made = derivation.from(groups);
      if (!made) continue;
      const double error = error_of(plan, *made);
      if (best && error >= least) continue;
      least = error;
      best = DerivedAnswer{std::move(*made), one.reservation, derivation.how()};
    }
  }
  return best;
}

}  // namespace noisefloor::query
