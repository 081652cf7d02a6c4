#include "noisefloor/cli/commands.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/base/text.h"
#include "noisefloor/cli/described.h"
#include "noisefloor/statistics/choice_questions.h"
#include "noisefloor/statistics/column_questions.h"
#include "noisefloor/statistics/count_questions.h"
#include "noisefloor/statistics/number_questions.h"
#include "noisefloor/statistics/private_text.h"
#include "noisefloor/summary/answer_summary.h"
#include "version.h"

namespace noisefloor::cli {
namespace {

using Wants = PrivacyOptions::Wants;
using Neighbouring = PrivacyOptions::Neighbouring;

// --- One number

struct NumberOptions {
  PrivacyOptions privacy;
  std::string value;
  std::string sensitivity;
  std::string calibration = "analytic";
};

void declare_number(CLI::App& command, NumberOptions& o) {
  const OptionGroup options(command);
  options.required("--value", o.value, "The true answer: private, and not shown again", "X");
  options.required("--sensitivity", o.sensitivity, "How far one unit can move the answer", "S");
}

void declare_gaussian(CLI::App& command, NumberOptions& o) {
  declare_number(command, o);
  OptionGroup(command).with_default("--calibration", o.calibration,
                                    "analytic, classical (epsilon below 1), classical-beyond-its-proof", "C");
}

Result<Sensitivity> parse_sensitivity(const PrivacyOptions& privacy, const std::string& text) {
  NF_TRY(const Neighbours neighbours, privacy.get_neighbours());
  NF_TRY(const double change, parse_number("--sensitivity", text));
  return Sensitivity::of_scalar(neighbours, change);
}

Result<Question> ask_laplace(const NumberOptions& o) {
  NF_TRY(const double answer, parse_private_number("--value", o.value));
  NF_TRY(const Sensitivity sensitivity, parse_sensitivity(o.privacy, o.sensitivity));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Confidence confidence, o.privacy.get_confidence());
  return laplace_question(answer, sensitivity, epsilon, confidence);
}

Result<Question> ask_gaussian(const NumberOptions& o) {
  NF_TRY(const double answer, parse_private_number("--value", o.value));
  NF_TRY(const Sensitivity sensitivity, parse_sensitivity(o.privacy, o.sensitivity));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Delta delta, o.privacy.get_delta());
  NF_TRY(const Confidence confidence, o.privacy.get_confidence());
  NF_TRY(const GaussianCalibration calibration, parse_calibration("--calibration", o.calibration));
  return gaussian_question(answer, sensitivity, epsilon, delta, calibration, confidence);
}

Result<Question> ask_geometric(const NumberOptions& o) {
  NF_TRY(const std::int64_t count, parse_private_integer("--value", o.value));
  NF_TRY(const Sensitivity sensitivity, parse_sensitivity(o.privacy, o.sensitivity));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Confidence confidence, o.privacy.get_confidence());
  return geometric_question(count, sensitivity, epsilon, confidence);
}

// --- Many numbers, from a file or from a column of a dataset

struct DataOptions {
  PrivacyOptions privacy;
  std::string input;
  std::string lower;
  std::string upper;
  std::string dataset;
  std::string column;
  std::string blocks;
  std::string level = "0.5";
  bool create = false;

  [[nodiscard]] Result<BoundedQuery> get_query() const {
    NF_TRY(const Neighbours neighbours, privacy.get_neighbours());
    NF_TRY(const double low, parse_number("--lower", lower));
    NF_TRY(const double high, parse_number("--upper", upper));
    NF_TRY(const Bounds bounds, Bounds::make(low, high));
    NF_TRY(const Epsilon epsilon, privacy.get_epsilon());
    NF_TRY(const Delta delta, privacy.get_delta());
    NF_TRY(const Confidence confidence, privacy.get_confidence());
    return BoundedQuery{neighbours, bounds, epsilon, delta, confidence};
  }
};

