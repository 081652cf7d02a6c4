#include "noisefloor/query/noise.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

#include "noisefloor/base/hex.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/mechanisms/release.h"
#include "noisefloor/query/bought.h"
#include "noisefloor/query/shown_table.h"

namespace noisefloor::query {
namespace {

std::string numbered(const char* name, std::size_t i, std::size_t plans) {
  return plans == 1 ? std::string(name) : fmt::format("{} {}", name, i + 1);
}

std::string of_plan(std::size_t i, std::size_t plans) { return plans == 1 ? "" : fmt::format(" in query {}", i + 1); }

// The noise on every number, in words: the same for all rows.
void add_facts(const Plan& plan, const PlanNoise& noise, const std::string& where, Confidence confidence,
               AnswerContent& content) {
  if (noise.keys) {
    content.facts.push_back({"named groups" + where, noise.keys->threshold(),
                             fmt::format("groups are named whose noised number of units is at least this ({})",
                                         name_of(noise.keys->rule()))});
  }
  std::map<std::string, int> seen;
  for (std::size_t i = 0; i < plan.quantities.size(); ++i) {
    const Quantity& quantity = plan.quantities[i];
    const QuantityNoise& one = noise.quantities[i];
    std::string name = quantity.label;
    if (const int times = ++seen[name]; times > 1) name += fmt::format(" {}", times);
    name += where;
    if (one.kind == QuantityNoise::Kind::kExponential) {
      content.bounds.push_back({"ranks of " + name, confidence, one.rank_error});
      continue;
    }
    const bool gaussian = one.error.laplace.empty();
    content.facts.push_back({"noise on " + name,
                             gaussian ? std::sqrt(one.error.gaussian_variance) : one.error.laplace[0].first,
                             gaussian ? "standard deviation of Gaussian noise" : "scale of Laplace noise"});
  }
}

}  // namespace

std::string table_name(std::size_t i, std::size_t plans) { return numbered("answer", i, plans); }
std::string bought_name(std::size_t i, std::size_t plans) { return numbered("noised", i, plans); }

std::string key_of(const Question& question) {
  return "query-" + to_hex(blake2b(question.configuration)).substr(0, 32);
}

Result<Question> queries_question(Plans asked, const NoiseTerms& terms, std::shared_ptr<engine::Engine> engine) {
  NF_TRY(NoiseSplit made, split_budget(*asked, terms));
  return queries_question(std::move(asked), terms, std::move(engine),
                          std::make_shared<const NoiseSplit>(std::move(made)));
}

Question queries_question(Plans asked, const NoiseTerms& terms, std::shared_ptr<engine::Engine> engine,
                          std::shared_ptr<const NoiseSplit> split) {
  Question question{kQueryMechanism, split->statement, split->delta, AskedFor{terms.epsilon}};
  question.configuration = configuration_of(*asked, *split, terms);
  const Confidence confidence = terms.confidence;
  const auto content_of = [asked, split, confidence](const std::vector<NoisedGroups>& noised) {
    AnswerContent content;
    const std::size_t count = asked->size();
    for (std::size_t i = 0; i < count; ++i) {
      const Plan& plan = (*asked)[i];
      content.values.push_back({table_name(i, count), shown_table(plan, noised[i], confidence)});
      content.values.push_back({bought_name(i, count), bought_table(plan, noised[i])});
      add_facts(plan, split->plans[i], of_plan(i, count), confidence, content);
    }
    return content;
  };
  question.draw = [asked, split, engine, content_of](SecureRandom& random) -> Result<Drawn> {
    std::vector<NoisedGroups> noised;
    for (std::size_t i = 0; i < asked->size(); ++i) {
      NF_TRY(NoisedGroups one, measure_with_noise((*asked)[i], split->plans[i], *engine, random));
      noised.push_back(std::move(one));
    }
    return Drawn{content_of(noised), split->statement};
  };
  question.rehearse = [asked, split, content_of](ReplayRandom& random) -> Result<Drawn> {
    std::vector<NoisedGroups> noised;
    for (std::size_t i = 0; i < asked->size(); ++i) noised.push_back(noise_alone((*asked)[i], split->plans[i], random));
    return Drawn{content_of(noised), mark_as_replayed(split->statement)};
  };
  return question;
}

Result<UnnoisedAnswer> answer_without_noise(std::span<const Plan> plans, const NoiseTerms& terms,
                                            engine::Engine& engine, const WithoutNoise& none) {
  NF_TRY(NoiseSplit split, split_budget(plans, terms));
  UnnoisedAnswer made{std::move(split), {}, {}};
  for (std::size_t i = 0; i < plans.size(); ++i) {
    NF_TRY(UnnoisedGroups groups, measure_with_noise(plans[i], made.split.plans[i], engine, none));
    made.tables.push_back(shown_table(plans[i], groups.groups, terms.confidence));
    made.groups.push_back(std::move(groups));
  }
  return made;
}

}  // namespace noisefloor::query
