#include "noisefloor/cli/plan_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/event/json.h"
#include "noisefloor/plan/closed_form.h"
#include "noisefloor/plan/exact.h"
#include "noisefloor/report/chart.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kCurvePoints = 24;
constexpr std::uint64_t kUsualShare = 100;  // of the rows in a batch, where nothing else says

// What is asked, as numbers.
struct Asked {
  Rows rows;
  double epochs;
  Delta delta;
  std::optional<Epsilon> epsilon;  // one of these two, or both
  std::optional<NoiseMultiplier> noise;
  std::optional<Rows> batch;
  std::optional<Steps> rounds;
  std::optional<SampleSizes> sizes;
  double growth;
  Draw draw;
  GammaMode mode;
  std::string curve;

  [[nodiscard]] Adjacency adjacency() const {
    return draw == Draw::kPoisson ? Adjacency::kAddRemove : Adjacency::kReplaceOne;
  }
  // Whether the batches are given, rather than looked for.
  [[nodiscard]] bool batches_given() const { return batch || rounds || sizes; }
  [[nodiscard]] ExactQuestion exact(Epsilon target) const {
    return {.rows = rows, .epochs = epochs, .target = {adjacency(), target, delta}, .draw = draw, .growth = growth};
  }
};

template <class Q>
Result<std::optional<Q>> optional_quantity(const char* name, const std::string& text) {
  if (text.empty()) return std::optional<Q>{};
  if constexpr (std::is_same_v<typename Q::Value, double>) {
    NF_TRY(const double value, parse_number(name, text));
    NF_TRY(const Q made, Q::make(value));
    return std::optional<Q>(made);
  } else {
    NF_TRY(const std::uint64_t value, parse_count(name, text));
    NF_TRY(const Q made, Q::make(value));
    return std::optional<Q>(made);
  }
}

// "100x50,200x20": 50 rounds of 100, then 20 of 200.
Result<SampleSizes> parse_sizes(const std::string& text) {
  std::vector<SampleSizes::Stretch> stretches;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string one = text.substr(at, end - at);
    const std::size_t times = one.find('x');
    if (times == std::string::npos) {
      return invalid_argument(
          fmt::format("--sizes is a list such as 100x50,200x20: 50 rounds of 100, then 20 of 200; got {}",
                      noisefloor::shown(text)));
    }
    NF_TRY(const std::uint64_t size, parse_count("--sizes", one.substr(0, times)));
    NF_TRY(const std::uint64_t rounds, parse_count("--sizes", one.substr(times + 1)));
    stretches.push_back({size, rounds});
    at = end + 1;
  }
  return SampleSizes::of(std::move(stretches));
}

Result<std::optional<SampleSizes>> given_sizes(const PlanNumbers& n, Rows rows) {
  if (n.sizes.empty()) return std::optional<SampleSizes>{};
  if (!n.epochs.empty() || !n.batch_size.empty() || !n.rounds.empty() || n.growth != "0") {
    return invalid_argument(
        "--sizes says how many gradients there are: leave out --epochs, --batch-size, --rounds and --growth");
  }
  NF_TRY(SampleSizes sizes, parse_sizes(n.sizes));
  if (sizes.largest() > rows.value()) {
    return invalid_argument(
        fmt::format("--sizes has batches of {}, larger than the data: at most {}", sizes.largest(), rows.value()));
  }
  return std::optional<SampleSizes>(std::move(sizes));
}

