#include "noisefloor/cli/mechanism_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "noisefloor/base/text.h"
#include "noisefloor/cli/input.h"
#include "noisefloor/mechanisms/above_threshold.h"
#include "noisefloor/mechanisms/bounded_sum.h"
#include "noisefloor/mechanisms/gaussian.h"
#include "noisefloor/mechanisms/geometric.h"
#include "noisefloor/mechanisms/histogram.h"
#include "noisefloor/mechanisms/laplace.h"
#include "noisefloor/mechanisms/partition_selection.h"
#include "noisefloor/mechanisms/quantile.h"
#include "noisefloor/mechanisms/randomized_response.h"
#include "noisefloor/mechanisms/selection.h"
#include "noisefloor/mechanisms/tree_count.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;
using Wants = PrivacyOptions::Wants;
using Neighbouring = PrivacyOptions::Neighbouring;

// --- What every command reports
// ----------------------------------------------------------------------------------------------

Report begin(const char* mechanism, const char* title, const PrivacyOptions& privacy) {
  Report report(title);
  report.set("mechanism", mechanism);
  report.set("epsilon", parse_finite(privacy.epsilon).value());
  report.set("delta", parse_finite(privacy.delta).value());
  return report;
}

// `proved`: whether the epsilon and delta that were asked for are what the noise gives.
void report_guarantee(Report& report, const PrivacyOptions& privacy, const DpStatement& statement, bool proved = true) {
  report.set("proved", proved);
  report.line("guarantee", proved ? fmt::format("epsilon {}, delta {}", privacy.epsilon, privacy.delta)
                                  : "not what was asked for: account for the event");
  report.state(statement);
  if (parse_finite(privacy.epsilon).value_or(0) > 10) {
    report.remark(
        "An epsilon above 10 promises little: an output may be 20,000 times as likely because of one person.");
  }
}

// A released number with the interval that covers the true answer.
void report_number(Report& report, double value, double error_bound, Confidence confidence) {
  report.set("value", value);
  report.set("interval",
             Json{{"confidence", confidence.value()}, {"lower", value - error_bound}, {"upper", value + error_bound}});
  report.line("released", shown(value));
  report.line(fmt::format("{} % interval", shown(100 * confidence.value())),
              fmt::format("{} to {} holds the true answer", shown(value - error_bound), shown(value + error_bound)));
}

void report_scale(Report& report, double scale, std::string_view meaning) {
  report.set("scale", scale);
  report.line("noise scale", fmt::format("{} ({})", shown(scale), meaning));
}

void report_grid(Report& report, double step) {
  report.set("grid", step);
  report.line("grid", fmt::format("{} (every released number is a multiple of it)", shown(step)));
}

std::string_view noise_name(Delta delta) { return delta.value() == 0 ? "Laplace scale" : "standard deviation"; }

// --- Declaring commands
// ---------------------------------------------------------------------------------------------------------

// Adds `mechanism NAME`. Options holds a PrivacyOptions `privacy` and the fields that `declare` binds.
template <class Options>
void add_mechanism(CLI::App& parent, Action& action, const std::string& name, const char* description, Wants wants,
                   Neighbouring neighbouring, const char* example, void (*declare)(CLI::App&, Options&),
                   std::function<Result<Report>(const Options&)> run) {
  const auto declare_all = [&](CLI::App& command, Options& o) {
    declare(command, o);
    o.privacy.add_to(command, wants, neighbouring);
  };
  add_command<Options>(parent, action, name, description, example, declare_all, std::move(run));
}

// --- One number
// -------------------------------------------------------------------------------------------------------------------

struct NumberOptions {
  PrivacyOptions privacy;
  std::string value;
  std::string sensitivity;
  std::string calibration = "analytic";

  [[nodiscard]] Result<Sensitivity> get_sensitivity() const {
    NF_TRY(const Neighbours neighbours, privacy.get_neighbours());
    NF_TRY(const double change, parse_number("--sensitivity", sensitivity));
    return Sensitivity::of_scalar(neighbours, change);
  }
};

