#include "noisefloor/cli/account_report.h"

#include "noisefloor/cli/report_json.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "noisefloor/accounting/comparison.h"
#include "noisefloor/accounting/pld.h"
#include "noisefloor/accounting/tradeoff.h"
#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/event/json.h"
#include "noisefloor/report/chart.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void describe(Report& report, const Asked& asked) {
  const AccountQuestion& question = asked.question;
  report.set("adjacency", name_of(question.statement.adjacency));
  report.set("unit", name_of(question.statement.unit));
  report.set("sampling", question.sampling);
  report.set("parameters", asked.parameters);
  report.set("warnings", question.warnings);
  report.set("statement", Json::parse(to_json(question.statement)));
}

struct Curve {
  Chart chart;
  const char* x_name;
  const char* y_name;
};

Curve curve_of_epsilon(const DpStatement& statement) {
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
  return {std::move(chart), "delta", "epsilon"};
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

Result<Curve> curve_named(const std::string& name, const DpStatement& statement) {
  if (name == "epsilon") return curve_of_epsilon(statement);
  if (name == "tradeoff") return curve_of_tradeoff(statement);
  return invalid_argument(fmt::format("--curve must be epsilon or tradeoff; got {}", noisefloor::shown(name)));
}

Result<void> write_curve(const AnswerForm& o, const DpStatement& statement, Report& report) {
  if (o.curve.empty()) return success();
  NF_TRY(const Curve curve, curve_named(o.curve, statement));
  if (curve.chart.series.front().points.size() < 2)
    return invalid_argument("there is no curve: these events have no finite epsilon");
  const std::string prefix = o.output.empty() ? o.curve + "-curve" : o.output;
  NF_TRY_VOID(write_file(prefix + ".csv", to_csv(curve.chart, curve.x_name, curve.y_name)));
  NF_TRY_VOID(write_file(prefix + ".svg", to_svg(curve.chart)));
  report.set("curve", Json{{"kind", o.curve}, {"csv", prefix + ".csv"}, {"svg", prefix + ".svg"}});
  report.line("curve", fmt::format("{0}.csv and {0}.svg", prefix));
  return success();
}

Result<Report> every_accountant(const Asked& asked, Delta delta, const AnswerForm& form) {
  const AccountQuestion& question = asked.question;
  Report report("Privacy accounting: epsilon by every accountant");
  Json table = Json::array();
  Interval best{0, HUGE_VAL};
  const auto start = Clock::now();
  report.line("delta", shown(delta.value()));
  for (const Accountant accountant : all_accountants()) {
    const auto began = Clock::now();
    const Result<AccountantAnswer> answer =
        epsilon_by(accountant, question.statement.event, question.statement.adjacency, delta);
    const std::string name(name_of(accountant));
    if (!answer.has_value()) {
      table.push_back(Json{{"accountant", name}, {"refused", answer.error().message}});
      report.line(name, "- " + answer.error().message);
      continue;
    }
    const AccountantAnswer& a = answer.value();
    if (accountant == Accountant::kPld) best = {a.lower.value_or(0), a.epsilon};
    table.push_back(Json{{"accountant", name},
                         {"epsilon", interval_json(a.lower.value_or(0), a.epsilon)},
                         {"estimate", a.is_estimate},
                         {"how", a.how},
                         {"seconds", seconds_since(began)}});
    report.line(name,
                fmt::format("{:<12} {}{}", std::isfinite(a.epsilon) ? fmt::format("{:.8g}", a.epsilon) : "infinite",
                            a.is_estimate ? "ESTIMATE, no bound: " : "", a.how));
  }
  report.set("epsilon", interval_json(best.lower, best.upper));
  report.set("delta", delta.value());
  report.set("accountant", "all");
  report.set("comparison", table);
  return finished_report(std::move(report), asked, best.upper, seconds_since(start), form);
}

}  // namespace

Result<Report> epsilon_report(const Asked& asked, Delta delta, const AnswerForm& form) {
  if (form.accountant == "all") return every_accountant(asked, delta, form);
  const AccountQuestion& question = asked.question;
  NF_TRY(const Accountant accountant, parse_accountant(form.accountant));
  const auto start = Clock::now();
  NF_TRY(const AccountantAnswer found,
         epsilon_by(accountant, question.statement.event, question.statement.adjacency, delta));
  const double seconds = seconds_since(start);
  Report report("Privacy accounting: epsilon at a delta");
  report.set("epsilon", interval_json(found.lower.value_or(0), found.epsilon));
  report.set("delta", delta.value());
  report.set("accountant", name_of(accountant));
  report.set("estimate", found.is_estimate);
  report.line("epsilon", found.is_estimate ? fmt::format("{:.8g} (ESTIMATE, no bound)", found.epsilon)
                         : found.lower     ? shown_interval(*found.lower, found.epsilon)
                                           : fmt::format("{:.8g} (an upper bound)", found.epsilon));
  report.line("delta", shown(delta.value()));
  report.line("accountant", fmt::format("{}: {}", name_of(accountant), found.how));
  report.line("neighbours",
              fmt::format("one {} {}", name_of(question.statement.unit),
                          question.statement.adjacency == Adjacency::kAddRemove ? "added or removed"
                                                                                : "exchanged for another"));
  if (question.sampling != "none") report.line("sampling", question.sampling);
  return finished_report(std::move(report), asked, found.epsilon, seconds, form);
}

Result<Report> delta_report(const Asked& asked, PrivacyLoss epsilon, const AnswerForm& form) {
  if (form.accountant != "pld") return invalid_argument("delta at an epsilon is computed by --accountant pld only");
  const DpStatement& statement = asked.question.statement;
  const auto start = Clock::now();
  NF_TRY(const Interval delta, pld_delta(statement.event, statement.adjacency, epsilon));
  Report report("Privacy accounting: delta at an epsilon");
  report.set("epsilon", epsilon.value());
  report.set("delta", interval_json(delta.lower, delta.upper));
  report.set("accountant", "pld");
  report.line("epsilon", shown(epsilon.value()));
  report.line("delta", shown_interval(delta.lower, delta.upper));
  return finished_report(std::move(report), asked, epsilon.value(), seconds_since(start), form);
}

Result<Report> finished_report(Report report, const Asked& asked, double epsilon, double seconds,
                               const AnswerForm& form) {
  const AccountQuestion& question = asked.question;
  describe(report, asked);
  report.set("seconds", seconds);
  NF_TRY_VOID(write_curve(form, question.statement, report));
  if (std::isfinite(epsilon)) report.remark(meaning_of(question.statement, epsilon));
  for (const std::string& remark : question.remarks) report.remark(remark);
  for (const std::string& warning : question.warnings) report.remark("WARNING: " + warning);
  return report;
}

}  // namespace noisefloor::cli