Result<Asked> asked(const PlanNumbers& n) {
  if (n.rows.empty() || (n.epochs.empty() && n.sizes.empty()) || (n.epsilon.empty() && n.noise_multiplier.empty())) {
    return invalid_argument(
        "give a training file, or --rows, --epochs (or --sizes) and --epsilon (or --noise-multiplier in the place of "
        "--epsilon)");
  }
  NF_TRY(const std::optional<Rows> rows, optional_quantity<Rows>("--rows", n.rows));
  NF_TRY(std::optional<SampleSizes> sizes, given_sizes(n, *rows));
  double epochs = 0;
  if (sizes) {
    epochs = static_cast<double>(sizes->total()) / static_cast<double>(rows->value());
  } else {
    NF_TRY(epochs, parse_number("--epochs", n.epochs));
    if (!(epochs > 0)) return invalid_argument(fmt::format("--epochs must be above 0; {} was given", n.epochs));
  }
  NF_TRY(const Delta usual, Delta::make(std::min(0.5, 1 / static_cast<double>(rows->value()))));
  NF_TRY(const std::optional<Delta> delta, optional_quantity<Delta>("--delta", n.delta));
  if (delta && delta->value() == 0) return invalid_argument("--delta must be above 0, as the noise is Gaussian");
  NF_TRY(const std::optional<Epsilon> epsilon, optional_quantity<Epsilon>("--epsilon", n.epsilon));
  NF_TRY(const std::optional<NoiseMultiplier> noise,
         optional_quantity<NoiseMultiplier>("--noise-multiplier", n.noise_multiplier));
  NF_TRY(const std::optional<Rows> batch, optional_quantity<Rows>("--batch-size", n.batch_size));
  NF_TRY(const std::optional<Steps> rounds, optional_quantity<Steps>("--rounds", n.rounds));
  NF_TRY(const double growth, parse_number("--growth", n.growth));
  if (!(growth >= 0 && growth <= 16)) return invalid_argument("--growth takes a power from 0 to 16");
  if (batch && batch->value() > rows->value()) {
    return invalid_argument(
        fmt::format("--batch-size {} is larger than the data: at most {}", batch->value(), rows->value()));
  }
  if (rounds && noise) {
    return invalid_argument(
        "--rounds and --noise-multiplier leave nothing free: give one of them, or --sizes and the noise");
  }
  if (batch && rounds) return invalid_argument("--batch-size and --rounds follow from each other: give one");
  if (n.sampler != "poisson" && n.sampler != "fixed-size") {
    return invalid_argument(
        fmt::format("--sampler must be poisson or fixed-size; got {}", noisefloor::shown(n.sampler)));
  }
  return Asked{*rows,
               epochs,
               delta.value_or(usual),
               epsilon,
               noise,
               batch,
               rounds,
               std::move(sizes),
               growth,
               n.sampler == "poisson" ? Draw::kPoisson : Draw::kFixedSize,
               n.paper ? GammaMode::kPaper : GammaMode::kRoot,
               n.curve};
}

Json as_json(const std::vector<Condition>& conditions) {
  Json list = Json::array();
  for (const Condition& one : conditions) {
    Json item{{"name", one.name},
              {"statement", one.statement},
              {"value", one.value},
              {"relation", one.at_least ? ">=" : "<="},
              {"bound", std::isfinite(one.bound) ? Json(one.bound) : Json(nullptr)},
              {"holds", one.holds}};
    if (!one.holds) item["remedy"] = one.remedy;
    list.push_back(std::move(item));
  }
  return list;
}

Json as_json(const ExactPlan& plan) {
  return {{"noise_multiplier", plan.noise.value()},
          {"rounds", plan.sizes.rounds()},
          {"batch", plan.sizes.largest()},
          {"epsilon", interval_json(plan.epsilon.lower, plan.epsilon.upper)},
          {"event", Json::parse(to_json(plan.event))}};
}

std::string shown_condition(const Condition& one) {
  const std::string text = fmt::format("{:<7} {:<66} {:>10.5g} {} {:.5g}", one.name, one.statement, one.value,
                                       one.at_least ? ">=" : "<=", one.bound);
  return one.holds ? text : text + fmt::format("   FAILS: {}", one.remedy);
}

Json theorem_json(const std::vector<Condition>& conditions) {
  return {{"holds", all_hold(conditions)}, {"conditions", as_json(conditions)}};
}

void report_theorem(Report& report, const char* title, const std::vector<Condition>& conditions) {
  report.line(title, all_hold(conditions) ? "all conditions hold" : "does not apply");
  for (const Condition& one : conditions) report.line("", shown_condition(one));
}

std::string row(const std::string& noise, const std::string& batch, const std::string& rounds,
                const std::string& epsilon) {
  return fmt::format("{:>16}  {:>10}  {:>10}  {}", noise, batch, rounds, epsilon);
}

std::string row(const ExactPlan& plan) {
  return row(fmt::format("{:.6g}", plan.noise.value()), std::to_string(plan.sizes.largest()),
             std::to_string(plan.sizes.rounds()), shown_interval(plan.epsilon.lower, plan.epsilon.upper));
}

