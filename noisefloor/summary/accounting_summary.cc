#include "noisefloor/summary/accounting_summary.h"

#include "noisefloor/summary/summary_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "noisefloor/accounting/comparison.h"
#include "noisefloor/accounting/pld.h"
#include "noisefloor/accounting/tradeoff.h"
#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/event/json.h"
#include "noisefloor/report/chart.h"
#include "noisefloor/report/html.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Adds what stands at the end of every answer.
Summary finished(Summary summary, const AccountQuestion& question, double epsilon, double seconds) {
  Json parameters = Json::object();
  for (const QuestionNumber& number : question.parameters) {
    parameters[number.name] = std::visit([](auto value) { return Json(value); }, number.value);
  }
  summary.set("adjacency", name_of(question.statement.adjacency));
  summary.set("unit", name_of(question.statement.unit));
  summary.set("sampling", question.sampling);
  summary.set("parameters", parameters);
  summary.set("warnings", question.warnings);
  summary.set("statement", Json::parse(to_json(question.statement)));
  summary.set("seconds", seconds);
  if (std::isfinite(epsilon)) summary.remark(meaning_of(question.statement, epsilon));
  for (const std::string& remark : question.remarks) summary.remark(remark);
  for (const std::string& warning : question.warnings) summary.remark("WARNING: " + warning);
  return summary;
}

struct Curve {
  Chart chart;
  const char* x_name;
  const char* y_name;
};

Result<Curve> curve_of_epsilon(const DpStatement& statement) {
  Chart chart{"Privacy loss by failure probability",
              fmt::format("certified bounds, {}", name_of(statement.adjacency)),
              "delta",
              "epsilon",
              true,
              {{}},
              true,
              ""};
  for (const EpsilonPoint& p : epsilon_curve(statement.event, statement.adjacency)) {
    chart.series.front().points.push_back({p.delta, p.epsilon.lower, p.epsilon.upper});
  }
  return Curve{std::move(chart), "delta", "epsilon"};
}

Result<Curve> curve_of_tradeoff(const DpStatement& statement) {
  Chart chart{"What a test of one record can do",
              fmt::format("least type II error, certified, {}", name_of(statement.adjacency)),
              "type I error (false alarms)",
              "type II error (misses)",
              false,
              {{}},
              true,
              "perfect privacy: guessing"};
  std::vector<double> alphas;
  for (int i = 0; i <= 100; ++i) alphas.push_back(i / 100.0);
  NF_TRY(const auto curve, tradeoff_curve(statement.event, statement.adjacency, alphas, 40));
  for (const TradeoffPoint& p : curve) chart.series.front().points.push_back({p.alpha, p.beta_lower, p.beta_upper});
  return Curve{std::move(chart), "alpha", "beta"};
}

Summary every_accountant(const AccountQuestion& question, Delta delta) {
  Summary summary("Privacy accounting: epsilon by every accountant");
  Json table = Json::array();
  Interval best{0, HUGE_VAL};
  const auto start = Clock::now();
  summary.line("delta", shown(delta.value()));
  for (const Accountant accountant : all_accountants()) {
    const auto began = Clock::now();
    const Result<AccountantAnswer> answer =
        epsilon_by(accountant, question.statement.event, question.statement.adjacency, delta);
    const std::string name(name_of(accountant));
    if (!answer.has_value()) {
      table.push_back(Json{{"accountant", name}, {"refused", answer.error().message}});
      summary.line(name, "- " + answer.error().message);
      continue;
    }
    const AccountantAnswer& a = answer.value();
    if (accountant == Accountant::kPld) best = {a.lower.value_or(0), a.epsilon};
    table.push_back(Json{{"accountant", name},
                         {"epsilon", interval_json(a.lower.value_or(0), a.epsilon)},
                         {"estimate", a.is_estimate},
                         {"how", a.how},
                         {"seconds", seconds_since(began)}});
    summary.line(name,
                 fmt::format("{:<12} {}{}", std::isfinite(a.epsilon) ? fmt::format("{:.8g}", a.epsilon) : "infinite",
                             a.is_estimate ? "ESTIMATE, no bound: " : "", a.how));
  }
  summary.set("epsilon", interval_json(best.lower, best.upper));
  summary.set("delta", delta.value());
  summary.set("accountant", "all");
  summary.set("comparison", table);
  return finished(std::move(summary), question, best.upper, seconds_since(start));
}

// What was solved for, under its name in JSON.
struct Solution {
  const char* name;
  std::variant<double, std::uint64_t> value;
  std::string text;
  Interval epsilon;
  AccountQuestion question;
};

// `best` only where the certified interval shows that it is the best.
std::string shown_solution(const std::string& value, const char* best, Interval epsilon, const Target& target) {
  const bool narrow = epsilon.upper - epsilon.lower <= std::max(1e-4 * epsilon.upper, 1e-9);
  if (narrow) return fmt::format("{} ({})", value, best);
  return fmt::format(
      "{} (it keeps the budget, but {} is not known: epsilon is certified from {:.6g} to {:.6g} here, and the target "
      "is "
      "{:.6g})",
      value, best, epsilon.lower, epsilon.upper, target.epsilon.value());
}

std::string kept_noise(NoiseMultiplier noise, Interval epsilon, const Target& target) {
  return shown_solution(fmt::format("{:.9g}", noise.value()), "the least that keeps the budget", epsilon, target);
}

