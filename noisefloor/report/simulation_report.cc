#include "noisefloor/report/simulation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "noisefloor/base/file.h"
#include "noisefloor/report/html.h"

namespace noisefloor {
namespace {

using federated::FederatedQuality;
using federated::SimulatedRound;

constexpr std::size_t kMostLines = 6;

using Figure = std::function<std::optional<double>(const SimulatedRound& round)>;

enum class Over : std::uint8_t { kRange, kMean };

// A figure by round, over all seeds of a method.
Chart::Series series_of(const std::string& name, const std::vector<SimulatedRun>& runs, std::size_t method, Over over,
                        const Figure& figure) {
  struct Range {
    double lower = HUGE_VAL;
    double upper = -HUGE_VAL;
    double sum = 0;
    double count = 0;
  };
  std::map<std::uint64_t, Range> rounds;
  for (const SimulatedRun& run : runs) {
    if (run.method != method) continue;
    for (const SimulatedRound& round : run.result.rounds) {
      const std::optional<double> value = figure(round);
      if (!value || !std::isfinite(*value)) continue;
      Range& range = rounds[round.round];
      range.lower = std::min(range.lower, *value);
      range.upper = std::max(range.upper, *value);
      range.sum += *value;
      ++range.count;
    }
  }
  Chart::Series series{name, {}};
  for (const auto& [round, range] : rounds) {
    const double mean = range.sum / range.count;
    const bool range_shown = over == Over::kRange;
    series.points.push_back(
        {static_cast<double>(round), range_shown ? range.lower : mean, range_shown ? range.upper : mean});
  }
  return series;
}

std::optional<double> accuracy_in_percent(const std::optional<FederatedQuality>& quality) {
  if (!quality || !quality->accuracy) return std::nullopt;
  return 100 * *quality->accuracy;
}

bool has_accuracy(const std::vector<SimulatedRun>& runs) { return runs.front().result.quality.accuracy.has_value(); }

bool has_bands(const SimulationJob& job) { return job.file().methods.size() <= kMostLines; }

std::string seeds_in_words(const SimulationJob& job) {
  const std::size_t seeds = job.file().seeds.size();
  if (seeds == 1) return "on public test rows";
  return fmt::format("on public test rows; {} {} seeds", has_bands(job) ? "bands hold all" : "mean of", seeds);
}

Chart chart_of(const SimulationJob& job, const std::vector<SimulatedRun>& runs, const std::string& title,
               const std::string& y_label, const Figure& figure) {
  Chart chart;
  chart.title = fmt::format("{}: {}", job.file().name, title);
  chart.subtitle = fmt::format("simulated, {}", seeds_in_words(job));
  chart.x_label = "round";
  chart.y_label = y_label;
  chart.from_zero = false;
  for (std::size_t method = 0; method < job.file().methods.size(); ++method) {
    Chart::Series series =
        series_of(job.file().methods[method].name, runs, method, has_bands(job) ? Over::kRange : Over::kMean, figure);
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

// A line for each site, or of three sites where there are many: chosen by the last value.
Chart::Series middle(std::vector<Chart::Series>& all, double share, const char* what) {
  Chart::Series series = all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
  series.name = fmt::format("{} ({})", what, series.name);
  return series;
}

std::vector<Chart::Series> few_of(std::vector<Chart::Series> all) {
  if (all.size() <= kMostLines) return all;
  std::stable_sort(all.begin(), all.end(), [](const Chart::Series& a, const Chart::Series& b) {
    return a.points.back().upper < b.points.back().upper;
  });
  return {middle(all, 0, "lowest"), middle(all, 0.5, "median"), middle(all, 1, "highest")};
}

bool is_drawn(const Chart& chart) {
  double least = HUGE_VAL;
  double most = -HUGE_VAL;
  for (const Chart::Series& series : chart.series) {
    least = std::min(least, series.points.front().x);
    most = std::max(most, series.points.back().x);
  }
  return !chart.series.empty() && most > least;
}

std::vector<double> ends_of(const Chart& chart) {
  std::vector<double> ends;
  for (const Chart::Series& series : chart.series) ends.push_back(series.points.back().upper);
  return ends;
}

std::string percent_or_dash(const std::optional<OverSeeds>& value) {
  return value ? fmt::format("{:.1f} %", 100 * value->mean) : "–";
}

std::string epsilon_or_dash(const SimulationJob& job, const std::vector<SimulatedRun>& runs, std::size_t method) {
  if (job.file().methods[method].options.mode == federated::PrivacyMode::kNone) return "∞";
  const auto epsilon = over_seeds(
      runs, method, [](const SimulatedRun& run) -> std::optional<double> { return largest_epsilon(run.result); });
  return epsilon ? shown_at_least(epsilon->highest, 4) : "–";
}

HtmlReport::Table methods_table(const SimulationJob& job, const std::vector<SimulatedRun>& runs) {
  HtmlReport::Table table{
      "All methods, mean over seeds",
      {"method", "accuracy", "mean of sites", "worst site", "loss", "ε of a site, at most", "MB sent", "simulated s"},
      {}};
  for (std::size_t method = 0; method < job.file().methods.size(); ++method) {
    const auto figure = [&](const auto& of) {
      return over_seeds(runs, method, [&](const SimulatedRun& run) -> std::optional<double> { return of(run.result); });
    };
    const auto loss = figure([](const auto& r) -> std::optional<double> { return r.quality.loss; });
    const auto sent = figure([](const auto& r) -> std::optional<double> {
      return static_cast<double>(r.rounds.back().bytes_up + r.rounds.back().bytes_down) / 1e6;
    });
    const auto seconds = figure([](const auto& r) -> std::optional<double> { return r.rounds.back().seconds; });
    table.rows.push_back(
        {job.file().methods[method].name, percent_or_dash(figure([](const auto& r) { return r.quality.accuracy; })),
         percent_or_dash(figure([](const auto& r) { return r.quality.macro; })),
         percent_or_dash(figure([](const auto& r) { return r.quality.worst; })),
         fmt::format("{:.4f}", loss ? loss->mean : 0.0), epsilon_or_dash(job, runs, method),
         fmt::format("{:.2f}", sent ? sent->mean : 0.0), fmt::format("{:.1f}", seconds ? seconds->mean : 0.0)});
  }
  return table;
}

HtmlReport::Table sites_table(const SimulationJob& job, const std::vector<SimulatedRun>& runs) {
  HtmlReport::Table table{
      "Sites, with the first seed: accuracy, and rounds in which each took part", {"site", "rows", "test rows"}, {}};
  const SimulationData& data = job.data();
  for (std::size_t i = 0; i < data.names.size(); ++i) {
    table.rows.push_back(
        {data.names[i], shown_count(data.train[i].rows), shown_count(data.tests[data.tests_by_site ? i : 0].rows)});
  }
  for (const SimulatedRun& run : runs) {
    if (run.seed != job.file().seeds.front()) continue;
    table.head.push_back(job.file().methods[run.method].name);
    for (std::size_t i = 0; i < data.names.size(); ++i) {
      const auto& sites = run.result.quality.sites;
      const std::optional<double> accuracy = data.tests_by_site && i < sites.size() ? sites[i].accuracy : std::nullopt;
      std::string cell = accuracy ? fmt::format("{:.1f} %", 100 * *accuracy) : std::string("–");
      if (i < run.result.joined.size() && run.result.joined.size() == data.names.size()) {
        cell += fmt::format(" · {}", run.result.joined[i]);
      }
      table.rows[i].push_back(std::move(cell));
    }
  }
  return table;
}

HtmlReport::Table settings_table(const SimulationJob& job) {
  const federated::LearningOptions& o = job.file().methods.front().options;
  HtmlReport::Table table{"Run", {}, {}};
  const auto row = [&](const char* name, std::string value) { table.rows.push_back({name, std::move(value)}); };
  row("sites", shown_count(job.data().names.size()));
  row("parameters", shown_count(job.parameters()));
  row("rounds", shown_count(o.rounds));
  row("local work", o.steps > 0 ? fmt::format("{} steps", o.steps) : fmt::format("{:g} epochs", o.epochs));
  row("rows of a step", shown_count(o.batch));
  row("learning rate", fmt::format("{:g}", o.rate));
  row("weight decay", fmt::format("{:g}", o.weight_decay));
  row("away", fmt::format("{:g} of rounds", o.faults.away));
  row("stragglers", fmt::format("{:g} of sites", o.faults.stragglers));
  row("seeds", fmt::format("{}", job.file().seeds.size()));
  return table;
}

HtmlReport::Table privacy_table(const SimulationJob& job, const std::vector<SimulatedRun>& runs) {
  HtmlReport::Table table{"Privacy of each method", {}, {}};
  for (const SimulatedRun& run : runs) {
    if (run.seed != job.file().seeds.front()) continue;
    const SimulatedMethod& method = job.file().methods[run.method];
    std::string text = "none";
    if (method.options.mode != federated::PrivacyMode::kNone && !run.result.noise.empty()) {
      const auto [least, most] = std::minmax_element(run.result.noise.begin(), run.result.noise.end());
      text = fmt::format("{}, clip norm {:g}, noise multiplier {:.4g}{}, δ = {:g}", name_of(method.options.mode),
                         method.options.clip->value(), *least, *most > *least ? fmt::format(" to {:.4g}", *most) : "",
                         method.options.delta.value());
    }
    table.rows.push_back({method.name, std::move(text)});
  }
  return table;
}

}  // namespace

Chart comparison_chart(const SimulationJob& job, const std::vector<SimulatedRun>& runs) {
  if (!has_accuracy(runs)) return loss_chart(job, runs);
  return chart_of(job, runs, "methods compared", "accuracy (%)",
                  [](const SimulatedRound& round) { return accuracy_in_percent(round.quality); });
}

Chart loss_chart(const SimulationJob& job, const std::vector<SimulatedRun>& runs) {
  return chart_of(job, runs, "loss of all methods", "loss", [](const SimulatedRound& round) {
    return round.quality ? std::optional(round.quality->loss) : std::nullopt;
  });
}

std::optional<Chart> sites_chart(const SimulationJob& job, const std::vector<SimulatedRun>& runs, std::size_t method) {
  if (!job.data().tests_by_site || !has_accuracy(runs)) return std::nullopt;
  Chart chart;
  chart.title = job.file().methods[method].name + ", site by site";
  chart.subtitle = "accuracy on each site's own test rows";
  chart.x_label = "round";
  chart.y_label = "accuracy (%)";
  chart.from_zero = false;
  std::vector<Chart::Series> all;
  for (std::size_t site = 0; site < job.data().names.size(); ++site) {
    Chart::Series series = series_of(
        job.data().names[site], runs, method, Over::kMean, [&](const SimulatedRound& round) -> std::optional<double> {
          if (!round.quality || site >= round.quality->sites.size()) return std::nullopt;
          const Quality& quality = round.quality->sites[site];
          return quality.accuracy && quality.examples > 0 ? std::optional(100 * *quality.accuracy) : std::nullopt;
        });
    if (!series.points.empty()) all.push_back(std::move(series));
  }
  chart.series = few_of(std::move(all));
  return is_drawn(chart) ? std::optional(std::move(chart)) : std::nullopt;
}

std::optional<Chart> epsilon_chart(const SimulationJob& job, const std::vector<SimulatedRun>& runs,
                                   std::size_t method) {
  const federated::LearningOptions& o = job.file().methods[method].options;
  if (o.mode == federated::PrivacyMode::kNone) return std::nullopt;
  const bool by_site = o.mode != federated::PrivacyMode::kCentral && o.cooperation != federated::Cooperation::kPooled;
  Chart chart;
  chart.title = job.file().methods[method].name + ": ε spent";
  chart.subtitle =
      fmt::format("at δ = {:g}, {}", o.delta.value(), by_site ? "by each site, for one row" : "for all together");
  chart.x_label = "round";
  chart.y_label = "ε";
  std::vector<Chart::Series> all;
  for (std::size_t site = 0; site < (by_site ? job.data().names.size() : 1); ++site) {
    Chart::Series series = series_of(by_site ? job.data().names[site] : "all", runs, method, Over::kMean,
                                     [&](const SimulatedRound& round) -> std::optional<double> {
                                       if (site >= round.epsilon.size()) return std::nullopt;
                                       return round.epsilon[site];
                                     });
    if (!series.points.empty()) all.push_back(std::move(series));
  }
  chart.series = few_of(std::move(all));
  return is_drawn(chart) ? std::optional(std::move(chart)) : std::nullopt;
}

HtmlReport simulation_page(const SimulationJob& job, const std::vector<SimulatedRun>& runs,
                           const std::string& program) {
  HtmlReport page;
  page.name = job.file().name;
  page.noun = "simulation";
  page.promise = {.epsilon_lower = HUGE_VAL, .epsilon_upper = HUGE_VAL, .delta = 0, .unit = "row"};
  page.warnings.emplace_back(
      "Simulated: noise is repeated from a seed, and quality is measured without noise. ε says what such a run would "
      "cost with noise that nobody can repeat.");
  page.results.push_back({"Sites", shown_count(job.data().names.size()), ""});
  page.results.push_back({"Methods", shown_count(job.file().methods.size()), ""});
  const Chart comparison = comparison_chart(job, runs);
  const bool lower_is_better = !has_accuracy(runs);
  page.utility.push_back({"comparison", comparison,
                          lower_is_better ? "Lower is better."
                                          : "Higher is better. Differences below one point "
                                            "are within what another seed changes."});
  if (!lower_is_better) page.utility.push_back({"loss", loss_chart(job, runs), "Lower is better."});
  page.results_tables.push_back(methods_table(job, runs));
  page.results_tables.push_back(sites_table(job, runs));
  for (std::size_t method = 0; method < job.file().methods.size(); ++method) {
    const std::string id = fmt::format("{}", std::string(method + 1, 'm'));
    if (auto chart = sites_chart(job, runs, method)) {
      page.training.push_back({"sites-" + id, *std::move(chart), "How far sites are apart with this method."});
    }
    auto spent = epsilon_chart(job, runs, method);
    // Methods of one cost need one picture.
    const bool is_new = spent && std::none_of(page.privacy.begin(), page.privacy.end(), [&](const auto& before) {
                          return before.chart.subtitle == spent->subtitle && ends_of(before.chart) == ends_of(*spent);
                        });
    if (is_new) {
      page.privacy.push_back({"epsilon-" + id, *std::move(spent), "What budgets have paid so far."});
    }
  }
  page.parameters = {settings_table(job), privacy_table(job, runs)};
  page.not_covered = {"Real networks: latencies, rates and step times are those of the file.",
                      "Other rows: each site has the rows that the file gives it."};
  page.program = program;
  return page;
}

Result<void> draw_simulation(const SimulationJob& job, const std::vector<SimulatedRun>& runs,
                             const std::string& program) {
  NF_TRY_VOID(write_file((job.folder() / kSimulationPicture).string(), to_svg(comparison_chart(job, runs))));
  return write_file((job.folder() / kSimulationPage).string(), to_html(simulation_page(job, runs, program)));
}

}  // namespace noisefloor