void declare_number(CLI::App& command, NumberOptions& o) {
  command.add_option("--value", o.value, "The true answer: private, and not shown again")->required()->type_name("X");
  command.add_option("--sensitivity", o.sensitivity, "How far one unit can move the answer")
      ->required()
      ->type_name("S");
}

void declare_gaussian(CLI::App& command, NumberOptions& o) {
  declare_number(command, o);
  command
      .add_option("--calibration", o.calibration, "analytic, classical (epsilon below 1), classical-beyond-its-proof")
      ->type_name("C")
      ->capture_default_str();
}

Result<Report> run_laplace(const NumberOptions& o) {
  NF_TRY(const double answer, parse_private_number("--value", o.value));
  NF_TRY(const Sensitivity sensitivity, o.get_sensitivity());
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Confidence confidence, o.privacy.get_confidence());
  NF_TRY(const LaplaceMechanism laplace, LaplaceMechanism::create(sensitivity, epsilon));
  return o.privacy.release("laplace", laplace.statement(), [&](auto& source) -> Result<Report> {
    NF_TRY(const auto release, laplace.release(answer, source));
    Report report = begin("laplace", "Laplace mechanism", o.privacy);
    report_number(report, release.value(), laplace.error_bound(confidence), confidence);
    report_scale(report, laplace.scale(), "sensitivity / epsilon");
    report_grid(report, laplace.lattice().step());
    report_guarantee(report, o.privacy, release.statement());
    return report;
  });
}

Result<GaussianCalibration> parse_calibration(const std::string& text) {
  if (text == "analytic") return GaussianCalibration::kAnalytic;
  if (text == "classical") return GaussianCalibration::kClassical;
  if (text == "classical-beyond-its-proof") return GaussianCalibration::kClassicalBeyondItsProof;
  return invalid_argument(
      fmt::format("--calibration must be analytic, classical or classical-beyond-its-proof; got '{:.40}'", text));
}

Result<Report> run_gaussian(const NumberOptions& o) {
  NF_TRY(const double answer, parse_private_number("--value", o.value));
  NF_TRY(const Sensitivity sensitivity, o.get_sensitivity());
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Delta delta, o.privacy.get_delta());
  NF_TRY(const Confidence confidence, o.privacy.get_confidence());
  NF_TRY(const GaussianCalibration calibration, parse_calibration(o.calibration));
  NF_TRY(const GaussianMechanism gaussian,
         GaussianMechanism::create(sensitivity, epsilon, delta, kScalar, calibration));
  return o.privacy.release("gaussian", gaussian.statement(), [&](auto& source) -> Result<Report> {
    NF_TRY(const auto release, gaussian.release(answer, source));
    Report report = begin("gaussian", "Gaussian mechanism", o.privacy);
    report.set("calibration", o.calibration);
    report_number(report, release.value(), gaussian.error_bound(confidence), confidence);
    report_scale(report, gaussian.sigma(), "standard deviation");
    report_grid(report, gaussian.lattice().step());
    report_guarantee(report, o.privacy, release.statement(),
                     calibration != GaussianCalibration::kClassicalBeyondItsProof);
    return report;
  });
}

Result<Report> run_geometric(const NumberOptions& o) {
  NF_TRY(const std::int64_t count, parse_private_integer("--value", o.value));
  NF_TRY(const Sensitivity sensitivity, o.get_sensitivity());
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Confidence confidence, o.privacy.get_confidence());
  NF_TRY(const GeometricMechanism geometric, GeometricMechanism::create(sensitivity, epsilon));
  return o.privacy.release("geometric", geometric.statement(), [&](auto& source) -> Result<Report> {
    const auto release = geometric.release(count, source);
    Report report = begin("geometric", "Geometric mechanism", o.privacy);
    report_number(report, static_cast<double>(release.value()), static_cast<double>(geometric.error_bound(confidence)),
                  confidence);
    report.set("value", release.value());
    report_scale(report, geometric.scale(), "sensitivity / epsilon");
    report_guarantee(report, o.privacy, release.statement());
    return report;
  });
}