void declare_data(CLI::App& command, DataOptions& o) {
  const OptionGroup dataset(command, "Dataset");
  dataset.optional("--dataset", o.dataset, "Description of the dataset, whose budget pays (docs/formats/dataset.md)",
                   "FILE");
  dataset.optional("--column", o.column, "Its column, with the bounds that the description states", "NAME");
  dataset.optional("--blocks", o.blocks, "Its blocks to ask about, if it has any: 2026-01..2026-03,2026-06", "LIST");
  dataset.flag("--create", o.create, "Add the dataset, its budget and the ledger where they are missing");
  const OptionGroup options(command);
  options.optional("--input", o.input, "Instead: a file with one number a line; - is standard input", "FILE");
  options.optional("--lower", o.lower, "Public lower bound of a value; with --input", "X");
  options.optional("--upper", o.upper, "Public upper bound of a value; with --input", "X");
}

void declare_quantile(CLI::App& command, DataOptions& o) {
  declare_data(command, o);
  OptionGroup(command).with_default("--level", o.level, "0 is the minimum, 0.5 the median, 1 the maximum", "Q");
}

// What the description says cannot be said again, so that the two cannot disagree.
Result<void> expect_nothing_beside_the_dataset(const DataOptions& o) {
  const PrivacyOptions usual;
  for (const auto& [name, given] : {std::pair<const char*, bool>{"--input", !o.input.empty()},
                                    {"--lower", !o.lower.empty()},
                                    {"--upper", !o.upper.empty()},
                                    {"--charge", !o.privacy.charging.budget.empty()},
                                    {"--replay-seed", !o.privacy.replay_seed.empty()},
                                    {"--adjacency", o.privacy.adjacency != usual.adjacency},
                                    {"--unit", o.privacy.unit != usual.unit},
                                    {"--rows-per-unit", o.privacy.rows_per_unit != usual.rows_per_unit}}) {
    if (given) {
      return invalid_argument(
          fmt::format("the description of the dataset says that: leave out {}, or --dataset", name));
    }
  }
  if (o.column.empty()) return invalid_argument("--dataset needs --column, the name of a numeric column");
  if (o.privacy.charging.key.empty()) {
    return invalid_argument("--dataset needs --key, a name for this question: whoever asks again gets the same answer");
  }
  return success();
}

Result<Summary> answer_from_dataset(const DataOptions& o, ColumnStatistic statistic) {
  NF_TRY_VOID(expect_nothing_beside_the_dataset(o));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Delta delta, o.privacy.get_delta());
  NF_TRY(const Confidence confidence, o.privacy.get_confidence());
  NF_TRY(const double level, parse_number("--level", o.level));
  NF_TRY(DescribedRows rows, described_rows(o.dataset));
  NF_TRY_VOID(choose_blocks(rows.description, o.blocks));
  NF_TRY(SecureRandom random, SecureRandom::create());
  NF_TRY(const Question question,
         column_question(rows, {statistic, o.column, epsilon, delta, confidence, level}, random));
  const ChargeOptions& charging = o.privacy.charging;
  const DatasetAsker asker{charging.key, NOISEFLOOR_VERSION, o.create ? NewDatasets::kAdd : NewDatasets::kRefuse};
  const auto outlook = [&](Ledger* ledger) { return outlook_about(rows.description, question, asker, ledger); };
  if (charging.dry_run) {
    NF_TRY(const Outlook found, outlook_at(charging, outlook));
    return outlook_summary(question, request_about(rows.description, asker), found);
  }
  NF_TRY(const OpenedLedger opened, open_to_pay(charging, o.create, terms_of(rows.description), o.dataset, outlook));
  ChosenOutlet chosen(charging);
  std::optional<DatasetConflict> conflict;
  Result<ReleasedAnswer> released = ask_dataset(rows, question, asker, *opened.ledger, chosen.outlet(), &conflict);
  if (!released.has_value()) return with_remedy(std::move(released).error(), conflict, o.dataset);
  Summary summary = summary_of(released.value(), o.privacy.guarantee());
  chosen.name_files(summary);
  return summary;
}

