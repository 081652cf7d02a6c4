#include "noisefloor/plan/plan_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

constexpr std::uint64_t kUsualShare = 100;  // share of the rows in a batch, if nothing else decides it

ExactQuestion exact_question(const PlanQuestion& q, Epsilon target) {
  return {.rows = q.rows,
          .epochs = q.epochs,
          .target = {q.adjacency(), target, q.delta},
          .draw = q.draw,
          .growth = q.growth};
}

ClosedFormQuestion closed_question(const PlanQuestion& q) { return {q.rows, q.epochs, q.delta, q.growth}; }

Result<void> check(const PlanQuestion& q) {
  if (!q.epsilon && !q.noise) return invalid_argument("a plan needs an epsilon or a noise multiplier");
  if (!(q.epochs > 0) || !std::isfinite(q.epochs)) {
    return invalid_argument(fmt::format("epochs must be above 0; {} was given", q.epochs));
  }
  if (q.delta.value() == 0) return invalid_argument("delta must be above 0, as the noise is Gaussian");
  if (!(q.growth >= 0 && q.growth <= 16)) return invalid_argument("growth takes a power from 0 to 16");
  if (q.batch && *q.batch > q.rows) {
    return invalid_argument(
        fmt::format("a batch of {} is larger than the data: at most {}", q.batch->value(), q.rows.value()));
  }
  if (q.sizes && q.sizes->largest() > q.rows.value()) {
    return invalid_argument(
        fmt::format("a batch of {} is larger than the data: at most {}", q.sizes->largest(), q.rows.value()));
  }
  if (q.sizes && (q.batch || q.rounds))
    return invalid_argument("sample sizes already state batch and rounds: give one or the other");
  if (q.rounds && q.noise) {
    return invalid_argument("rounds and noise leave nothing free: give one of them, or sample sizes and the noise");
  }
  if (q.batch && q.rounds) return invalid_argument("batch and rounds follow from each other: give one");
  return success();
}

TheoremVerdicts verdicts_of(const ProactiveSetting& setting) {
  return {setting, theorem_3_1(setting), theorem_b4(setting), theorem_b2(setting)};
}

Result<std::optional<ClosedFormAnswer>> closed_form(const PlanQuestion& q, std::string& why_none) {
  if (q.draw == Draw::kFixedSize) {
    if (!q.epsilon) {
      return invalid_argument(
          "samples of fixed size need an epsilon: the theorems that give one for a noise multiplier are for Poisson "
          "samples only");
    }
    why_none =
        "the theorems assume Poisson samples: for samples of fixed size there is only the exact plan, which pays for "
        "twice the sensitivity";
    return std::optional<ClosedFormAnswer>{};
  }
  Result<ClosedFormPlan> made = q.noise ? closed_form_plan(closed_question(q), *q.noise, q.mode)
                                        : closed_form_plan(closed_question(q), *q.epsilon, q.mode);
  if (!made.has_value()) {
    if (!q.epsilon) return made.error();
    why_none = made.error().message;
    return std::optional<ClosedFormAnswer>{};
  }
  const ProactiveSetting& setting = made.value().setting;
  NF_TRY(const Interval epsilon, certified_epsilon(setting));
  if (q.mode == GammaMode::kRoot && epsilon.upper > setting.epsilon.value()) {
    return internal_error("the closed form gave a plan that the accountant does not confirm: nothing is shown");
  }
  TheoremVerdicts verdicts = verdicts_of(setting);
  return std::optional<ClosedFormAnswer>({std::move(made).value(), epsilon, std::move(verdicts)});
}

struct Chosen {
  ExactPlan plan;
  const char* how;
};

Result<Chosen> chosen(Result<ExactPlan> plan, const char* how) {
  NF_TRY(ExactPlan made, std::move(plan));
  return Chosen{std::move(made), how};
}

// The policy of the header. `noise` is the given one, or else the closed form's.
Result<Chosen> exact_plan(const PlanQuestion& q, const ExactQuestion& exact, NoiseMultiplier noise) {
  if (q.sizes && q.noise) return chosen(exact_as_given(exact, *q.noise, *q.sizes), "as given");
  if (q.sizes) return chosen(exact_for_sizes(exact, *q.sizes), "the least noise");
  if (q.noise && q.batch) return chosen(exact_for_noise_and_size(exact, *q.noise, *q.batch), "the most rounds");
  if (q.batch) return chosen(exact_for_size(exact, *q.batch), "the least noise");
  if (q.rounds) return chosen(exact_for_rounds(exact, *q.rounds), "the least noise");
  Result<ExactPlan> fewest = exact_for_noise(exact, noise);
  if (fewest.has_value() || q.noise) return chosen(std::move(fewest), "the same noise, the fewest rounds");
  NF_TRY(const Rows batch, Rows::make((q.rows.value() + kUsualShare - 1) / kUsualShare));
  return chosen(exact_for_size(exact, batch), "a hundredth of the rows, the least noise");
}