// --- Many numbers from a file
// ---------------------------------------------------------------------------------------------------------

struct DataOptions {
  PrivacyOptions privacy;
  std::string input;
  std::string lower;
  std::string upper;
  std::string level = "0.5";

  [[nodiscard]] Result<Bounds> get_bounds() const {
    NF_TRY(const double low, parse_number("--lower", lower));
    NF_TRY(const double high, parse_number("--upper", upper));
    return Bounds::make(low, high);
  }
};

void declare_data(CLI::App& command, DataOptions& o) {
  command.add_option("--input", o.input, "File with one number a line; - is standard input")
      ->required()
      ->type_name("FILE");
  command.add_option("--lower", o.lower, "Public lower bound of a value")->required()->type_name("X");
  command.add_option("--upper", o.upper, "Public upper bound of a value")->required()->type_name("X");
}

void declare_quantile(CLI::App& command, DataOptions& o) {
  declare_data(command, o);
  command.add_option("--level", o.level, "0 is the minimum, 0.5 the median, 1 the maximum")
      ->type_name("Q")
      ->capture_default_str();
}

Result<Report> run_sum(const DataOptions& o) {
  NF_TRY(const Neighbours neighbours, o.privacy.get_neighbours());
  NF_TRY(const Bounds bounds, o.get_bounds());
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Delta delta, o.privacy.get_delta());
  NF_TRY(const Confidence confidence, o.privacy.get_confidence());
  NF_TRY(const BoundedSum sum, BoundedSum::create(neighbours, bounds, epsilon, delta));
  BoundedSum::Accumulator data = sum.accumulator();
  NF_TRY_VOID(for_each_number(o.input, [&](double value) -> Result<void> {
    data.add(value);
    return success();
  }));
  return o.privacy.release("sum", sum.statement(), [&](auto& source) -> Result<Report> {
    const auto release = sum.release(data, source);
    Report report = begin("sum", "Private sum", o.privacy);
    report_number(report, release.value(), sum.error_bound(confidence), confidence);
    report_scale(report, sum.noise_scale(), noise_name(delta));
    report_grid(report, sum.lattice().step());
    report_guarantee(report, o.privacy, release.statement());
    return report;
  });
}

Result<Report> run_mean(const DataOptions& o) {
  NF_TRY(const Neighbours neighbours, o.privacy.get_neighbours());
  NF_TRY(const Bounds bounds, o.get_bounds());
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Delta delta, o.privacy.get_delta());
  NF_TRY(const Confidence confidence, o.privacy.get_confidence());
  NF_TRY(const BoundedMean mean, BoundedMean::create(neighbours, bounds, epsilon, delta));
  NF_TRY(const std::vector<double> values, read_numbers(o.input));
  return o.privacy.release("mean", mean.statement(), [&](auto& source) -> Result<Report> {
    NF_TRY(const auto release, mean.release(std::span<const double>(values), source));
    Report report = begin("mean", "Private mean", o.privacy);
    if (neighbours.adjacency == Adjacency::kReplaceOne) {
      NF_TRY(const Rows rows, Rows::make(values.size()));
      report_number(report, release.value(), mean.error_bound(rows, confidence), confidence);
      report_scale(report, mean.noise_scale(rows), noise_name(delta));
      report.set("rows", rows.value());
    } else {
      // The number of rows is private here, and the width of an exact interval would tell it.
      report.set("value", release.value());
      report.line("released", shown(release.value()));
      report.remark(
          "No interval: under add-remove the number of rows is private. --adjacency replace-one makes it public.");
    }
    report_guarantee(report, o.privacy, release.statement());
    return report;
  });
}

