#include "noisefloor/pate/voting.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "noisefloor/random/discrete_gaussian.h"
#include "noisefloor/random/discrete_laplace.h"

namespace noisefloor {
namespace {

constexpr std::array<std::string_view, 3> kSourceNames{"teachers", "student", "none"};
constexpr double kCostGrid = 0x1p-10;   // the sanitised cost is rounded to it
constexpr double kLeastMove = 0x1p-20;  // far above what sums of doubles are off
constexpr double kNoiseSteps = 0x1p40;  // steps of noise in one smooth sensitivity

Result<void> check_poll(const Poll& poll) {
  if (poll.votes.empty()) return invalid_argument("there are no queries to answer");
  const std::size_t classes = poll.votes.front().size();
  for (const Votes& votes : poll.votes) {
    if (votes.size() < 2 || votes.size() != classes ||
        std::accumulate(votes.begin(), votes.end(), std::uint64_t{0}) != poll.teachers) {
      return internal_error("the votes of a query are not one vote of each teacher: nothing was answered");
    }
  }
  return success();
}

// The largest count, less what a student expects of it: whole votes, so that one moved vote moves it by 1 at most.
std::int64_t to_compare(const Votes& votes, const Prediction* prediction, std::size_t teachers) {
  std::int64_t largest = std::numeric_limits<std::int64_t>::min();
  for (std::size_t j = 0; j < votes.size(); ++j) {
    const double stated = prediction == nullptr ? 0 : static_cast<double>((*prediction)[j]);
    const double share = stated > 0 ? std::min(stated, 1.0) : 0;  // 0 for NaN, too
    const auto expected = static_cast<std::int64_t>(std::llround(static_cast<double>(teachers) * share));
    largest = std::max(largest, static_cast<std::int64_t>(votes[j]) - expected);
  }
  return largest;
}

template <class Noise, class Source>
std::int32_t noised_winner(const Votes& votes, const Noise& noise, Source& source) {
  std::int32_t winner = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  for (std::size_t j = 0; j < votes.size(); ++j) {
    const std::int64_t count = static_cast<std::int64_t>(votes[j]) + noise.sample(source);
    if (count > most) {
      most = count;
      winner = static_cast<std::int32_t>(j);
    }
  }
  return winner;
}

// What the student predicts of a round; empty if there is none yet.
Result<std::vector<Prediction>> predictions_of(const Poll& poll, std::span<const QueryAnswer> so_far, std::size_t first,
                                               std::size_t last) {
  if (!poll.predict || first == 0) return std::vector<Prediction>{};
  NF_TRY(std::vector<Prediction> made, poll.predict(so_far, first, last));
  const std::size_t classes = poll.votes.front().size();
  const bool fits = made.size() == last - first &&
                    std::all_of(made.begin(), made.end(), [&](const Prediction& one) { return one.size() == classes; });
  if (!made.empty() && !fits) return internal_error("a student predicts a probability for each class, of each query");
  return made;
}

QueryAnswer own_answer(const Prediction* prediction, double confidence) {
  if (prediction == nullptr) return {};
  const auto best = std::max_element(prediction->begin(), prediction->end());
  if (!(*best >= confidence)) return {};
  return {LabelSource::kStudent, static_cast<std::int32_t>(best - prediction->begin())};
}

// What is the same for the noised arg-max of all aggregators.
template <class Noise, class Source>
Result<std::vector<QueryAnswer>> answer_with(const Noise& noise, const Poll& poll, const PateVotes& rules,
                                             const VoteCount& count, Source& source) {
  std::optional<DiscreteGaussian> comparison;
  if (has_threshold(rules.aggregator)) {
    if (!rules.threshold_noise) return invalid_argument("a threshold needs noise of its own");
    NF_TRY(comparison, DiscreteGaussian::create(*rules.threshold_noise));
  }
  const std::size_t queries = std::min<std::size_t>(poll.votes.size(), count.queries.value());
  const std::size_t rounds = std::max<std::size_t>(1, rules.rounds);
  std::vector<QueryAnswer> answers;
  std::uint64_t given = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::size_t last = queries * (round + 1) / rounds;
    const std::uint64_t most = (count.answers.value() * (round + 1) + rounds - 1) / rounds;
    const std::size_t first = answers.size();
    NF_TRY(const std::vector<Prediction> predictions, predictions_of(poll, answers, first, last));
    for (std::size_t i = first; i < last && given < most; ++i) {
      const Prediction* prediction = predictions.empty() ? nullptr : &predictions[i - first];
      if (comparison && to_compare(poll.votes[i], prediction, poll.teachers) + comparison->sample(source) <
                            static_cast<std::int64_t>(rules.threshold)) {
        answers.push_back(own_answer(prediction, rules.own_confidence));
        continue;
      }
      answers.push_back({LabelSource::kTeachers, noised_winner(poll.votes[i], noise, source)});
      ++given;
    }
  }
  return answers;
}

// A poll in which all teachers agree, to try a question without a vote.
Poll rehearsed_poll(const VoteTerms& terms) {
  Votes votes(terms.classes.size());
  votes[0] = static_cast<std::uint32_t>(terms.teachers);
  return {std::vector<Votes>(terms.count.queries.value(), votes), terms.teachers, {}};
}

AnswerTable table_of(const std::vector<QueryAnswer>& answers, const VoteTerms& terms) {
  AnswerColumn::Integers queries;
  AnswerColumn::Integers labels;
  AnswerColumn::Texts names;
  AnswerColumn::Texts sources;
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const bool is_labelled = answers[i].source != LabelSource::kNone;
    queries.push_back(static_cast<std::int64_t>(terms.queries[i]));
    labels.push_back(is_labelled ? answers[i].label : 0);
    names.push_back(is_labelled ? terms.classes[static_cast<std::size_t>(answers[i].label)] : "");
    sources.emplace_back(name_of(answers[i].source));
    if (!is_labelled) missing.push_back(i);
  }
  AnswerColumn label{"label", std::move(labels)};
  AnswerColumn name{"name", std::move(names)};
  label.missing = missing;
  name.missing = std::move(missing);
  return {{{"query", std::move(queries)}, std::move(label), std::move(name), {"source", std::move(sources)}}};
}