// The closed form and what the accountant says of it. Nothing if the theorems have no answer, which is then said.
Result<std::optional<ClosedFormPlan>> report_closed_form(Report& report, const Asked& a) {
  if (a.draw == Draw::kFixedSize) {
    if (!a.epsilon) {
      return invalid_argument(
          "give --epsilon: it follows from the noise by theorems that are for Poisson samples, and not for samples of "
          "fixed size");
    }
    report.set("closed_form", Json(nullptr));
    report.remark(
        "The theorems assume Poisson samples: for samples of fixed size there is the exact plan only, and it "
        "pays for twice the sensitivity.");
    return std::optional<ClosedFormPlan>{};
  }
  const ClosedFormQuestion question{a.rows, a.epochs, a.delta, a.growth};
  Result<ClosedFormPlan> made =
      a.noise ? closed_form_plan(question, *a.noise, a.mode) : closed_form_plan(question, *a.epsilon, a.mode);
  if (!made.has_value() && !a.epsilon) {
    return invalid_argument(made.error().message + ". For the exact plan alone, give --epsilon");
  }
  if (!made.has_value()) {
    report.set("closed_form", Json{{"error", made.error().message}});
    report.line("closed form", "none: " + made.error().message);
    return std::optional<ClosedFormPlan>{};
  }
  const ClosedFormPlan& plan = made.value();
  const ProactiveSetting& setting = plan.setting;
  NF_TRY(const Interval epsilon, certified_epsilon(setting));
  if (a.mode == GammaMode::kRoot && epsilon.upper > setting.epsilon.value()) {
    return internal_error("the closed form gave a plan that the accountant does not confirm: nothing is shown");
  }
  Json json{{"mode", a.mode == GammaMode::kPaper ? "paper: gamma after one update" : "gamma is the root of (55)"},
            {"epsilon", setting.epsilon.value()},
            {"noise_multiplier", setting.noise.value()},
            {"rounds", setting.sizes.rounds()},
            {"batch", setting.sizes.largest()},
            {"gamma", plan.gamma},
            {"alpha", plan.alpha},
            {"theta", setting.sizes.theta()},
            {"min_rounds", plan.min_rounds},
            {"min_rounds_asymptotic", plan.min_rounds_asymptotic},
            {"max_batch", plan.mean_size},
            {"max_batch_asymptotic", plan.mean_size_asymptotic},
            {"exact_epsilon", interval_json(epsilon.lower, epsilon.upper)}};
  report.line("", row("noise multiplier", "batch", "rounds", "exact epsilon"));
  report.line(a.mode == GammaMode::kPaper ? "as printed" : "closed form",
              row(fmt::format("{:.6g}", setting.noise.value()), std::to_string(setting.sizes.largest()),
                  std::to_string(setting.sizes.rounds()), shown_interval(epsilon.lower, epsilon.upper)));
  json["theorem_3_1"] = theorem_json(theorem_3_1(setting));
  json["theorem_b2"] = theorem_json(theorem_b2(setting));
  json["theorem_b4"] = theorem_json(theorem_b4(setting));
  report.set("closed_form", std::move(json));
  if (a.mode == GammaMode::kPaper) {
    report.remark(
        "As printed gamma is that of one update, and sigma leaves epsilon out: this mode is for comparison with the "
        "paper's tables, and only the exact epsilon is a guarantee.");
  }
  return std::optional<ClosedFormPlan>(std::move(made).value());
}

void report_gamma(Report& report, const ClosedFormPlan& plan) {
  report.line("gamma",
              fmt::format("{:.6g}, T_min {:.1f}, T_min,asym {:.1f}, s_max {:.1f}, s_max,asym {:.1f}", plan.gamma,
                          plan.min_rounds, plan.min_rounds_asymptotic, plan.mean_size, plan.mean_size_asymptotic));
}

void report_theorems(Report& report, const ProactiveSetting& setting) {
  report_theorem(report, "Theorem 3.1", theorem_3_1(setting));
  report_theorem(report, "Theorem B.4", theorem_b4(setting));
  report_theorem(report, "Theorem B.2", theorem_b2(setting));
}