Result<Report> run_quantile(const DataOptions& o) {
  NF_TRY(const Neighbours neighbours, o.privacy.get_neighbours());
  NF_TRY(const Bounds bounds, o.get_bounds());
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Confidence confidence, o.privacy.get_confidence());
  NF_TRY(const double level, parse_number("--level", o.level));
  NF_TRY(const QuantileMechanism quantile, QuantileMechanism::create(neighbours, bounds, level, epsilon));
  NF_TRY(const std::vector<double> values, read_numbers(o.input));
  return o.privacy.release("quantile", quantile.statement(), [&](auto& source) -> Result<Report> {
    NF_TRY(const auto release, quantile.release(std::span<const double>(values), source));
    Report report = begin("quantile", "Private quantile", o.privacy);
    const double rank_error = quantile.rank_error_bound(confidence);
    report.set("level", level);
    report.set("value", release.value());
    report.set("rank_error", Json{{"confidence", confidence.value()}, {"at_most", rank_error}});
    report.line("released", shown(release.value()));
    report.line("rank", fmt::format("within {} rows of the {} quantile, with probability {}",
                                    shown(std::ceil(rank_error)), shown(level), shown(confidence.value())));
    report_guarantee(report, o.privacy, release.statement());
    return report;
  });
}

// --- Choices
// ---------------------------------------------------------------------------------------------------------------------------

struct SelectionCommandOptions {
  PrivacyOptions privacy;
  std::string scores;
  std::string sensitivity;
  std::string top = "1";
  bool monotonic = false;
};

void declare_selection(CLI::App& command, SelectionCommandOptions& o) {
  command.add_option("--scores", o.scores, "Candidates with their private scores: a=12,b=7")
      ->required()
      ->type_name("LIST");
  command.add_option("--sensitivity", o.sensitivity, "How far one unit can move any one score")
      ->required()
      ->type_name("S");
  command.add_option("--top", o.top, "How many to choose; epsilon is divided among them")
      ->type_name("K")
      ->capture_default_str();
  command.add_flag("--monotonic", o.monotonic,
                   "A unit moves all scores in one direction (counts under add-remove): half the noise");
}

Result<Report> run_selection(SelectionRule rule, const SelectionCommandOptions& o) {
  NF_TRY(const NamedNumbers candidates, parse_named_numbers("--scores", o.scores));
  NF_TRY(const Neighbours neighbours, o.privacy.get_neighbours());
  NF_TRY(const double change, parse_number("--sensitivity", o.sensitivity));
  NF_TRY(const Sensitivity sensitivity, Sensitivity::of_scalar(neighbours, change));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Confidence confidence, o.privacy.get_confidence());
  NF_TRY(const std::uint64_t top, parse_count("--top", o.top));
  NF_TRY(const Epsilon each, Epsilon::make(epsilon.value() / static_cast<double>(std::max<std::uint64_t>(top, 1))));
  NF_TRY(const SelectionMechanism selection, SelectionMechanism::create(sensitivity, each, {rule, o.monotonic}));
  NF_TRY(const Steps choices, Steps::make(top));
  const std::string name(name_of(rule));
  return o.privacy.release(name, selection.statement_of_top(choices), [&](auto& source) -> Result<Report> {
    NF_TRY(const auto release, selection.release_top(candidates.numbers, top, source));
    Report report = begin(name.c_str(), "Private choice", o.privacy);
    Json chosen = Json::array();
    std::string text;
    for (std::size_t index : release.value()) {
      chosen.push_back({{"index", index}, {"name", candidates.names[index]}});
      text += (text.empty() ? "" : ", ") + candidates.names[index];
    }
    const double gap = selection.score_gap_bound(candidates.numbers.size(), confidence);
    report.set("chosen", chosen);
    report.set("score_gap", Json{{"confidence", confidence.value()}, {"at_most", gap}});
    report.line("chosen", text);
    report.line("score", fmt::format("within {} of the best left, with probability {} for each choice", shown(gap),
                                     shown(confidence.value())));
    report_scale(report, selection.scale(), "a score lower by this is about e times less likely");
    report_guarantee(report, o.privacy, release.statement());
    return report;
  });
}

