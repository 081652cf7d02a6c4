#include "noisefloor/report/job_charts.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "noisefloor/base/file.h"

namespace noisefloor {

Chart trade_off_chart(const PlanQuestion& question, Epsilon target, const std::vector<TradeOff>& curves) {
  Chart chart;
  chart.title =
      fmt::format("Noise by batch size: epsilon {:g} at delta {:.3g}", target.value(), question.delta.value());
  chart.subtitle = fmt::format("the least noise multiplier, {} rows", question.rows.value());
  chart.x_label = "batch size";
  chart.y_label = "noise multiplier";
  chart.log_x = true;
  for (const TradeOff& curve : curves) {
    Chart::Series series{fmt::format("{:g} epochs", curve.epochs), {}};
    for (const ExactPlan& plan : curve.plans) {
      const double noise = plan.noise.value();
      series.points.push_back({static_cast<double>(plan.sizes.largest()), noise, noise});
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

Chart utility_chart(const PlanJob& job, const std::vector<UtilityCurve>& curves) {
  Chart chart;
  chart.title = job.file().training.name + ": what noise costs in accuracy";
  chart.subtitle =
      fmt::format("share of accuracy left with noise on the final weights, {} draws each", job.goal().draws);
  chart.x_label = "noise multiplier";
  chart.y_label = "share of accuracy";
  chart.log_x = true;
  chart.marks = true;
  for (const UtilityCurve& curve : curves) {
    Chart::Series series{fmt::format("C = {:g}", curve.clip.value()), {}};
    for (const UtilityPoint& p : curve.points) series.points.push_back({p.noise.value(), p.lowest, p.highest});
    chart.series.push_back(std::move(series));
  }
  return chart;
}

std::string utility_picture_of(const PlanJob& job) { return (job.folder() / "utility-graph.svg").string(); }

Result<void> draw_utility_graph(const PlanJob& job, const std::vector<UtilityCurve>& curves) {
  if (job.follows_a_phase() || job.goal().noise.size() < 2) return success();
  return write_file(utility_picture_of(job), to_svg(utility_chart(job, curves)));
}

Chart sweep_chart(const SweepJob& job, const std::vector<SweepRun>& runs) {
  const Measure last = measure_of(runs.back().quality);
  Chart chart{.title = fmt::format("{}: what privacy costs", job.file().training.name),
              .subtitle = fmt::format("each point is one private training at delta {:g}, on its test data",
                                      job.delta().value()),
              .x_label = "epsilon",
              .y_label = last.name,
              .log_x = true,
              .series = {{}},
              .from_zero = false,
              .diagonal = {},
              .marks = true};
  for (const SweepRun& run : runs) {
    const double value = measure_of(run.quality).value;
    if (std::isfinite(run.epsilon)) chart.series.front().points.push_back({run.epsilon, value, value});
  }
  if (!std::isfinite(runs.back().epsilon)) {
    chart.level = {last.value, fmt::format("without privacy: {:.4g}", last.value)};
  }
  return chart;
}

std::optional<std::string> sweep_picture_of(const SweepJob& job) {
  if (job.private_runs() < 2) return std::nullopt;
  return (job.folder() / "sweep.svg").string();
}

Result<void> draw_sweep(const SweepJob& job, const std::vector<SweepRun>& runs) {
  const std::optional<std::string> picture = sweep_picture_of(job);
  return picture ? write_file(*picture, to_svg(sweep_chart(job, runs))) : success();
}

}  // namespace noisefloor
