#include "noisefloor/cli/mechanism_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "noisefloor/base/text.h"
#include "noisefloor/cli/input.h"
#include "noisefloor/statistics/choice_questions.h"
#include "noisefloor/statistics/count_questions.h"
#include "noisefloor/statistics/number_questions.h"

namespace noisefloor::cli {
namespace {

using Wants = PrivacyOptions::Wants;
using Neighbouring = PrivacyOptions::Neighbouring;

CLI::Option* add_text(CLI::App& command, const char* name, std::string& text, const char* help, const char* type) {
  return command.add_option(name, text, help)->type_name(type);
}

void need_text(CLI::App& command, const char* name, std::string& text, const char* help, const char* type) {
  add_text(command, name, text, help, type)->required();
}

void add_default(CLI::App& command, const char* name, std::string& text, const char* help, const char* type) {
  add_text(command, name, text, help, type)->capture_default_str();
}

// --- One number

struct NumberOptions {
  PrivacyOptions privacy;
  std::string value;
  std::string sensitivity;
  std::string calibration = "analytic";
};

void declare_number(CLI::App& command, NumberOptions& o) {
  need_text(command, "--value", o.value, "The true answer: private, and not shown again", "X");
  need_text(command, "--sensitivity", o.sensitivity, "How far one unit can move the answer", "S");
}

void declare_gaussian(CLI::App& command, NumberOptions& o) {
  declare_number(command, o);
  add_default(command, "--calibration", o.calibration,
              "analytic, classical (epsilon below 1), classical-beyond-its-proof", "C");
}

Result<Sensitivity> parse_sensitivity(const PrivacyOptions& privacy, const std::string& text) {
  NF_TRY(const Neighbours neighbours, privacy.get_neighbours());
  NF_TRY(const double change, parse_number("--sensitivity", text));
  return Sensitivity::of_scalar(neighbours, change);
}

Result<GaussianCalibration> parse_calibration(const std::string& text) {
  for (const auto calibration : {GaussianCalibration::kAnalytic, GaussianCalibration::kClassical,
                                 GaussianCalibration::kClassicalBeyondItsProof}) {
    if (name_of(calibration) == text) return calibration;
  }
  return invalid_argument(
      fmt::format("--calibration must be analytic, classical or classical-beyond-its-proof; got '{:.40}'", text));
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
  NF_TRY(const GaussianCalibration calibration, parse_calibration(o.calibration));
  return gaussian_question(answer, sensitivity, epsilon, delta, calibration, confidence);
}

Result<Question> ask_geometric(const NumberOptions& o) {
  NF_TRY(const std::int64_t count, parse_private_integer("--value", o.value));
  NF_TRY(const Sensitivity sensitivity, parse_sensitivity(o.privacy, o.sensitivity));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Confidence confidence, o.privacy.get_confidence());
  return geometric_question(count, sensitivity, epsilon, confidence);
}

// --- Many numbers from a file

struct DataOptions {
  PrivacyOptions privacy;
  std::string input;
  std::string lower;
  std::string upper;
  std::string level = "0.5";

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
  need_text(command, "--input", o.input, "File with one number a line; - is standard input", "FILE");
  need_text(command, "--lower", o.lower, "Public lower bound of a value", "X");
  need_text(command, "--upper", o.upper, "Public upper bound of a value", "X");
}

void declare_quantile(CLI::App& command, DataOptions& o) {
  declare_data(command, o);
  add_default(command, "--level", o.level, "0 is the minimum, 0.5 the median, 1 the maximum", "Q");
}

Result<Question> ask_sum(const DataOptions& o) {
  NF_TRY(const BoundedQuery query, o.get_query());
  return sum_question([&](const auto& take) { return for_each_number(o.input, take); }, query);
}

Result<Question> ask_mean(const DataOptions& o) {
  NF_TRY(const BoundedQuery query, o.get_query());
  NF_TRY(std::vector<double> numbers, read_numbers(o.input));
  return mean_question(std::move(numbers), query);
}

Result<Question> ask_quantile(const DataOptions& o) {
  NF_TRY(const BoundedQuery query, o.get_query());
  NF_TRY(const double level, parse_number("--level", o.level));
  NF_TRY(std::vector<double> numbers, read_numbers(o.input));
  return quantile_question(std::move(numbers), level, query);
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
  need_text(command, "--scores", o.scores, "Candidates with their private scores: a=12,b=7", "LIST");
  need_text(command, "--sensitivity", o.sensitivity, "How far one unit can move any one score", "S");
  add_default(command, "--top", o.top, "How many to choose; epsilon is divided among them", "K");
  command.add_flag("--monotonic", o.monotonic,
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
  need_text(command, "--values", o.scores, "Private answers, in the order they are asked: 3,8,12", "LIST");
  need_text(command, "--threshold", o.threshold, "What the answers are compared with", "X");
  need_text(command, "--sensitivity", o.sensitivity, "How far one unit can move any one answer", "S");
  add_default(command, "--max-above", o.max_above, "Replies \"above\" after which it stops", "C");
  command.add_flag("--monotonic", o.monotonic, "A unit moves all answers in one direction: half the noise");
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
  need_text(command, "--value", o.value, "The true category, from 0: private, and not shown again", "N");
  add_default(command, "--categories", o.categories, "Number of categories", "K");
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

// The counts as whole numbers, 0 or above unless `may_be_negative`.
Result<NamedCounts> parse_counts(std::string_view what, const std::string& text, bool may_be_negative = false) {
  NF_TRY(NamedNumbers parsed, parse_named_numbers(what, text));
  NamedCounts counts{std::move(parsed.names), {}};
  for (double number : parsed.numbers) {
    if (number != std::floor(number) || std::fabs(number) > 0x1p53 || (number < 0 && !may_be_negative)) {
      return invalid_argument(fmt::format("part {} of {} is not a whole number{}", counts.counts.size() + 1, what,
                                          may_be_negative ? "" : ", 0 or above"));
    }
    counts.counts.push_back(static_cast<std::int64_t>(number));
  }
  return counts;
}

void declare_histogram(CLI::App& command, CountsOptions& o) {
  need_text(command, "--counts", o.counts, "Private counts of all bins, empty ones too: low=12,high=7", "LIST");
  add_default(command, "--bins-per-row", o.bins_per_row, "Bins that one row falls into at most", "K");
}

Result<Question> ask_histogram(const CountsOptions& o) {
  NF_TRY(NamedCounts bins, parse_counts("--counts", o.counts));
  NF_TRY(const Neighbours neighbours, o.privacy.get_neighbours());
  NF_TRY(const std::uint64_t bins_per_row, parse_count("--bins-per-row", o.bins_per_row));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Delta delta, o.privacy.get_delta());
  NF_TRY(const Confidence confidence, o.privacy.get_confidence());
  return histogram_question(std::move(bins), {neighbours, epsilon, delta, bins_per_row, confidence});
}

void declare_partitions(CLI::App& command, CountsOptions& o) {
  o.privacy.unit = "person";
  need_text(command, "--counts", o.counts, "Groups with the private number of units in each: a=120,b=2", "LIST");
  add_default(command, "--max-partitions", o.max_partitions, "Groups that one unit is in at most", "K");
  add_default(command, "--rule", o.rule, "truncated-geometric, laplace or gaussian", "R");
}

Result<Question> ask_partitions(const CountsOptions& o) {
  NF_TRY(NamedCounts groups, parse_counts("--counts", o.counts));
  NF_TRY(const std::uint64_t max_partitions, parse_count("--max-partitions", o.max_partitions));
  NF_TRY(const PartitionRule rule, parse_partition_rule(o.rule));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Delta delta, o.privacy.get_delta());
  NF_TRY(const PrivacyUnit unit, o.privacy.get_unit());
  return partition_question(std::move(groups), {epsilon, delta, max_partitions, rule, unit});
}

void declare_tree(CLI::App& command, CountsOptions& o) {
  need_text(command, "--values", o.counts, "Private count of each step, in order: 3,0,5", "LIST");
  add_text(command, "--steps", o.steps, "Planned length of the stream (default: as many as there are values)", "N");
}

Result<Question> ask_tree(const CountsOptions& o) {
  NF_TRY(NamedCounts values, parse_counts("--values", o.counts, true));
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
    const auto run = [ask](const Options& o) -> Result<Report> {
      NF_TRY(const Question question, ask(o));
      return o.privacy.answer(question);
    };
    add_command<Options>(parent, action, std::string(name), description, example, declare_all, run);
  }
};

}  // namespace

