#include "noisefloor/statistics/count_questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "noisefloor/mechanisms/histogram.h"
#include "noisefloor/mechanisms/tree_count.h"
#include "noisefloor/statistics/question_parts.h"

namespace noisefloor {
namespace {

using internal::begin_question;
using internal::Json;
using internal::scale_fact;

AnswerTable table_of_counts(const std::vector<std::string>& names, const std::vector<std::int64_t>& counts,
                            double error, Confidence confidence) {
  AnswerColumn values{"value", counts};
  values.confidence = confidence;
  for (const std::int64_t count : counts) {
    values.ranges.push_back(internal::around(static_cast<double>(count), error, confidence).range);
  }
  return {{{"name", names}, std::move(values)}};
}

}  // namespace

Result<Question> histogram_question(NamedCounts bins, const HistogramQuery& query) {
  NF_TRY_VOID(internal::expect_named(bins.names.size(), bins.counts.size()));
  NF_TRY(const Dimension dimension, Dimension::make(bins.counts.size()));
  NF_TRY(const HistogramMechanism histogram,
         HistogramMechanism::create(query.neighbours, dimension, query.epsilon, query.delta, query.bins_per_row));
  Question question = begin_question("histogram", histogram.statement(), query.epsilon, query.delta,
                                     Json{{"bins", bins.names.size()},
                                          {"names", internal::digest_of_names(bins.names)},
                                          {"bins_per_row", query.bins_per_row},
                                          {"rows_per_unit", query.neighbours.rows_per_unit.value()}});
  const auto data = std::make_shared<const NamedCounts>(std::move(bins));
  question.draw_by([histogram, data, query](auto& source) -> Result<Drawn> {
    NF_TRY(const auto release, histogram.release(data->counts, source));
    return Drawn{{{{"counts", table_of_counts(data->names, release.value(), histogram.error_bound(query.confidence),
                                              query.confidence)}},
                  {},
                  {scale_fact(histogram.noise_scale(), internal::noise_name(query.delta))}},
                 release.statement()};
  });
  return question;
}

Result<PartitionRule> parse_partition_rule(std::string_view text) {
  for (PartitionRule rule : {PartitionRule::kTruncatedGeometric, PartitionRule::kLaplace, PartitionRule::kGaussian}) {
    if (name_of(rule) == text) return rule;
  }
  return invalid_argument(fmt::format("the rule must be truncated-geometric, laplace or gaussian; got '{:.40}'", text));
}

Result<Question> partition_question(NamedCounts groups, const PartitionQuery& query) {
  NF_TRY_VOID(internal::expect_named(groups.names.size(), groups.counts.size()));
  if (std::any_of(groups.counts.begin(), groups.counts.end(), [](std::int64_t count) { return count < 0; })) {
    return invalid_argument("the number of units in a group must be 0 or above");
  }
  NF_TRY(const PartitionSelection selection,
         PartitionSelection::create(query.epsilon, query.delta, query.max_partitions, query.rule, query.unit));
  Question question = begin_question("partition-selection", selection.statement(), query.epsilon, query.delta,
                                     Json{{"max_partitions", query.max_partitions}, {"rule", name_of(query.rule)}});
  const auto data = std::make_shared<const NamedCounts>(std::move(groups));
  question.draw_by([selection, data, query](auto& source) -> Result<Drawn> {
    const std::vector<std::uint64_t> units(data->counts.begin(), data->counts.end());
    const auto release = selection.release(units, source);
    AnswerColumn::Texts kept;
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (release.value()[i]) kept.push_back(data->names[i]);
    }
    return Drawn{{{{"kept", AnswerTable{{{"name", std::move(kept)}}}}},
                  {},
                  {{"rule", std::string(name_of(query.rule))},
                   {"typical_threshold", static_cast<std::int64_t>(selection.typical_threshold())}}},
                 release.statement()};
  });
  return question;
}

Result<Question> running_total_question(std::vector<std::int64_t> values, const RunningTotalQuery& query) {
  if (values.size() > query.steps.value()) {
    return invalid_argument(fmt::format("there are {} values, more than the {} steps that are planned", values.size(),
                                        query.steps.value()));
  }
  if (query.neighbours.adjacency == Adjacency::kReplaceOne &&
      std::any_of(values.begin(), values.end(), [](std::int64_t value) { return value < 0; })) {
    return invalid_argument(
        "under replace-one the counts of all steps must be 0 or above: noise for rows that count up and down is known "
        "under add-remove only");
  }
  NF_TRY(const Sensitivity sensitivity, count_sensitivity(query.neighbours));
  NF_TRY(const TreeCounter planned, TreeCounter::create(sensitivity, query.steps, query.epsilon, query.delta));
  Question question =
      begin_question("tree-count", planned.statement(), query.epsilon, query.delta,
                     Json{{"steps", query.steps.value()}, {"rows_per_unit", query.neighbours.rows_per_unit.value()}});
  const auto data = std::make_shared<const std::vector<std::int64_t>>(std::move(values));
  question.draw_by([sensitivity, data, query](auto& source) -> Result<Drawn> {
    using Source = std::decay_t<decltype(source)>;
    NF_TRY(TreeCounter counter, TreeCounter::create(sensitivity, query.steps, query.epsilon, query.delta));
    AnswerColumn::Numbers totals;
    for (const std::int64_t value : *data) {
      NF_TRY(const auto release, counter.next(value, source));
      totals.push_back(release.value());
    }
    const Release<Source, std::size_t> all(totals.size(), counter.statement());
    return Drawn{{{{"totals", AnswerTable{{{"total", std::move(totals)}}}}},
                  {},
                  {scale_fact(counter.worst_standard_deviation(), "standard deviation of a total, at most")}},
                 all.statement()};
  });
  return question;
}

}  // namespace noisefloor