Result<Question> ask_file(const DataOptions& o, ColumnStatistic statistic) {
  NF_TRY(const BoundedQuery query, o.get_query());
  NF_TRY(const double level, parse_number("--level", o.level));
  return file_question(o.input, statistic, level, query);
}

Result<void> expect_input_with_bounds(const DataOptions& o) {
  if (!o.column.empty() || o.create || !o.blocks.empty()) {
    return invalid_argument("--column, --blocks and --create are for a --dataset: name it");
  }
  for (const auto& [name, text] :
       {std::pair<const char*, const std::string&>{"--input", o.input}, {"--lower", o.lower}, {"--upper", o.upper}}) {
    if (text.empty()) {
      return invalid_argument(fmt::format(
          "{} is missing: give --input FILE with --lower and --upper, or --dataset FILE with --column", name));
    }
  }
  return success();
}

// --- Choices

struct ChoiceOptions {
  PrivacyOptions privacy;
  std::string scores;
  std::string sensitivity;
  std::string top = "1";
  std::string threshold;
  std::string max_above = "1";
  bool monotonic = false;
};

void declare_selection(CLI::App& command, ChoiceOptions& o) {
  const OptionGroup options(command);
  options.required("--scores", o.scores, "Candidates with their private scores: a=12,b=7", "LIST");
  options.required("--sensitivity", o.sensitivity, "How far one unit can move any one score", "S");
  options.with_default("--top", o.top, "How many to choose; epsilon is divided among them", "K");
  options.flag("--monotonic", o.monotonic,
               "A unit moves all scores in one direction (counts under add-remove): half the noise");
}

Result<Question> ask_selection(SelectionRule rule, const ChoiceOptions& o) {
  NF_TRY(NamedNumbers candidates, parse_named_numbers("--scores", o.scores));
  NF_TRY(const Sensitivity sensitivity, parse_sensitivity(o.privacy, o.sensitivity));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Confidence confidence, o.privacy.get_confidence());
  NF_TRY(const std::uint64_t top, parse_count("--top", o.top));
  return selection_question(std::move(candidates), {{rule, o.monotonic}, sensitivity, epsilon, top, confidence});
}

void declare_threshold(CLI::App& command, ChoiceOptions& o) {
  const OptionGroup options(command);
  options.required("--values", o.scores, "Private answers, in the order they are asked: 3,8,12", "LIST");
  options.required("--threshold", o.threshold, "What the answers are compared with", "X");
  options.required("--sensitivity", o.sensitivity, "How far one unit can move any one answer", "S");
  options.with_default("--max-above", o.max_above, "Replies \"above\" after which it stops", "C");
  options.flag("--monotonic", o.monotonic, "A unit moves all answers in one direction: half the noise");
}

Result<Question> ask_threshold(const ChoiceOptions& o) {
  NF_TRY(NamedNumbers answers, parse_named_numbers("--values", o.scores));
  NF_TRY(const Sensitivity sensitivity, parse_sensitivity(o.privacy, o.sensitivity));
  NF_TRY(const double threshold, parse_number("--threshold", o.threshold));
  NF_TRY(const std::uint64_t max_above, parse_count("--max-above", o.max_above));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  return threshold_question(std::move(answers), sensitivity, epsilon, {threshold, max_above, o.monotonic});
}

struct ResponseOptions {
  PrivacyOptions privacy;
  std::string value;
  std::string categories = "2";
};

void declare_response(CLI::App& command, ResponseOptions& o) {
  o.privacy.unit = "person";
  const OptionGroup options(command);
  options.required("--value", o.value, "The true category, from 0: private, and not shown again", "N");
  options.with_default("--categories", o.categories, "Number of categories", "K");
}

Result<Question> ask_response(const ResponseOptions& o) {
  NF_TRY(const std::uint64_t truth, parse_count("--value", o.value));
  NF_TRY(const std::uint64_t count, parse_count("--categories", o.categories));
  NF_TRY(const Categories categories, Categories::make(count));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const PrivacyUnit unit, o.privacy.get_unit());
  return response_question(truth, categories, unit, epsilon);
}