void add_mechanism_command(CLI::App& app, Action& action) {
  CLI::App* m = app.add_subcommand("mechanism", "Answer one question privately: noise, interval and event");
  m->require_subcommand(1);
  Adder to{*m, action};

  to.add("laplace", "Laplace noise on a number (pure DP)", Wants::kEpsilon, "--value 342 --sensitivity 1 --epsilon 0.5",
         declare_number, ask_laplace);
  to.add("gaussian", "Gaussian noise on a number", Wants::kEpsilonDelta,
         "--value 72.5 --sensitivity 0.01 --epsilon 1 --delta 1e-5 --adjacency replace-one", declare_gaussian,
         ask_gaussian);
  to.add("geometric", "Whole noise on a count (pure DP)", Wants::kEpsilon, "--value 342 --sensitivity 1 --epsilon 0.5",
         declare_number, ask_geometric);

  to.add("sum", "Sum of bounded numbers from a file", Wants::kEpsilonOptionalDelta,
         "--input ages.txt --lower 0 --upper 100 --epsilon 1", declare_data, ask_sum);
  to.add("mean", "Mean of bounded numbers from a file", Wants::kEpsilonOptionalDelta,
         "--input ages.txt --lower 0 --upper 100 --epsilon 1 --delta 1e-6 --adjacency replace-one", declare_data,
         ask_mean);
  to.add("quantile", "Median or other quantile of bounded numbers from a file", Wants::kEpsilon,
         "--input ages.txt --lower 0 --upper 100 --level 0.5 --epsilon 1", declare_quantile, ask_quantile);

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