std::int64_t count_of(const std::vector<QueryAnswer>& answers, LabelSource source) {
  return std::count_if(answers.begin(), answers.end(), [&](const QueryAnswer& one) { return one.source == source; });
}

// The data-dependent cost of the answers that were given, with noise. Comparisons are charged whatever they find.
template <RandomSource Source>
Result<AnswerValue> sanitised_cost(const Poll& poll, const std::vector<QueryAnswer>& answers, const VoteTerms& terms,
                                   Source& source) {
  const Sanitising& how = *terms.sanitised;
  const auto classes = static_cast<std::uint32_t>(terms.classes.size());
  NF_TRY(const SmoothedBound bound, SmoothedBound::create(terms.rules.noise, classes, how.order, VoteNoise::kDiscrete));
  std::vector<Votes> answered;
  double sum = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].source != LabelSource::kTeachers) continue;
    answered.push_back(poll.votes[i]);
    sum += bound.cost(poll.votes[i]);
  }
  if (terms.rules.threshold_noise) {
    const double s = terms.rules.threshold_noise->value();
    sum += static_cast<double>(terms.count.queries.value()) * how.order / (2 * s * s);
  }
  NF_TRY(const double smooth,
         answered.empty() ? Result<double>(0.0) : smooth_sensitivity(bound, answered, how.smoothness));
  // Where all agree, roundings of the sum would move it more than a vote does: the smooth sensitivity counts as
  // kLeastMove there, which keeps it smooth. The last bits of the sum follow from the votes, so they are rounded away
  // after noise was added.
  const double scale = std::max(smooth, kLeastMove) * (1 + 1e-5);
  NF_TRY(const NoiseScale steps, NoiseScale::make(how.noise.value() * kNoiseSteps));
  NF_TRY(const DiscreteGaussian noise, DiscreteGaussian::create(steps));
  const double drawn = static_cast<double>(noise.sample(source)) / kNoiseSteps;
  const double released = std::clamp(std::round((sum + scale * drawn) / kCostGrid) * kCostGrid, 0.0, 0x1p30);
  return AnswerValue{"data_dependent_divergence", released, kCostGrid, {}};
}

}  // namespace

std::string_view name_of(LabelSource source) { return kSourceNames.at(static_cast<std::size_t>(source)); }

template <RandomSource Source>
Result<std::vector<QueryAnswer>> answer_queries(const Poll& poll, const PateVotes& rules, const VoteCount& count,
                                                Source& source) {
  NF_TRY_VOID(check_poll(poll));
  if (rules.aggregator == Aggregator::kLnMax) {
    NF_TRY(const DiscreteLaplace noise, DiscreteLaplace::create(rules.noise));
    return answer_with(noise, poll, rules, count, source);
  }
  NF_TRY(const DiscreteGaussian noise, DiscreteGaussian::create(rules.noise));
  return answer_with(noise, poll, rules, count, source);
}

template Result<std::vector<QueryAnswer>> answer_queries(const Poll&, const PateVotes&, const VoteCount&,
                                                         SecureRandom&);