// --- Counts

struct CountsOptions {
  PrivacyOptions privacy;
  std::string counts;
  std::string bins_per_row = "1";
  std::string max_partitions = "1";
  std::string rule = "truncated-geometric";
  std::string steps;
};

void declare_histogram(CLI::App& command, CountsOptions& o) {
  const OptionGroup options(command);
  options.required("--counts", o.counts, "Private counts of all bins, empty ones too: low=12,high=7", "LIST");
  options.with_default("--bins-per-row", o.bins_per_row, "Bins that one row falls into at most", "K");
}

Result<Question> ask_histogram(const CountsOptions& o) {
  NF_TRY(NamedCounts bins, parse_named_counts("--counts", o.counts));
  NF_TRY(const Neighbours neighbours, o.privacy.get_neighbours());
  NF_TRY(const std::uint64_t bins_per_row, parse_count("--bins-per-row", o.bins_per_row));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Delta delta, o.privacy.get_delta());
  NF_TRY(const Confidence confidence, o.privacy.get_confidence());
  return histogram_question(std::move(bins), {neighbours, epsilon, delta, bins_per_row, confidence});
}

void declare_partitions(CLI::App& command, CountsOptions& o) {
  o.privacy.unit = "person";
  const OptionGroup options(command);
  options.required("--counts", o.counts, "Groups with the private number of units in each: a=120,b=2", "LIST");
  options.with_default("--max-partitions", o.max_partitions, "Groups that one unit is in at most", "K");
  options.with_default("--rule", o.rule, "truncated-geometric, laplace or gaussian", "R");
}

Result<Question> ask_partitions(const CountsOptions& o) {
  NF_TRY(NamedCounts groups, parse_named_counts("--counts", o.counts));
  NF_TRY(const std::uint64_t max_partitions, parse_count("--max-partitions", o.max_partitions));
  NF_TRY(const PartitionRule rule, parse_partition_rule(o.rule));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Delta delta, o.privacy.get_delta());
  NF_TRY(const PrivacyUnit unit, o.privacy.get_unit());
  return partition_question(std::move(groups), {epsilon, delta, max_partitions, rule, unit});
}

void declare_tree(CLI::App& command, CountsOptions& o) {
  const OptionGroup options(command);
  options.required("--values", o.counts, "Private count of each step, in order: 3,0,5", "LIST");
  options.optional("--steps", o.steps, "Planned length of the stream (default: as many as there are values)", "N");
}

Result<Question> ask_tree(const CountsOptions& o) {
  NF_TRY(NamedCounts values, parse_named_counts("--values", o.counts, Counts::kMayBeNegative));
  NF_TRY(const Neighbours neighbours, o.privacy.get_neighbours());
  NF_TRY(const std::uint64_t length,
         o.steps.empty() ? Result<std::uint64_t>(values.counts.size()) : parse_count("--steps", o.steps));
  NF_TRY(const Steps steps, Steps::make(length));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Delta delta, o.privacy.get_delta());
  return running_total_question(std::move(values.counts), {neighbours, steps, epsilon, delta});
}

// Adds `mechanism NAME`. Options holds a PrivacyOptions `privacy` and the fields that `declare` binds.
struct Adder {
  CLI::App& parent;
  Action& action;

  template <class Options, class Ask>
  void add(std::string_view name, const char* description, Wants wants, const char* example,
           void (*declare)(CLI::App&, Options&), Ask ask, Neighbouring neighbouring = Neighbouring::kAny) {
    const auto declare_all = [&](CLI::App& command, Options& o) {
      declare(command, o);
      o.privacy.add_to(command, wants, neighbouring);
    };
    const auto run = [ask](const Options& o) -> Result<Summary> {
      NF_TRY(const Question question, ask(o));
      return o.privacy.answer(question);
    };
    add_command<Options>(parent, action, std::string(name), description, example, declare_all, run);
  }