// What the theorems say of batches that were given: with the noise that was, or with theirs.
Result<void> report_given(Report& report, const Asked& a, Epsilon target, const SampleSizes& sizes) {
  if (a.draw != Draw::kPoisson) return success();
  const double usual = proactive::sigma_for(target.value(), a.delta.value());
  NF_TRY(const NoiseMultiplier noise, NoiseMultiplier::make(a.noise ? a.noise->value() : usual));
  const ProactiveSetting setting{a.rows, target, a.delta, noise, sizes};
  report.line("as given", fmt::format("{} rounds of up to {}, theta {:.4g}, with sigma {:.6g}, at epsilon {:g}:",
                                      sizes.rounds(), sizes.largest(), sizes.theta(), noise.value(), target.value()));
  report_theorems(report, setting);
  report.set("as_given", Json{{"noise_multiplier", noise.value()},
                              {"rounds", sizes.rounds()},
                              {"batch", sizes.largest()},
                              {"theta", sizes.theta()},
                              {"theorem_3_1", theorem_json(theorem_3_1(setting))},
                              {"theorem_b2", theorem_json(theorem_b2(setting))},
                              {"theorem_b4", theorem_json(theorem_b4(setting))}});
  return success();
}

// How far the data go: epochs in all, by samples of one row.
Result<void> report_capacity(Report& report, const Asked& a, Epsilon target, NoiseMultiplier noise) {
  Json json;
  std::string text;
  if (a.draw == Draw::kPoisson) {
    const double most = most_epochs({a.rows, a.epochs, a.delta, a.growth}, target);
    json["closed_form_epochs"] = most;
    text = fmt::format("{:.4g} epochs by the closed form, ", most);
  }
  const Result<ExactPlan> exact = exact_for_noise_and_size(a.exact(target), noise, Rows::of(1));
  if (!exact.has_value()) return success();
  const double epochs = static_cast<double>(exact.value().sizes.total()) / static_cast<double>(a.rows.value());
  json["exact_epochs"] = epochs;
  json["tasks"] = static_cast<std::uint64_t>(epochs / a.epochs);
  report.set("capacity", std::move(json));
  report.line("these data allow",
              fmt::format("{}{:.4g} exactly, with this noise and one row a round: {} such trainings", text, epochs,
                          static_cast<std::uint64_t>(epochs / a.epochs)));
  return success();
}

Result<void> write_trade_off(Report& report, const Asked& a, Epsilon target) {
  Chart chart;
  chart.title = fmt::format("Noise by batch size: epsilon {:g} at delta {:.3g}", target.value(), a.delta.value());
  chart.subtitle = fmt::format("the least noise multiplier, {} rows", a.rows.value());
  chart.x_label = "batch size";
  chart.y_label = "noise multiplier";
  chart.log_x = true;
  std::string csv = "epochs,batch,rounds,noise_multiplier,epsilon\n";
  for (const double share : {0.25, 1.0, 4.0}) {
    ExactQuestion question = a.exact(target);
    question.epochs = a.epochs * share;
    if (question.epochs < 1) continue;
    NF_TRY(const std::vector<ExactPlan> plans, exact_trade_off(question, kCurvePoints));
    Chart::Series series{fmt::format("{:g} epochs", question.epochs), {}};
    for (const ExactPlan& plan : plans) {
      const double noise = plan.noise.value();
      series.points.push_back({static_cast<double>(plan.sizes.largest()), noise, noise});
      csv += fmt::format("{:g},{},{},{:.8g},{:.8g}\n", question.epochs, plan.sizes.largest(), plan.sizes.rounds(),
                         noise, plan.epsilon.upper);
    }
    chart.series.push_back(std::move(series));
  }
  if (chart.series.empty()) return invalid_argument("a curve is for at least one epoch");
  NF_TRY_VOID(write_file(a.curve + ".csv", csv));
  NF_TRY_VOID(write_file(a.curve + ".svg", to_svg(chart)));
  report.set("curve", Json{{"csv", a.curve + ".csv"}, {"svg", a.curve + ".svg"}});
  report.line("trade-off", fmt::format("{0}.svg, {0}.csv", a.curve));
  return success();
}

}  // namespace

