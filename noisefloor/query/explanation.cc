// What asking would do, in words: EXPLAIN (PRIVACY).
#include "noisefloor/query/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/base/text.h"

namespace noisefloor::query {
namespace {

std::string number(double x) { return fmt::format("{:.6g}", x); }

std::string list_of(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ", ")); }

// "2 of steps of 0.01: 0.02"
std::string moved(double steps, double step) {
  return step == 1 ? number(steps)
                   : fmt::format("{} ({} steps of {})", number(steps * step), number(steps), number(step));
}

void add_keys(const Plan& plan, const PlanNoise& noise, std::string& text) {
  if (plan.keys.empty()) return;
  std::vector<std::string> names;
  for (const KeyColumn& key : plan.keys) names.push_back(key.label + (key.is_public ? " (public)" : " (private)"));
  text += fmt::format("  groups          {}\n", list_of(names));
  if (!noise.keys) {
    text +=
        fmt::format("  rows            always the same {}, also those without anybody in them; no delta is needed\n",
                    plan.measurement.listed->size());
    return;
  }
  const KeySelection& keys = *noise.keys;
  text += fmt::format("  named if        the noised number of units reaches {} ({}; epsilon {}, delta {:g})\n",
                      number(keys.threshold()), name_of(keys.rule()), number(keys.terms().epsilon.value()),
                      keys.terms().delta.value());
  std::vector<std::string> chances;
  const auto middle = static_cast<double>(keys.fewest_units());
  for (const double share : {0.5, 0.8, 1.0, 1.2, 1.5}) {
    const auto units = static_cast<std::uint64_t>(std::max(1.0, std::round(middle * share)));
    chances.push_back(fmt::format("{} units {:.3g} %", units, 100 * keys.keep_probability(units)));
  }
  text += fmt::format("  chance          {}\n", list_of(chances));
}

void add_quantity(const Plan& plan, std::size_t i, const PlanNoise& noise, const NoiseTerms& terms, std::string& text) {
  const Quantity& quantity = plan.quantities[i];
  const QuantityNoise& one = noise.quantities[i];
  text += fmt::format("  {:<15} {}\n", i == 0 ? "numbers" : "",
                      quantity.label + (quantity.hidden ? " (not shown, and bought)" : ""));
  const auto line = [&](const std::string& words) { text += fmt::format("  {:<17} {}\n", "", words); };
  if (one.kind == QuantityNoise::Kind::kExponential) {
    line(fmt::format("one unit moves ranks in {} groups by at most {} rows", quantity.groups, quantity.per_group));
    line(fmt::format("exponential mechanism, epsilon {} in a group: with {:g} % the wanted rank is within {} rows",
                     number(one.epsilon), 100 * terms.confidence.value(), number(one.rank_error)));
    return;
  }
  line(fmt::format("one unit moves all groups together by at most {} (L1), {} (L2)",
                   moved(static_cast<double>(quantity.l1), quantity.step), number(quantity.l2 * quantity.step)));
  if (one.kind == QuantityNoise::Kind::kKeySelection) {
    line("given with the choice of groups, and not paid for a second time");
  } else if (one.kind == QuantityNoise::Kind::kLaplace) {
    line(fmt::format("Laplace noise of scale {}", number(one.error.laplace[0].first)));
  } else {
    line(fmt::format("Gaussian noise of standard deviation {}", number(std::sqrt(one.error.gaussian_variance))));
  }
  line(fmt::format("standard deviation {}; {:g} % within {}", number(std::sqrt(variance_of(one.error))),
                   100 * terms.confidence.value(), number(half_width(one.error, terms.confidence))));
}

void add_after(const Plan& plan, std::string& text) {
  std::vector<std::string> after;
  for (const Derived& derived : plan.derived) after.push_back(derived.label);
  if (!plan.groupings.empty()) after.emplace_back("coarser groups, as sums of the finest");
  if (plan.having) after.emplace_back("HAVING");
  if (!plan.order.empty()) after.emplace_back("ORDER BY");
  if (plan.limit || plan.offset > 0) after.emplace_back("LIMIT and OFFSET");
  if (!after.empty()) text += fmt::format("  after noise     {}: free\n", list_of(after));
}

void add_sql(const Plan& plan, engine::Engine* engine, const std::string& why_not, std::string& text) {
  if (engine == nullptr) {
    text += fmt::format("  sent            is not shown: {}\n", why_not);
    return;
  }
  Secret32 nobodys;
  const Result<std::vector<std::string>> sent = engine->explain(measurement_of(plan, std::move(nobodys)));
  if (!sent.has_value()) return;
  for (std::size_t i = 0; i < sent.value().size(); ++i) {
    text += fmt::format("  sent to {}\n",
                        sent.value().size() == 1 ? engine->name() : fmt::format("{} {}", engine->name(), i + 1));
    std::string_view rest = sent.value()[i];
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      text += fmt::format("    {}\n", rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
}

std::string in_words(const NoiseSplit& split) {
  const auto one = [](const char* name, const std::optional<double>& error) {
    return error ? fmt::format("{} {}", name, number(*error)) : fmt::format("{} not possible", name);
  };
  if (!split.laplace_error && !split.gaussian_error) return "";
  return fmt::format("  noise           {}, by errors in units of the numbers' scales: {}, {}\n", name_of(split.noise),
                     one("laplace", split.laplace_error), one("gaussian", split.gaussian_error));
}

}  // namespace

std::string explained(const DatasetDescription& description, std::span<const Plan> plans, const NoiseSplit& split,
                      const NoiseTerms& terms, engine::Engine* engine, const std::string& why_not) {
  std::string text = fmt::format("Dataset {}, which protects every {} ({}).\n", shown(description.name),
                                 name_of(split.statement.unit), name_of(split.statement.adjacency));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Plan& plan = plans[i];
    if (plans.size() > 1) text += fmt::format("Query {}\n", i + 1);
    for (std::size_t n = 0; n < plan.notes.size(); ++n) {
      text += fmt::format("  {:<15} {}\n", n == 0 ? "bounds" : "", plan.notes[n]);
    }
    add_keys(plan, split.plans[i], text);
    for (std::size_t q = 0; q < plan.quantities.size(); ++q) add_quantity(plan, q, split.plans[i], terms, text);
    add_after(plan, text);
    add_sql(plan, engine, why_not, text);
  }
  text += plans.size() > 1 ? "Together\n" : "";
  text += in_words(split);
  text += fmt::format("  cost            epsilon {} at delta {:g}\n", number(split.epsilon.upper), split.delta.value());
  return text;
}

}  // namespace noisefloor::query