struct ResponseOptions {
  PrivacyOptions privacy;
  std::string value;
  std::string categories = "2";
};

void declare_response(CLI::App& command, ResponseOptions& o) {
  o.privacy.unit = "person";
  command.add_option("--value", o.value, "The true category, from 0: private, and not shown again")
      ->required()
      ->type_name("N");
  command.add_option("--categories", o.categories, "Number of categories")->type_name("K")->capture_default_str();
}

Result<Report> run_response(const ResponseOptions& o) {
  NF_TRY(const std::uint64_t truth, parse_count("--value", o.value));
  NF_TRY(const std::uint64_t count, parse_count("--categories", o.categories));
  NF_TRY(const Categories categories, Categories::make(count));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const PrivacyUnit unit, o.privacy.get_unit());
  NF_TRY(const RandomizedResponse response, RandomizedResponse::create(epsilon, categories, unit));
  return o.privacy.release("randomized-response", response.statement(), [&](auto& source) -> Result<Report> {
    NF_TRY(const auto release, response.release(truth, source));
    Report report = begin("randomized-response", "Randomized response", o.privacy);
    report.set("value", release.value());
    report.set("truth_probability", response.truth_probability());
    report.line("reported", std::to_string(release.value()));
    report.line("is the truth", fmt::format("with probability {}", shown(response.truth_probability())));
    report_guarantee(report, o.privacy, release.statement());
    return report;
  });
}

struct ThresholdOptions {
  PrivacyOptions privacy;
  std::string values;
  std::string sensitivity;
  std::string threshold;
  std::string max_above = "1";
  bool monotonic = false;
};

void declare_threshold(CLI::App& command, ThresholdOptions& o) {
  command.add_option("--values", o.values, "Private answers, in the order they are asked: 3,8,12")
      ->required()
      ->type_name("LIST");
  command.add_option("--threshold", o.threshold, "What the answers are compared with")->required()->type_name("X");
  command.add_option("--sensitivity", o.sensitivity, "How far one unit can move any one answer")
      ->required()
      ->type_name("S");
  command.add_option("--max-above", o.max_above, "Replies \"above\" after which it stops")
      ->type_name("C")
      ->capture_default_str();
  command.add_flag("--monotonic", o.monotonic, "A unit moves all answers in one direction: half the noise");
}

Result<Report> run_threshold(const ThresholdOptions& o) {
  NF_TRY(const NamedNumbers answers, parse_named_numbers("--values", o.values));
  NF_TRY(const Neighbours neighbours, o.privacy.get_neighbours());
  NF_TRY(const double change, parse_number("--sensitivity", o.sensitivity));
  NF_TRY(const Sensitivity sensitivity, Sensitivity::of_scalar(neighbours, change));
  NF_TRY(const double threshold, parse_number("--threshold", o.threshold));
  NF_TRY(const std::uint64_t max_above, parse_count("--max-above", o.max_above));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const DpStatement statement, above_threshold_statement(sensitivity, epsilon));
  return o.privacy.release("above-threshold", statement, [&](auto& source) -> Result<Report> {
    using Source = std::decay_t<decltype(source)>;
    NF_TRY(auto mechanism,
           AboveThreshold<Source>::create(sensitivity, epsilon, {threshold, max_above, o.monotonic}, source));
    Report report = begin("above-threshold", "Above threshold", o.privacy);
    Json replies = Json::array();
    for (std::size_t i = 0; i < answers.numbers.size() && mechanism.above_left() > 0; ++i) {
      NF_TRY(const bool above, mechanism.ask(answers.numbers[i]));
      replies.push_back({{"name", answers.names[i]}, {"above", above}});
      report.line(answers.names[i], above ? "above" : "below");
    }
    report.set("replies", replies);
    report_scale(report, mechanism.answer_scale(), "on each answer");
    report_guarantee(report, o.privacy, mechanism.statement());
    return report;
  });
}