template Result<std::vector<QueryAnswer>> answer_queries(const Poll&, const PateVotes&, const VoteCount&,
                                                         ReplayRandom&);

Result<DpStatement> votes_statement(const VoteTerms& terms) {
  NF_TRY(DpEvent event, votes_event(terms.rules, terms.count));
  if (terms.sanitised) {
    NF_TRY(DpEvent number, sanitising_event(*terms.sanitised));
    event = ComposedEvent{{std::move(event), std::move(number)}};
  }
  return DpStatement{terms.adjacency, terms.unit, std::move(event)};
}

Result<Question> votes_question(VoteTerms terms, std::shared_ptr<const Poll> poll) {
  NF_TRY_VOID(check_poll(*poll));
  if (terms.queries.size() < poll->votes.size() || poll->votes.size() < terms.count.queries.value()) {
    return internal_error("there are fewer votes than queries to answer");
  }
  NF_TRY(DpStatement statement, votes_statement(terms));
  Question question{"votes", std::move(statement), terms.rules.target_delta};
  question.asked = AskedFor{terms.rules.target_epsilon};
  question.configuration = terms.configuration;
  question.data = terms.data;
  const auto about = std::make_shared<const VoteTerms>(std::move(terms));
  const auto draw = [about, stated = question.statement](const Poll& asked, auto& source) -> Result<Drawn> {
    using Source = std::decay_t<decltype(source)>;
    NF_TRY(const std::vector<QueryAnswer> answers, answer_queries(asked, about->rules, about->count, source));
    AnswerContent content{
        {{"labels", table_of(answers, *about)},
         {"asked", static_cast<std::int64_t>(answers.size())},
         {"answered", count_of(answers, LabelSource::kTeachers)},
         {"refused", static_cast<std::int64_t>(answers.size()) - count_of(answers, LabelSource::kTeachers)}}};
    content.facts.push_back({"teachers", static_cast<std::int64_t>(about->teachers)});
    content.facts.push_back({"noise", about->rules.noise.value(), "on each count of votes"});
    if (about->rules.threshold_noise) {
      content.facts.push_back(
          {"threshold", static_cast<std::int64_t>(about->rules.threshold), "votes from which a query is answered"});
      content.facts.push_back({"threshold_noise", about->rules.threshold_noise->value(), "on the largest count"});
      content.facts.push_back({"queries", static_cast<std::int64_t>(about->count.queries.value()), "charged"});
    }
    content.facts.push_back({"answers", static_cast<std::int64_t>(about->count.answers.value()), "charged"});
    if (about->sanitised) {
      NF_TRY(AnswerValue cost, sanitised_cost(asked, answers, *about, source));
      content.values.push_back(std::move(cost));
      content.facts.push_back({"order", about->sanitised->order, "of data_dependent_divergence, a Rényi divergence"});
    }
    Release<Source, AnswerContent> release(std::move(content), stated);
    return Drawn{release.value(), release.statement()};
  };
  question.draw = [draw, poll](SecureRandom& random) { return draw(*poll, random); };
  question.rehearse = [draw, about](ReplayRandom& random) { return draw(rehearsed_poll(*about), random); };
  return question;
}

Result<std::vector<ReleasedLabel>> labels_of(const Answer& answer) {
  const Error other = input_data_error("the answer does not hold the labels of a vote");
  const AnswerValue* value = find_value(answer, "labels");
  const auto* table = value == nullptr ? nullptr : std::get_if<AnswerTable>(&value->value);
  if (answer.mechanism != "votes" || table == nullptr) return other;
  const auto column = [&]<class Cells>(std::string_view name, const Cells* /*kind*/) -> const Cells* {
    const AnswerColumn* found = table->find(name);
    return found == nullptr ? nullptr : std::get_if<Cells>(&found->cells);
  };
  const auto* queries = column("query", static_cast<const AnswerColumn::Integers*>(nullptr));
  const auto* labels = column("label", static_cast<const AnswerColumn::Integers*>(nullptr));
  const auto* sources = column("source", static_cast<const AnswerColumn::Texts*>(nullptr));
  if (queries == nullptr || labels == nullptr || sources == nullptr) return other;
  std::vector<ReleasedLabel> all;
  for (std::size_t i = 0; i < table->rows(); ++i) {
    const auto source = std::find(kSourceNames.begin(), kSourceNames.end(), (*sources)[i]);
    if (source == kSourceNames.end() || (*queries)[i] < 0 || (*labels)[i] < 0) return other;
    all.push_back({static_cast<std::uint64_t>((*queries)[i]),
                   {static_cast<LabelSource>(source - kSourceNames.begin()), static_cast<std::int32_t>((*labels)[i])}});
  }
  return all;
}

}  // namespace noisefloor