bool PlanNumbers::any() const {
  return !rows.empty() || !epochs.empty() || !epsilon.empty() || !delta.empty() || !noise_multiplier.empty() ||
         !batch_size.empty() || !rounds.empty() || !sizes.empty() || growth != "0" || sampler != "poisson" ||
         !curve.empty() || paper;
}

Result<Report> answer_plan_question(const PlanNumbers& numbers) {
  NF_TRY(const Asked a, asked(numbers));
  Report report(a.epsilon ? fmt::format("Plan for epsilon {:g} at delta {:.6g}: {:g} epochs of {} rows",
                                        a.epsilon->value(), a.delta.value(), a.epochs, a.rows.value())
                          : fmt::format("Plan for noise multiplier {:g} at delta {:.6g}: {:g} epochs of {} rows",
                                        a.noise->value(), a.delta.value(), a.epochs, a.rows.value()));
  report.set("rows", a.rows.value());
  report.set("epochs", a.epochs);
  report.set("delta", a.delta.value());
  report.set("adjacency", std::string(name_of(a.adjacency())));
  NF_TRY(const std::optional<ClosedFormPlan> closed, report_closed_form(report, a));
  // What is kept: as asked, or what follows from the noise.
  std::optional<Epsilon> target = a.epsilon;
  if (!target && closed) target = closed->setting.epsilon;
  if (!target) return internal_error("no epsilon follows");
  const ExactQuestion question = a.exact(*target);
  std::optional<NoiseMultiplier> noise = a.noise;
  if (!noise && closed) noise = closed->setting.noise;
  if (!noise) {
    NF_TRY(noise, NoiseMultiplier::make(proactive::sigma_for(target->value(), a.delta.value())));
  }

  std::optional<ExactPlan> best;
  if (a.sizes && a.noise) {
    NF_TRY(best, exact_as_given(question, *a.noise, *a.sizes));
    report.line("exact", row(*best) + "   as given");
  } else if (a.sizes) {
    NF_TRY(best, exact_for_sizes(question, *a.sizes));
    report.line("exact", row(*best) + "   the least noise");
  } else if (a.noise && a.batch) {
    NF_TRY(best, exact_for_noise_and_size(question, *a.noise, *a.batch));
    report.line("exact", row(*best) + "   the most rounds");
  } else if (a.batch) {
    NF_TRY(best, exact_for_size(question, *a.batch));
    report.line("exact", row(*best) + "   the least noise");
  } else if (a.rounds) {
    NF_TRY(best, exact_for_rounds(question, *a.rounds));
    report.line("exact", row(*best) + "   the least noise");
  } else if (const auto found = exact_for_noise(question, *noise); found.has_value() || a.noise) {
    NF_TRY(best, found);
    report.line("exact", row(*best) + "   the same noise, the fewest rounds");
  } else {
    NF_TRY(const Rows batch, Rows::make((a.rows.value() + kUsualShare - 1) / kUsualShare));
    NF_TRY(best, exact_for_size(question, batch));
    report.line("exact", row(*best) + "   a hundredth of the rows, the least noise");
  }
  report.set("exact", as_json(*best));
  if (closed && !a.batches_given()) {
    NF_TRY(const ExactPlan same, exact_for_sizes(question, closed->setting.sizes));
    report.line("", row(same) + "   the same batch, the least noise");
    report.set("exact_same_batch", as_json(same));
    const double rounds =
        static_cast<double>(closed->setting.sizes.rounds()) / static_cast<double>(best->sizes.rounds());
    const double less = closed->setting.noise.value() / same.noise.value();
    report.set("rounds_ratio", rounds);
    report.set("noise_ratio", less);
    report.line("ratio",
                fmt::format("the closed form takes {:.3g} times the rounds, or {:.3g} times the noise", rounds, less));
  }
  if (closed) report_gamma(report, *closed);
  if (a.batches_given()) {
    NF_TRY_VOID(report_given(report, a, *target, best->sizes));
  } else if (closed) {
    report_theorems(report, closed->setting);
  }
  NF_TRY_VOID(report_capacity(report, a, *target, *noise));
  if (!a.curve.empty()) NF_TRY_VOID(write_trade_off(report, a, *target));
  return report;
}

}  // namespace noisefloor::cli