// --- Counts
// ----------------------------------------------------------------------------------------------------------------------------

struct CountsOptions {
  PrivacyOptions privacy;
  std::string counts;
  std::string bins_per_row = "1";
  std::string max_partitions = "1";
  std::string rule = "truncated-geometric";
  std::string steps;
};

// The counts as whole numbers, 0 or above unless `may_be_negative`.
Result<std::vector<std::int64_t>> whole_counts(std::string_view what, const NamedNumbers& parsed,
                                               bool may_be_negative) {
  std::vector<std::int64_t> counts;
  for (double number : parsed.numbers) {
    if (number != std::floor(number) || std::fabs(number) > 0x1p53 || (number < 0 && !may_be_negative)) {
      return invalid_argument(fmt::format("part {} of {} is not a whole number{}", counts.size() + 1, what,
                                          may_be_negative ? "" : ", 0 or above"));
    }
    counts.push_back(static_cast<std::int64_t>(number));
  }
  return counts;
}

void declare_histogram(CLI::App& command, CountsOptions& o) {
  command.add_option("--counts", o.counts, "Private counts of all bins, empty ones too: low=12,high=7")
      ->required()
      ->type_name("LIST");
  command.add_option("--bins-per-row", o.bins_per_row, "Bins that one row falls into at most")
      ->type_name("K")
      ->capture_default_str();
}

Result<Report> run_histogram(const CountsOptions& o) {
  NF_TRY(const NamedNumbers parsed, parse_named_numbers("--counts", o.counts));
  NF_TRY(const std::vector<std::int64_t> counts, whole_counts("--counts", parsed, false));
  NF_TRY(const Neighbours neighbours, o.privacy.get_neighbours());
  NF_TRY(const std::uint64_t bins_per_row, parse_count("--bins-per-row", o.bins_per_row));
  NF_TRY(const Dimension bins, Dimension::make(counts.size()));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Delta delta, o.privacy.get_delta());
  NF_TRY(const Confidence confidence, o.privacy.get_confidence());
  NF_TRY(const HistogramMechanism histogram,
         HistogramMechanism::create(neighbours, bins, epsilon, delta, bins_per_row));
  return o.privacy.release("histogram", histogram.statement(), [&](auto& source) -> Result<Report> {
    NF_TRY(const auto release, histogram.release(counts, source));
    Report report = begin("histogram", "Private histogram", o.privacy);
    const double bound = histogram.error_bound(confidence);
    Json list = Json::array();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto value = static_cast<double>(release.value()[i]);
      list.push_back(
          {{"name", parsed.names[i]},
           {"value", release.value()[i]},
           {"interval", {{"confidence", confidence.value()}, {"lower", value - bound}, {"upper", value + bound}}}});
      report.line(parsed.names[i], fmt::format("{} ± {}", release.value()[i], shown(bound)));
    }
    report.set("counts", list);
    report_scale(report, histogram.noise_scale(), noise_name(delta));
    report_guarantee(report, o.privacy, release.statement());
    return report;
  });
}

void declare_partitions(CLI::App& command, CountsOptions& o) {
  o.privacy.unit = "person";
  command.add_option("--counts", o.counts, "Groups with the private number of units in each: a=120,b=2")
      ->required()
      ->type_name("LIST");
  command.add_option("--max-partitions", o.max_partitions, "Groups that one unit is in at most")
      ->type_name("K")
      ->capture_default_str();
  command.add_option("--rule", o.rule, "truncated-geometric, laplace or gaussian")
      ->type_name("R")
      ->capture_default_str();
}

Result<PartitionRule> parse_partition_rule(const std::string& text) {
  for (PartitionRule rule : {PartitionRule::kTruncatedGeometric, PartitionRule::kLaplace, PartitionRule::kGaussian}) {
    if (name_of(rule) == text) return rule;
  }
  return invalid_argument(fmt::format("--rule must be truncated-geometric, laplace or gaussian; got '{:.40}'", text));
}

