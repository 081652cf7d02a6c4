#include <array>
#include <cmath>
#include <utility>

#include "noisefloor/accounting/membership.h"
#include "noisefloor/accounting/pld.h"
#include "noisefloor/accounting/tradeoff.h"
#include "noisefloor/report/html.h"
#include "noisefloor/report/report_parts.h"

namespace noisefloor::internal {
namespace {

constexpr std::array<double, 2> kFalseAlarms{0.01, 0.001};
constexpr std::array<double, 2> kPriors{0.5, 0.01};
constexpr double kLeastDelta = 1e-10;
constexpr double kMostDelta = 1e-2;
constexpr int kDeltasInADecade = 4;
constexpr int kAlphas = 50;

HtmlReport::Figure epsilon_figure(const DpStatement& statement, const HtmlReport::Promise& promise) {
  Chart chart;
  chart.title = "ε at other δ";
  chart.subtitle = "certified bounds of the same release";
  chart.x_label = "δ (chance of an exception)";
  chart.y_label = "ε";
  chart.log_x = true;
  chart.series = {{"", {}}};
  const double decades = std::log10(kMostDelta / kLeastDelta);
  const int last = static_cast<int>(std::lround(decades * kDeltasInADecade));
  for (int i = 0; i <= last; ++i) {
    const double delta = std::pow(10.0, std::log10(kLeastDelta) + static_cast<double>(i) / kDeltasInADecade);
    const auto epsilon = pld_epsilon(statement.event, statement.adjacency, Delta::make(delta).value());
    if (!epsilon.has_value() || !std::isfinite(epsilon.value().upper)) continue;
    chart.series.front().points.push_back({delta, epsilon.value().lower, epsilon.value().upper});
  }
  if (promise.delta >= kLeastDelta && promise.delta <= kMostDelta) {
    chart.spot = {promise.delta, promise.epsilon_upper, "as promised, at δ = " + shown_power(promise.delta)};
  }
  return {"epsilon-curve", std::move(chart),
          "A smaller δ allows for fewer exceptions and costs a larger ε. All points hold at once: they are one "
          "guarantee, seen at different δ."};
}

Result<HtmlReport::Figure> tradeoff_figure(const DpStatement& statement) {
  Chart chart;
  chart.title = "What a test for one record can do";
  chart.subtitle = "least share of misses of any test, by its false alarms";
  chart.x_label = "type I error (false alarms)";
  chart.y_label = "type II error (misses)";
  chart.diagonal = "guessing: perfect privacy";
  std::vector<double> alphas;
  for (int i = 0; i <= kAlphas; ++i) alphas.push_back(std::pow(static_cast<double>(i) / kAlphas, 2));
  NF_TRY(const std::vector<TradeoffPoint> curve, tradeoff_curve(statement.event, statement.adjacency, alphas));
  Chart::Series series;
  for (const TradeoffPoint& p : curve) series.points.push_back({p.alpha, p.beta_lower, p.beta_upper});
  chart.series = {std::move(series)};
  return HtmlReport::Figure{
      "trade-off", std::move(chart),
      "The nearer the line is to the dashed one, the less a test is better than guessing. No test of any kind "
      "gets below it."};
}

}  // namespace

HtmlReport::Promise promise_of(const DpStatement& statement, Interval epsilon, Delta delta) {
  return {epsilon.lower, epsilon.upper, delta.value(), std::string(name_of(statement.unit)),
          statement.adjacency == Adjacency::kReplaceOne};
}

void add_privacy(HtmlReport& page, const DpStatement& statement, Delta delta) {
  if (!std::isfinite(page.promise.epsilon_upper)) return;
  HtmlReport::Figure curve = epsilon_figure(statement, page.promise);
  if (curve.chart.series.front().points.size() > 1) page.privacy.push_back(std::move(curve));
  auto tradeoff = tradeoff_figure(statement);
  if (tradeoff.has_value()) page.privacy.push_back(std::move(tradeoff).value());
  const auto bounds = membership_bounds(statement.event, statement.adjacency, delta, kFalseAlarms);
  if (!bounds.has_value()) return;
  HtmlReport::Odds odds{bounds.value().advantage, {}, {}};
  for (const MembershipTest& test : bounds.value().tests) odds.found.emplace_back(test.false_alarms, test.found);
  for (const double prior : kPriors) {
    odds.beliefs.emplace_back(prior, belief_after(prior, page.promise.epsilon_upper));
  }
  page.odds = std::move(odds);
}

}  // namespace noisefloor::internal