  // The same for numbers that come from a file, or from a dataset whose budget pays.
  void add_data(const char* name, const char* description, Wants wants, const char* example,
                void (*declare)(CLI::App&, DataOptions&), ColumnStatistic statistic) {
    const auto declare_all = [&](CLI::App& command, DataOptions& o) {
      declare(command, o);
      o.privacy.add_to(command, wants, Neighbouring::kAny);
    };
    const auto run = [statistic](const DataOptions& o) -> Result<Summary> {
      if (!o.dataset.empty()) return answer_from_dataset(o, statistic);
      NF_TRY_VOID(expect_input_with_bounds(o));
      NF_TRY(const Question question, ask_file(o, statistic));
      return o.privacy.answer(question);
    };
    add_command<DataOptions>(parent, action, name, description, example, declare_all, run);
  }
};

}  // namespace

void add_mechanism_command(CLI::App& app, Action& action) {
  Adder to{add_command_group(app, "mechanism", "Answer one question privately: noise, interval and event"), action};

  to.add("laplace", "Laplace noise on a number (pure DP)", Wants::kEpsilon, "--value 342 --sensitivity 1 --epsilon 0.5",
         declare_number, ask_laplace);
  to.add("gaussian", "Gaussian noise on a number", Wants::kEpsilonDelta,
         "--value 72.5 --sensitivity 0.01 --epsilon 1 --delta 1e-5 --adjacency replace-one", declare_gaussian,
         ask_gaussian);
  to.add("geometric", "Whole noise on a count (pure DP)", Wants::kEpsilon, "--value 342 --sensitivity 1 --epsilon 0.5",
         declare_number, ask_geometric);

  to.add_data("sum", "Sum of bounded numbers from a dataset or a file", Wants::kEpsilonOptionalDelta,
              "--input ages.txt --lower 0 --upper 100 --epsilon 1", declare_data, ColumnStatistic::kSum);
  to.add_data("mean", "Mean of bounded numbers from a dataset or a file", Wants::kEpsilonOptionalDelta,
              "--dataset patients.toml --column age --epsilon 0.1 --key mean-age", declare_data,
              ColumnStatistic::kMean);
  to.add_data("quantile", "Median or other quantile of bounded numbers from a dataset or a file", Wants::kEpsilon,
              "--input ages.txt --lower 0 --upper 100 --level 0.5 --epsilon 1", declare_quantile,
              ColumnStatistic::kQuantile);

  for (SelectionRule rule : {SelectionRule::kExponential, SelectionRule::kPermuteAndFlip, SelectionRule::kNoisyMax}) {
    to.add(name_of(rule), "Choose the best candidate, or the top k", Wants::kEpsilon,
           "--scores drama=42000,comedy=38000,action=31000 --sensitivity 1 --monotonic --epsilon 1", declare_selection,
           [rule](const ChoiceOptions& o) { return ask_selection(rule, o); });
  }
  to.add("above-threshold", "Which of many answers are large (sparse vector)", Wants::kEpsilon,
         "--values 12,80,500,7 --threshold 300 --sensitivity 1 --epsilon 1", declare_threshold, ask_threshold);
  to.add("randomized-response", "Report one's own category, true or not (local DP)", Wants::kEpsilon,
         "--value 3 --categories 5 --epsilon 1", declare_response, ask_response, Neighbouring::kFixed);

  to.add("histogram", "Counts over fixed bins", Wants::kEpsilonOptionalDelta,
         "--counts low=12000,medium=35000,high=28000,very_high=5000 --epsilon 1", declare_histogram, ask_histogram);
  to.add("partition-selection", "Which groups are large enough to be named", Wants::kEpsilonDelta,
         "--counts flu=900,gout=40,kuru=1 --epsilon 1 --delta 1e-6", declare_partitions, ask_partitions,
         Neighbouring::kFixed);
  to.add("tree-count", "A running total after every step of a stream", Wants::kEpsilonOptionalDelta,
         "--values 3,0,5,2 --steps 365 --epsilon 1", declare_tree, ask_tree);
}

}  // namespace noisefloor::cli
