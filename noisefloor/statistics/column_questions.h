// Statistics of one column of a described dataset, paid for by the dataset's own budget.
//
//   const DescribedRows rows{description, folder};
//   NF_TRY(const Question question, column_question(rows, {ColumnStatistic::kMean, "age", Epsilon::of(1)}, random));
//   NF_TRY(const ReleasedAnswer made, ask_dataset(rows, question, {"mean-age", "1.0"}, *ledger, outlet));
//
// Guarantee:     bounds, neighbours and the rows of a person are those of the description; a person's further rows are
//                left out (dataset/column.h). The rows are claimed before anything is drawn: what the ledger knows
//                under another name is refused, and one budget pays for every use of them (dataset/paying.h). The
//                answer names the dataset and the digest of its description.
// Refused:       persons with several rows under replace-one: exchanging one may change how many rows there are, for
//                which these mechanisms have no bound.
// Thread safety: as the ledger's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/dataset/paying.h"
#include "noisefloor/release/answer_road.h"
#include "noisefloor/release/question.h"
#include "noisefloor/statistics/number_questions.h"

namespace noisefloor {

enum class ColumnStatistic : std::uint8_t { kSum, kMean, kQuantile };

struct ColumnQuery {
  ColumnStatistic statistic;
  std::string column;
  Epsilon epsilon;
  Delta delta = Delta::of(0);  // 0: Laplace noise; above 0: Gaussian
  Confidence confidence = Confidence::of(0.95);
  double level = 0.5;  // of a quantile
};

// Reads the column. Refused for public data, which need no noise.
[[nodiscard]] Result<Question> column_question(const DescribedRows& rows, const ColumnQuery& query,
                                               SecureRandom& random);

// The same statistics of a file with one number a line ("-" is standard input), without a dataset. A line that is no
// number is mapped by the public rule (number_questions.h). `level` is of a quantile.
[[nodiscard]] Result<Question> file_question(const std::string& path, ColumnStatistic statistic, double level,
                                             const BoundedQuery& query);

// How a question is known in the ledger, and who asks.
struct DatasetAsker {
  std::string key;
  std::string program_version;
  NewDatasets unknown = NewDatasets::kRefuse;
};

// Claims the rows, and takes the question over the road (release/answer_road.h). `conflict` is as in find_payer.
[[nodiscard]] Result<ReleasedAnswer> ask_dataset(const DescribedRows& rows, const Question& question,
                                                 const DatasetAsker& asker, Ledger& ledger, Outlet& outlet,
                                                 std::optional<DatasetConflict>* conflict = nullptr);

// What asking would spend from the budget that the description names, and whether that allows for it. Nothing is
// claimed. The ledger may be null: then the budget would be made.
[[nodiscard]] AnswerRequest request_about(const DatasetDescription& description, const DatasetAsker& asker);
[[nodiscard]] Result<Outlook> outlook_about(const DatasetDescription& description, const Question& question,
                                            const DatasetAsker& asker, Ledger* ledger);

}  // namespace noisefloor