Result<Report> run_partitions(const CountsOptions& o) {
  NF_TRY(const NamedNumbers parsed, parse_named_numbers("--counts", o.counts));
  NF_TRY(const std::vector<std::int64_t> counts, whole_counts("--counts", parsed, false));
  NF_TRY(const std::uint64_t max_partitions, parse_count("--max-partitions", o.max_partitions));
  NF_TRY(const PartitionRule rule, parse_partition_rule(o.rule));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Delta delta, o.privacy.get_delta());
  NF_TRY(const PrivacyUnit unit, o.privacy.get_unit());
  NF_TRY(const PartitionSelection selection, PartitionSelection::create(epsilon, delta, max_partitions, rule, unit));
  return o.privacy.release("partition-selection", selection.statement(), [&](auto& source) -> Result<Report> {
    const std::vector<std::uint64_t> units(counts.begin(), counts.end());
    const auto release = selection.release(units, source);
    Report report = begin("partition-selection", "Partition selection", o.privacy);
    Json kept = Json::array();
    std::string text;
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (!release.value()[i]) continue;
      kept.push_back(parsed.names[i]);
      text += (text.empty() ? "" : ", ") + parsed.names[i];
    }
    report.set("kept", kept);
    report.set("rule", o.rule);
    report.set("typical_threshold", selection.typical_threshold());
    report.line("kept", text.empty() ? "none" : text);
    report.line("threshold",
                fmt::format("a group of {} units is kept about every second time", selection.typical_threshold()));
    report_guarantee(report, o.privacy, release.statement());
    return report;
  });
}

void declare_tree(CLI::App& command, CountsOptions& o) {
  command.add_option("--values", o.counts, "Private count of each step, in order: 3,0,5")
      ->required()
      ->type_name("LIST");
  command.add_option("--steps", o.steps, "Planned length of the stream (default: as many as there are values)")
      ->type_name("N");
}

Result<Report> run_tree(const CountsOptions& o) {
  NF_TRY(const NamedNumbers parsed, parse_named_numbers("--values", o.counts));
  NF_TRY(const std::vector<std::int64_t> values, whole_counts("--values", parsed, true));
  NF_TRY(const Neighbours neighbours, o.privacy.get_neighbours());
  NF_TRY(const Sensitivity sensitivity, count_sensitivity(neighbours));
  NF_TRY(const std::uint64_t length,
         o.steps.empty() ? Result<std::uint64_t>(values.size()) : parse_count("--steps", o.steps));
  NF_TRY(const Steps steps, Steps::make(length));
  NF_TRY(const Epsilon epsilon, o.privacy.get_epsilon());
  NF_TRY(const Delta delta, o.privacy.get_delta());
  if (values.size() > steps.value()) {
    return invalid_argument(
        fmt::format("--values has {} steps, more than the {} that --steps plans", values.size(), steps.value()));
  }
  NF_TRY(const TreeCounter planned, TreeCounter::create(sensitivity, steps, epsilon, delta));
  return o.privacy.release("tree-count", planned.statement(), [&](auto& source) -> Result<Report> {
    NF_TRY(TreeCounter counter, TreeCounter::create(sensitivity, steps, epsilon, delta));
    Report report = begin("tree-count", "Running total", o.privacy);
    Json totals = Json::array();
    DpStatement statement = counter.statement();
    for (std::size_t i = 0; i < values.size(); ++i) {
      NF_TRY(const auto release, counter.next(values[i], source));
      totals.push_back(release.value());
      report.line(fmt::format("after step {}", i + 1), shown(release.value()));
      statement = release.statement();
    }
    report.set("totals", totals);
    report_scale(report, counter.worst_standard_deviation(), "standard deviation of a total, at most");
    report_guarantee(report, o.privacy, statement);
    return report;
  });
}

}  // namespace

