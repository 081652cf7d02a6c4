#include "noisefloor/statistics/choice_questions.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "noisefloor/mechanisms/randomized_response.h"
#include "noisefloor/statistics/question_parts.h"

namespace noisefloor {
namespace {

using internal::begin_question;
using internal::Json;
using internal::scale_fact;

AnswerTable table_of_chosen(const std::vector<std::size_t>& chosen, const std::vector<std::string>& names) {
  AnswerColumn::Integers indices;
  AnswerColumn::Texts texts;
  for (const std::size_t index : chosen) {
    indices.push_back(static_cast<std::int64_t>(index));
    texts.push_back(names[index]);
  }
  return {{{"index", std::move(indices)}, {"name", std::move(texts)}}};
}

}  // namespace

Result<Question> selection_question(NamedNumbers candidates, const SelectionQuery& query) {
  NF_TRY_VOID(internal::expect_named(candidates.names.size(), candidates.numbers.size()));
  NF_TRY(const Steps choices, Steps::make(query.top));
  NF_TRY(const Epsilon each, Epsilon::make(query.epsilon.value() / static_cast<double>(query.top)));
  NF_TRY(const SelectionMechanism selection, SelectionMechanism::create(query.sensitivity, each, query.options));
  Json parameters = internal::parameters_of(query.sensitivity);
  parameters.update(Json{{"top", query.top},
                         {"monotonic", query.options.monotonic},
                         {"candidates", candidates.names.size()},
                         {"names", internal::digest_of_names(candidates.names)}});
  Question question = begin_question(name_of(query.options.rule), selection.statement_of_top(choices), query.epsilon,
                                     Delta::of(0), std::move(parameters));
  const auto data = std::make_shared<const NamedNumbers>(std::move(candidates));
  question.draw_by([selection, data, query](auto& source) -> Result<Drawn> {
    NF_TRY(const auto release, selection.release_top(data->numbers, query.top, source));
    const double gap = selection.score_gap_bound(data->numbers.size(), query.confidence);
    return Drawn{{{{"chosen", table_of_chosen(release.value(), data->names)}},
                  {{"score_gap", query.confidence, gap}},
                  {scale_fact(selection.scale(), "a score lower by this is about e times less likely")}},
                 release.statement()};
  });
  return question;
}

Result<Question> threshold_question(NamedNumbers answers, const Sensitivity& sensitivity, Epsilon epsilon,
                                    AboveThresholdOptions options) {
  NF_TRY_VOID(internal::expect_named(answers.names.size(), answers.numbers.size()));
  NF_TRY(const DpStatement statement, above_threshold_statement(sensitivity, epsilon));
  Json parameters = internal::parameters_of(sensitivity);
  parameters.update(Json{{"threshold", options.threshold},
                         {"max_above", options.max_above},
                         {"monotonic", options.monotonic},
                         {"asked", answers.names.size()}});
  Question question = begin_question("above-threshold", statement, epsilon, Delta::of(0), std::move(parameters));
  const auto data = std::make_shared<const NamedNumbers>(std::move(answers));
  question.draw_by([=](auto& source) -> Result<Drawn> {
    using Source = std::decay_t<decltype(source)>;
    NF_TRY(auto mechanism, AboveThreshold<Source>::create(sensitivity, epsilon, options, source));
    AnswerColumn::Texts names;
    AnswerColumn::Truths replies;
    for (std::size_t i = 0; i < data->numbers.size() && mechanism.above_left() > 0; ++i) {
      NF_TRY(const bool above, mechanism.ask(data->numbers[i]));
      names.push_back(data->names[i]);
      replies.push_back(above);
    }
    AnswerTable table{{{"name", std::move(names)}, {"above", std::move(replies)}}};
    return Drawn{{{{"replies", std::move(table)}}, {}, {scale_fact(mechanism.answer_scale(), "on each answer")}},
                 mechanism.statement()};
  });
  return question;
}

Result<Question> response_question(std::uint64_t truth, Categories categories, PrivacyUnit unit, Epsilon epsilon) {
  NF_TRY(const RandomizedResponse response, RandomizedResponse::create(epsilon, categories, unit));
  Question question = begin_question("randomized-response", response.statement(), epsilon, Delta::of(0),
                                     Json{{"categories", categories.value()}});
  question.draw_by([=](auto& source) -> Result<Drawn> {
    NF_TRY(const auto release, response.release(truth, source));
    return Drawn{{{{"value", static_cast<std::int64_t>(release.value())}},
                  {},
                  {{"truth_probability", response.truth_probability()}}},
                 release.statement()};
  });
  return question;
}

}  // namespace noisefloor
