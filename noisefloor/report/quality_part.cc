#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "noisefloor/report/html.h"
#include "noisefloor/report/report_parts.h"

namespace noisefloor::internal {
namespace {

constexpr std::size_t kMostPoints = 200;  // points of a line
constexpr std::size_t kMostMarks = 30;    // points that are close together need none
constexpr std::uint64_t kMostWatched =
    1'000;  // rows, drawn at random, on which a training measures itself while it runs

// --- The finished model ----------------------------------------------------------------------------------------------

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string_view whose(const NotedQuality* quality) {
  return quality != nullptr && quality->private_rows ? "kept from private rows and measured without noise"
                                                     : "taken as public";
}

void add_result(HtmlReport& page, const NotedQuality& quality) {
  const std::string on = fmt::format(" on {} data", quality.data);
  const std::string note =
      quality.examples ? fmt::format("{} examples, {}", shown_count(*quality.examples), whose(&quality)) : "";
  const auto beside = [&](const std::string& text) { return note.empty() ? text : note + "; " + text; };
  if (quality.accuracy) {
    const auto& majority = quality.majority_accuracy;
    page.results.push_back({"Accuracy" + on, percent(*quality.accuracy),
                            majority ? beside("the most frequent class alone gets " + percent(*majority)) : note});
  } else if (quality.rmse) {
    page.results.push_back(
        {"Root mean squared error" + on, fmt::format("{:.4g}", *quality.rmse),
         quality.mean_rmse ? beside(fmt::format("the mean alone gets {:.4g}", *quality.mean_rmse)) : note});
  } else if (quality.loss) {
    page.results.push_back({"Loss" + on, fmt::format("{:.4g}", *quality.loss), note});
  }
  if (quality.auc) {
    page.results.push_back({"AUC" + on, fmt::format("{:.4f}", *quality.auc), "0.5 is guessing, 1 a perfect ranking"});
  }
  if (quality.perplexity) {
    page.results.push_back({"Perplexity" + on, fmt::format("{:.4g}", *quality.perplexity), note});
  }
}

// --- Curves ----------------------------------------------------------------------------------------------------------

// Thins a line evenly and keeps its last point.
std::vector<Chart::Point> thinned(const std::vector<Chart::Point>& all) {
  if (all.size() <= kMostPoints) return all;
  std::vector<Chart::Point> some;
  for (std::size_t i = 0; i < kMostPoints; ++i) some.push_back(all[i * (all.size() - 1) / (kMostPoints - 1)]);
  return some;
}

using MetricsColumn = std::optional<double> (*)(const MetricsLine&);
std::optional<double> step_of(const MetricsLine& line) { return line.step; }
std::optional<double> epsilon_of(const MetricsLine& line) { return line.epsilon; }
std::optional<double> loss_of(const MetricsLine& line) { return line.loss; }
std::optional<double> clip_norm_of(const MetricsLine& line) { return line.clip_norm; }
std::optional<double> accuracy_of(const MetricsLine& line) {
  return line.accuracy ? std::optional(100 * *line.accuracy) : std::nullopt;
}

struct Words {
  const char* id;
  const char* title;
  std::string subtitle;
  const char* x_label;
  const char* y_label;
  const char* reading;
};

// A figure of two columns of the metrics, if there are two points of it.
std::optional<HtmlReport::Figure> curve_of(const std::vector<MetricsLine>& metrics, const Words& words, MetricsColumn x,
                                           MetricsColumn y, bool from_zero = false) {
  Chart::Series series;
  for (const MetricsLine& line : metrics) {
    const std::optional<double> at = x(line);
    const std::optional<double> value = y(line);
    if (!at || !value || !std::isfinite(*at) || !std::isfinite(*value)) continue;
    if (!series.points.empty() && !(*at > series.points.back().x)) continue;
    series.points.push_back({*at, *value, *value});
  }
  series.points = thinned(series.points);
  if (series.points.size() < 2) return std::nullopt;
  Chart chart;
  chart.title = words.title;
  chart.subtitle = words.subtitle;
  chart.x_label = words.x_label;
  chart.y_label = words.y_label;
  chart.from_zero = from_zero;
  chart.marks = series.points.size() <= kMostMarks;
  chart.series = {std::move(series)};
  return HtmlReport::Figure{words.id, std::move(chart), words.reading};
}

bool add(std::vector<HtmlReport::Figure>& figures, std::optional<HtmlReport::Figure> figure) {
  if (!figure) return false;
  figures.push_back(std::move(*figure));
  return true;
}

const NotedQuality* noted(const FolderNotes& notes, const std::string& data) {
  const auto found = std::find_if(notes.quality.begin(), notes.quality.end(),
                                  [&](const NotedQuality& one) { return one.data == data; });
  return found == notes.quality.end() ? nullptr : &*found;
}

// The rows on which the curves were measured.
std::string measured_on(const FolderNotes& notes) {
  const NotedQuality* quality = noted(notes, notes.watched);
  if (quality != nullptr && quality->examples && *quality->examples <= kMostWatched) {
    return fmt::format("on all {} {} rows, {}", shown_count(*quality->examples), notes.watched, whose(quality));
  }
  return fmt::format("on {}{} {} rows drawn at random, {}", quality != nullptr && quality->examples ? "" : "up to ",
                     shown_count(kMostWatched), notes.watched, whose(quality));
}

void add_majority(std::optional<HtmlReport::Figure>& figure, const FolderNotes& notes) {
  const NotedQuality* quality = noted(notes, notes.watched);
  if (!figure || quality == nullptr || !quality->majority_accuracy) return;
  const double level = *quality->majority_accuracy;
  figure->chart.level = {100 * level, "the most frequent class alone: " + percent(level)};
}

void add_utility_graph(HtmlReport& page, const RunFolder& folder) {
  const std::vector<UtilityLine>& utility = folder.notes.utility;
  if (utility.empty()) return;
  Chart chart;
  chart.title = "Utility graph";
  chart.subtitle = "share of accuracy that is left with noise on finished weights";
  chart.x_label = "noise multiplier";
  chart.y_label = "share of accuracy left (%)";
  chart.log_x = true;
  chart.marks = true;
  double low = utility.front().noise_multiplier;
  double high = low;
  for (const UtilityLine& line : utility) {
    const std::string name = "clip norm " + line.clip_norm;
    if (chart.series.empty() || chart.series.back().name != name) chart.series.push_back({name, {}});
    chart.series.back().points.push_back({line.noise_multiplier, 100 * line.lowest, 100 * line.highest});
    low = std::min(low, line.noise_multiplier);
    high = std::max(high, line.noise_multiplier);
  }
  if (!(high > low)) return;
  page.utility.push_back(
      {"utility-graph", std::move(chart),
       folder.plan ? fmt::format("From it the plan took clip norm {:g} and noise multiplier {:.4g}, before "
                                 "anything was trained privately.",
                                 folder.plan->clip.value(), folder.plan->noise.value())
                   : "Settings whose line has fallen low are hopeless before anything is trained privately."});
}

// Quality against the ε that had been spent. Returns false if there is none.
bool add_quality_by_epsilon(HtmlReport& page, const FolderNotes& notes, bool has_accuracy) {
  const std::string subtitle = (has_accuracy ? "accuracy " : "loss ") + measured_on(notes);
  auto figure =
      curve_of(notes.metrics,
               {"privacy-utility", "What ε bought", subtitle, "ε spent so far", has_accuracy ? "accuracy (%)" : "loss",
                "Each point is this training after some steps, with the ε that they had cost. Only the last "
                "model was released."},
               epsilon_of, has_accuracy ? accuracy_of : loss_of);
  if (has_accuracy) add_majority(figure, notes);
  return add(page.utility, std::move(figure));
}

void add_curves_by_step(HtmlReport& page, const FolderNotes& notes, bool with_accuracy) {
  const std::vector<MetricsLine>& m = notes.metrics;
  const std::string on = measured_on(notes);
  add(page.training, curve_of(m, {"loss", "Loss", on, "step", "loss", "Lower is better."}, step_of, loss_of));
  if (with_accuracy) {
    auto figure =
        curve_of(m, {"accuracy", "Accuracy", on, "step", "accuracy (%)", "Higher is better."}, step_of, accuracy_of);
    add_majority(figure, notes);
    add(page.training, std::move(figure));
  }
  add(page.training, curve_of(m,
                              {"epsilon-by-step", "Privacy spent", "certified upper bound after each step", "step", "ε",
                               "The whole of it was reserved before the first step."},
                              step_of, epsilon_of, true));
  const bool adapts =
      std::any_of(m.begin(), m.end(), [&](const MetricsLine& line) { return line.clip_norm != m.front().clip_norm; });
  if (!adapts) return;
  add(page.training, curve_of(m,
                              {"clip-norm", "Clip norm", "as it adapted", "step", "clip norm",
                               "The noise of adapting it is part of the same release."},
                              step_of, clip_norm_of, true));
}

// --- How teachers voted ----------------------------------------------------------------------------------------------

// What may be said of a vote: what was charged, what was released, and what follows from released labels.
void add_votes(HtmlReport& page, const NotedVotes& votes) {
  HtmlReport::Table table{"The teachers' votes", {"Figure", "Value"}, {}};
  const auto row = [&](const char* name, std::string value) { table.rows.push_back({name, std::move(value)}); };
  row("teachers, each on private rows of its own", shown_count(votes.teachers));
  row("aggregator", fmt::format("{}, noise {:g} votes", votes.aggregator, votes.noise));
  if (votes.threshold && votes.threshold_noise) {
    row("threshold", fmt::format("{:g} votes, noise {:g}", *votes.threshold, *votes.threshold_noise));
  }
  row("queries asked", shown_count(votes.asked));
  row("answered by teachers", shown_count(votes.answered));
  row("refused", shown_count(votes.asked - std::min(votes.asked, votes.answered)));
  if (votes.student_labelled > 0) row("of them labelled by the student", shown_count(votes.student_labelled));
  row("charged", votes.threshold_noise
                     ? fmt::format("{} answers and {} comparisons", shown_count(votes.answers_charged),
                                   shown_count(votes.queries_charged))
                     : shown_count(votes.answers_charged) + " answers");
  if (votes.answer_epsilon) row("cost of one answer alone", fmt::format("ε {:.4g}", *votes.answer_epsilon));
  if (votes.comparison_epsilon) {
    row("cost of one comparison alone, answered or not", fmt::format("ε {:.4g}", *votes.comparison_epsilon));
  }
  if (votes.asked > 0) {
    row("teachers agreed enough on", percent(static_cast<double>(votes.answered) / static_cast<double>(votes.asked)) +
                                         " of what was asked, as the noised threshold sees it");
  }
  if (votes.student_agrees) row("the student agrees with", percent(*votes.student_agrees) + " of the labels");
  if (votes.data_dependent_divergence) {
    row("data-dependent Rényi divergence, with noise",
        fmt::format("{:.4f}; an estimate that was paid for, and not a bound", *votes.data_dependent_divergence));
  }
  row("exact agreement, margins and accuracy of teachers", "private: not released");
  if (votes.compared_epsilon && votes.compared_accuracy) {
    row("compared with", fmt::format("{}: {} at ε {:.4g}", votes.compared_name, percent(*votes.compared_accuracy),
                                     *votes.compared_epsilon));
  }
  page.results_tables.push_back(std::move(table));
}

}  // namespace

void add_quality(HtmlReport& page, const RunFolder& folder) {
  const FolderNotes& notes = folder.notes;
  for (const NotedQuality& quality : notes.quality) add_result(page, quality);
  if (notes.votes) add_votes(page, *notes.votes);
  const bool has_accuracy = std::any_of(notes.metrics.begin(), notes.metrics.end(),
                                        [](const MetricsLine& line) { return line.accuracy.has_value(); });
  const bool by_epsilon = add_quality_by_epsilon(page, notes, has_accuracy);
  add_utility_graph(page, folder);
  add_curves_by_step(page, notes, has_accuracy && !by_epsilon);
}

void add_unsigned_note(HtmlReport& page) {
  if (page.results.empty() && page.utility.empty() && page.training.empty() && page.results_tables.empty()) return;
  page.checks.push_back(
      {"Quality and curves:", "from the files that the run wrote beside it, which are not signed.", false});
}

}  // namespace noisefloor::internal