void add_mechanism_command(CLI::App& app, Action& action) {
  CLI::App* m = app.add_subcommand("mechanism", "Answer one question privately: noise, interval and event");
  m->require_subcommand(1);

  add_mechanism<NumberOptions>(*m, action, "laplace", "Laplace noise on a number (pure DP)", Wants::kEpsilon,
                               Neighbouring::kAny, "--value 342 --sensitivity 1 --epsilon 0.5", declare_number,
                               run_laplace);
  add_mechanism<NumberOptions>(*m, action, "gaussian", "Gaussian noise on a number", Wants::kEpsilonDelta,
                               Neighbouring::kAny,
                               "--value 72.5 --sensitivity 0.01 --epsilon 1 --delta 1e-5 --adjacency replace-one",
                               declare_gaussian, run_gaussian);
  add_mechanism<NumberOptions>(*m, action, "geometric", "Whole noise on a count (pure DP)", Wants::kEpsilon,
                               Neighbouring::kAny, "--value 342 --sensitivity 1 --epsilon 0.5", declare_number,
                               run_geometric);

  add_mechanism<DataOptions>(*m, action, "sum", "Sum of bounded numbers from a file", Wants::kEpsilonOptionalDelta,
                             Neighbouring::kAny, "--input ages.txt --lower 0 --upper 100 --epsilon 1", declare_data,
                             run_sum);
  add_mechanism<DataOptions>(*m, action, "mean", "Mean of bounded numbers from a file", Wants::kEpsilonOptionalDelta,
                             Neighbouring::kAny,
                             "--input ages.txt --lower 0 --upper 100 --epsilon 1 --delta 1e-6 --adjacency replace-one",
                             declare_data, run_mean);
  add_mechanism<DataOptions>(*m, action, "quantile", "Median or other quantile of bounded numbers from a file",
                             Wants::kEpsilon, Neighbouring::kAny,
                             "--input ages.txt --lower 0 --upper 100 --level 0.5 --epsilon 1", declare_quantile,
                             run_quantile);

  for (SelectionRule rule : {SelectionRule::kExponential, SelectionRule::kPermuteAndFlip, SelectionRule::kNoisyMax}) {
    add_mechanism<SelectionCommandOptions>(
        *m, action, std::string(name_of(rule)), "Choose the best candidate, or the top k", Wants::kEpsilon,
        Neighbouring::kAny, "--scores drama=42000,comedy=38000,action=31000 --sensitivity 1 --monotonic --epsilon 1",
        declare_selection, [rule](const SelectionCommandOptions& o) { return run_selection(rule, o); });
  }
  add_mechanism<ThresholdOptions>(*m, action, "above-threshold", "Which of many answers are large (sparse vector)",
                                  Wants::kEpsilon, Neighbouring::kAny,
                                  "--values 12,80,500,7 --threshold 300 --sensitivity 1 --epsilon 1", declare_threshold,
                                  run_threshold);
  add_mechanism<ResponseOptions>(*m, action, "randomized-response", "Report one's own category, true or not (local DP)",
                                 Wants::kEpsilon, Neighbouring::kFixed, "--value 3 --categories 5 --epsilon 1",
                                 declare_response, run_response);

  add_mechanism<CountsOptions>(
      *m, action, "histogram", "Counts over fixed bins", Wants::kEpsilonOptionalDelta, Neighbouring::kAny,
      "--counts low=12000,medium=35000,high=28000,very_high=5000 --epsilon 1", declare_histogram, run_histogram);
  add_mechanism<CountsOptions>(*m, action, "partition-selection", "Which groups are large enough to be named",
                               Wants::kEpsilonDelta, Neighbouring::kFixed,
                               "--counts flu=900,gout=40,kuru=1 --epsilon 1 --delta 1e-6", declare_partitions,
                               run_partitions);
  add_mechanism<CountsOptions>(*m, action, "tree-count", "A running total after every step of a stream",
                               Wants::kEpsilonOptionalDelta, Neighbouring::kAny,
                               "--values 3,0,5,2 --steps 365 --epsilon 1", declare_tree, run_tree);
}

}  // namespace noisefloor::cli