// The noise of the question, or of the closed form, or of the closed form's formula.
Result<NoiseMultiplier> noise_to_try(const PlanQuestion& q, const std::optional<ClosedFormAnswer>& closed,
                                     Epsilon target) {
  if (q.noise) return *q.noise;
  if (closed) return closed->plan.setting.noise;
  return NoiseMultiplier::make(proactive::sigma_for(target.value(), q.delta.value()));
}

Result<std::optional<TheoremVerdicts>> verdicts_of_given(const PlanQuestion& q, Epsilon target,
                                                         const SampleSizes& sizes) {
  if (!q.batches_given() || q.draw != Draw::kPoisson) return std::optional<TheoremVerdicts>{};
  NF_TRY(const NoiseMultiplier noise, noise_to_try(q, std::nullopt, target));
  return std::optional(verdicts_of({q.rows, target, q.delta, noise, sizes}));
}

std::optional<PlanCapacity> capacity_of(const PlanQuestion& q, const ExactQuestion& exact, NoiseMultiplier noise) {
  const Result<ExactPlan> plan = exact_for_noise_and_size(exact, noise, Rows::of(1));
  if (!plan.has_value()) return std::nullopt;
  const double epochs = epochs_of(plan.value().sizes, q.rows);
  PlanCapacity capacity{std::nullopt, epochs, static_cast<std::uint64_t>(epochs / q.epochs)};
  if (q.draw == Draw::kPoisson) capacity.closed_form_epochs = most_epochs(closed_question(q), exact.target.epsilon);
  return capacity;
}

}  // namespace

Adjacency PlanQuestion::adjacency() const {
  return draw == Draw::kPoisson ? Adjacency::kAddRemove : Adjacency::kReplaceOne;
}

Result<Delta> usual_delta(Rows rows) { return Delta::make(std::min(0.5, 1 / static_cast<double>(rows.value()))); }

double epochs_of(const SampleSizes& sizes, Rows rows) {
  return static_cast<double>(sizes.total()) / static_cast<double>(rows.value());
}

Result<SampleSizes> parse_sample_sizes(std::string_view text) {
  std::vector<SampleSizes::Stretch> stretches;
  for (const std::string_view one : split_list(text)) {
    const std::size_t times = one.find('x');
    if (times == std::string_view::npos) {
      return invalid_argument(fmt::format(
          "sample sizes are a list such as 100x50,200x20: 50 rounds of 100, then 20 of 200; got {}", shown(text)));
    }
    NF_TRY(const std::uint64_t size, parse_count("a sample size", one.substr(0, times)));
    NF_TRY(const std::uint64_t rounds, parse_count("a number of rounds", one.substr(times + 1)));
    stretches.push_back({size, rounds});
  }
  return SampleSizes::of(std::move(stretches));
}

double PlanAnswer::rounds_ratio() const {
  NF_CHECK(closed_form.has_value(), "there is a closed form to compare with");
  return static_cast<double>(closed_form->plan.setting.sizes.rounds()) / static_cast<double>(exact.sizes.rounds());
}

double PlanAnswer::noise_ratio() const {
  NF_CHECK(closed_form && same_batch, "there is a closed form to compare with");
  return closed_form->plan.setting.noise.value() / same_batch->noise.value();
}

const TheoremVerdicts* PlanAnswer::verdicts() const {
  if (given) return &*given;
  return closed_form ? &closed_form->verdicts : nullptr;
}

Result<PlanAnswer> answer_plan(const PlanQuestion& question) {
  NF_TRY_VOID(check(question));
  std::string why_none;
  NF_TRY(std::optional<ClosedFormAnswer> closed, closed_form(question, why_none));
  if (!question.epsilon && !closed) return internal_error("no epsilon follows from the noise");
  const Epsilon target = question.epsilon ? *question.epsilon : closed->plan.setting.epsilon;
  NF_TRY(const NoiseMultiplier noise, noise_to_try(question, closed, target));
  const ExactQuestion exact = exact_question(question, target);
  NF_TRY(Chosen best, exact_plan(question, exact, noise));
  NF_TRY(std::optional<TheoremVerdicts> given, verdicts_of_given(question, target, best.plan.sizes));
  std::optional<ExactPlan> same_batch;
  if (closed && !question.batches_given()) {
    NF_TRY(same_batch, exact_for_sizes(exact, closed->plan.setting.sizes));
  }
  std::optional<PlanCapacity> capacity = capacity_of(question, exact, noise);
  return PlanAnswer{target,   std::move(closed),     std::move(why_none), std::move(best.plan),
                    best.how, std::move(same_batch), std::move(given),    capacity};
}

Result<std::vector<TradeOff>> plan_trade_offs(const PlanQuestion& question, Epsilon target, std::size_t points) {
  NF_TRY_VOID(check(question));
  std::vector<TradeOff> all;
  for (const double share : {0.25, 1.0, 4.0}) {
    ExactQuestion exact = exact_question(question, target);
    exact.epochs = question.epochs * share;
    if (exact.epochs < 1) continue;
    NF_TRY(std::vector<ExactPlan> plans, exact_trade_off(exact, points));
    all.push_back({exact.epochs, std::move(plans)});
  }
  if (all.empty()) return invalid_argument("a trade-off curve needs at least one epoch");
  return all;
}

}  // namespace noisefloor
