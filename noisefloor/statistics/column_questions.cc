#include "noisefloor/statistics/column_questions.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "noisefloor/base/hex.h"
#include "noisefloor/base/input.h"
#include "noisefloor/base/text.h"
#include "noisefloor/dataset/column.h"
#include "noisefloor/statistics/number_questions.h"
#include "noisefloor/statistics/question_parts.h"

namespace noisefloor {
namespace {

using internal::Json;

Error needs_no_noise(const DatasetDescription& description) {
  return invalid_argument(fmt::format(
      "the dataset {} is public: no budget pays for it, and no noise is needed. Compute the statistic directly",
      shown(description.name)));
}

Result<Neighbours> neighbours_of(const DatasetDescription& description) {
  NF_TRY(const Rows each, Rows::make(description.unit.rows_per_person));
  const Adjacency adjacency = description.budget->adjacency;
  if (adjacency == Adjacency::kReplaceOne && each.value() > 1) {
    return invalid_argument(
        fmt::format("a person of the dataset {} may have {} rows, and exchanging a person changes how many rows there "
                    "are: there is no bound for that under replace-one. State rows_per_person = 1 or add-remove",
                    shown(description.name), each.value()));
  }
  return Neighbours{adjacency, description.unit.unit, each};
}

Result<Question> bounded_question(ColumnStatistic statistic, std::vector<double> numbers, double level,
                                  const BoundedQuery& bounded) {
  switch (statistic) {
    case ColumnStatistic::kMean:
      return mean_question(std::move(numbers), bounded);
    case ColumnStatistic::kQuantile:
      return quantile_question(std::move(numbers), level, bounded);
    case ColumnStatistic::kSum:
      break;
  }
  const auto each = [&](const std::function<Result<void>(double)>& take) -> Result<void> {
    for (const double number : numbers) NF_TRY_VOID(take(number));
    return success();
  };
  return sum_question(each, bounded);
}

// The question about this column of this dataset: a key that was used for another one is refused.
Question about(Question question, const DescribedRows& rows, const ColumnQuery& query) {
  Json configuration = Json::parse(question.configuration);
  configuration["dataset"] = rows.description.name;
  configuration["column"] = query.column;
  if (!rows.description.chosen.empty()) configuration["blocks"] = rows.description.chosen;
  question.configuration = configuration.dump();
  question.former_configuration.clear();
  question.data = "bounds and neighbours are those of the dataset's description, stated without looking at the data";
  return question;
}

// A question reads the rows of its blocks: those of others cannot pay for it.
Result<void> expect_its_blocks(const DatasetDescription& description, const Question& question) {
  const Json configuration = Json::parse(question.configuration, nullptr, false);
  const Json asked = configuration.is_object() ? configuration.value("blocks", Json::array()) : Json::array();
  if (asked == Json(description.chosen)) return success();
  return invalid_argument(fmt::format("the question is about other blocks of the dataset {} than those that are to pay",
                                      shown(description.name)));
}

}  // namespace

Result<Question> column_question(const DescribedRows& rows, const ColumnQuery& query, SecureRandom& random) {
  if (rows.description.is_public()) return needs_no_noise(rows.description);
  if (rows.description.blocks && rows.description.chosen.empty()) {
    return invalid_argument(fmt::format("the dataset {} has {}: name those that the question is about",
                                        shown(rows.description.name), in_words(*rows.description.blocks)));
  }
  NF_TRY(const NumericColumn column, find_column(rows.description, query.column));
  NF_TRY(const Bounds bounds, Bounds::make(column.lower, column.upper));
  NF_TRY(const Neighbours neighbours, neighbours_of(rows.description));
  const BoundedQuery bounded{neighbours, bounds, query.epsilon, query.delta, query.confidence};
  NF_TRY(std::vector<double> numbers, read_column(rows, column, random));
  NF_TRY(Question question, bounded_question(query.statistic, std::move(numbers), query.level, bounded));
  return about(std::move(question), rows, query);
}

Result<Question> file_question(const std::string& path, ColumnStatistic statistic, double level,
                               const BoundedQuery& query) {
  const std::optional<double> for_none = for_no_number(query);
  if (statistic == ColumnStatistic::kSum) {  // It takes no memory.
    return sum_question([&](const auto& take) { return for_each_number(path, for_none, take); }, query);
  }
  NF_TRY(std::vector<double> numbers, read_numbers(path, for_none));
  return bounded_question(statistic, std::move(numbers), level, query);
}

AnswerRequest request_about(const DatasetDescription& description, const DatasetAsker& asker) {
  return {description.budget ? description.budget->name : std::string(),
          asker.key,
          {asker.program_version, AnswerDataset{description.name, to_hex(digest_of(description))}},
          {},
          description.chosen};
}

Result<Outlook> outlook_about(const DatasetDescription& description, const Question& question,
                              const DatasetAsker& asker, Ledger* ledger) {
  if (description.is_public()) return needs_no_noise(description);
  NF_TRY_VOID(expect_its_blocks(description, question));
  NF_TRY(const ReserveRequest spend, spend_of(request_about(description, asker), question, ledger));
  return outlook_for(description.name, {spend}, terms_of(description), ledger, Repeats::kMustBeAnswered);
}

Result<ReleasedAnswer> ask_dataset(const DescribedRows& rows, const Question& question, const DatasetAsker& asker,
                                   Ledger& ledger, Outlet& outlet, std::optional<DatasetConflict>* conflict) {
  if (rows.description.is_public()) return needs_no_noise(rows.description);
  NF_TRY_VOID(expect_its_blocks(rows.description, question));
  AnswerRequest request = request_about(rows.description, asker);
  NF_TRY_VOID(rehearse(question, request.provenance));
  NF_TRY(const ReserveRequest spend, spend_of(request, question, &ledger));
  NF_TRY(request.budget, find_payer(ledger, rows, {&spend, 1}, asker.unknown, conflict));
  return release_answer(request, question, ledger, outlet);
}

}  // namespace noisefloor