Summary summary_of(const Solution& found, const Target& target, double seconds) {
  Summary summary("Calibration: the best parameter for a budget");
  std::visit([&](auto value) { summary.set(found.name, value); }, found.value);
  summary.set("epsilon", interval_json(found.epsilon.lower, found.epsilon.upper));
  summary.set("delta", target.delta.value());
  summary.set("target_epsilon", target.epsilon.value());
  summary.set("accountant", "pld");
  summary.line(found.name, found.text);
  summary.line("epsilon", shown_interval(found.epsilon.lower, found.epsilon.upper));
  summary.line("delta", shown(target.delta.value()));
  if (found.question.sampling != "none") summary.line("sampling", found.question.sampling);
  return finished(std::move(summary), found.question, found.epsilon.upper, seconds);
}

}  // namespace

Result<Summary> epsilon_summary(const AccountQuestion& question, Delta delta, std::optional<Accountant> accountant) {
  if (!accountant) return every_accountant(question, delta);
  const auto start = Clock::now();
  NF_TRY(const AccountantAnswer found,
         epsilon_by(*accountant, question.statement.event, question.statement.adjacency, delta));
  const double seconds = seconds_since(start);
  Summary summary("Privacy accounting: epsilon at a delta");
  summary.set("epsilon", interval_json(found.lower.value_or(0), found.epsilon));
  summary.set("delta", delta.value());
  summary.set("accountant", name_of(*accountant));
  summary.set("estimate", found.is_estimate);
  summary.line("epsilon", found.is_estimate ? fmt::format("{:.8g} (ESTIMATE, no bound)", found.epsilon)
                          : found.lower     ? shown_interval(*found.lower, found.epsilon)
                                            : fmt::format("{:.8g} (an upper bound)", found.epsilon));
  summary.line("delta", shown(delta.value()));
  summary.line("accountant", fmt::format("{}: {}", name_of(*accountant), found.how));
  summary.line("neighbours",
               fmt::format("one {} {}", name_of(question.statement.unit),
                           question.statement.adjacency == Adjacency::kAddRemove ? "added or removed"
                                                                                 : "exchanged for another"));
  if (question.sampling != "none") summary.line("sampling", question.sampling);
  return finished(std::move(summary), question, found.epsilon, seconds);
}

Result<Summary> delta_summary(const AccountQuestion& question, PrivacyLoss epsilon) {
  const DpStatement& statement = question.statement;
  const auto start = Clock::now();
  NF_TRY(const Interval delta, pld_delta(statement.event, statement.adjacency, epsilon));
  Summary summary("Privacy accounting: delta at an epsilon");
  summary.set("epsilon", epsilon.value());
  summary.set("delta", interval_json(delta.lower, delta.upper));
  summary.set("accountant", "pld");
  summary.line("epsilon", shown(epsilon.value()));
  summary.line("delta", shown_interval(delta.lower, delta.upper));
  return finished(std::move(summary), question, epsilon.value(), seconds_since(start));
}

Result<Summary> solution_summary(const Target& target, const StatedTraining& stated,
                                 std::optional<NoiseMultiplier> noise, SolveFor unknown, PrivacyUnit unit) {
  const auto start = Clock::now();
  NF_TRY(const SolvedTraining solved, solve_training(target, stated, noise, unknown));
  const std::uint64_t steps = solved.run.steps.value();
  const double rate = solved.run.law.rate().value();
  Solution found{"noise_multiplier", solved.noise.value(), kept_noise(solved.noise, solved.epsilon, target),
                 solved.epsilon, question_about(solved.run, solved.noise, unit)};
  if (unknown == SolveFor::kSteps) {
    found.name = "steps";
    found.value = steps;
    found.text = shown_solution(fmt::format("{}", steps), "the most within the budget", solved.epsilon, target);
  } else if (unknown == SolveFor::kRate) {
    found.name = "sample_rate";
    found.value = rate;
    found.text = shown_solution(fmt::format("{:.9g}", rate), "the largest within the budget", solved.epsilon, target);
  }
  return summary_of(found, target, seconds_since(start));
}

Result<Summary> solution_summary(const Target& target, QueryNoise kind, std::optional<Steps> count,
                                 std::optional<NoiseMultiplier> noise, PrivacyUnit unit) {
  const auto start = Clock::now();
  if (count.has_value() == noise.has_value()) {
    return invalid_argument(
        "state the number of queries to find the noise, or the noise to find the number of queries");
  }
  NF_TRY(const SolvedQueries solved, count ? solve_noise(target, kind, *count) : solve_count(target, kind, *noise));
  Solution found{"noise_multiplier", solved.noise.value(), kept_noise(solved.noise, solved.epsilon, target),
                 solved.epsilon, question_about(kind, solved.noise, solved.count, target.adjacency, unit)};
  found.question.remarks.clear();
  if (noise) {
    found.name = "count";
    found.value = solved.count.value();
    found.text = shown_solution(fmt::format("{}", solved.count.value()), "the most queries within the budget",
                                solved.epsilon, target);
  }
  return summary_of(found, target, seconds_since(start));
}

std::string_view name_of(CurveKind kind) { return kind == CurveKind::kEpsilon ? "epsilon" : "tradeoff"; }

Result<void> write_curve(Summary& summary, CurveKind kind, const DpStatement& statement, const std::string& prefix) {
  NF_TRY(const Curve curve, kind == CurveKind::kEpsilon ? curve_of_epsilon(statement) : curve_of_tradeoff(statement));
  if (curve.chart.series.front().points.size() < 2)
    return invalid_argument("there is no curve: these events have no finite epsilon");
  NF_TRY_VOID(write_file(prefix + ".csv", to_csv(curve.chart, curve.x_name, curve.y_name)));
  NF_TRY_VOID(write_file(prefix + ".svg", to_svg(curve.chart)));
  summary.set("curve", Json{{"kind", name_of(kind)}, {"csv", prefix + ".csv"}, {"svg", prefix + ".svg"}});
  summary.line("curve", fmt::format("{0}.csv and {0}.svg", prefix));
  return success();
}

}  // namespace noisefloor
