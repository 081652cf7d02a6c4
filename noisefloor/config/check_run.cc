#include "noisefloor/config/check_run.h"

#include <fmt/format.h>

#include <cmath>

#include "noisefloor/accounting/calibrate.h"
#include "noisefloor/accounting/pld.h"
#include "noisefloor/base/text.h"

namespace noisefloor::config_internal {
namespace {

// The findings about one run: each says which one it is.
class RunChecker {
 public:
  RunChecker(const Pipeline& pipeline, const Run& run, Findings& findings)
      : pipeline_(pipeline), run_(run), findings_(findings), schedule_(schedule_of(pipeline, run)) {}

  void statement() {
    techniques();
    if (!run_.technique.has()) return;
    federation();
    secure_aggregation();
    privacy();
    if (is_iterative(run_)) iterations();
    if (run_.uses(Technique::kDpAggregation) && !run_.uses(Technique::kFederated)) queries();
    bounds();
    deltas();
    randomness();
  }

  void cost(const RunAssessment& assessment);

 private:
  void error(const char* code, Place place, const std::string& message, std::string remedy) {
    findings_.error(code, place.line == 0 ? run_.place : place, fmt::format("run {}: {}", shown(run_.name), message),
                    std::move(remedy));
  }
  void warning(const char* code, Place place, const std::string& message, std::string remedy) {
    findings_.warning(code, place.line == 0 ? run_.place : place, fmt::format("run {}: {}", shown(run_.name), message),
                      std::move(remedy));
  }

  template <class A, class B>
  bool conflict(const Located<A>& a, const char* a_key, const Located<B>& b, const char* b_key) {
    if (!a.stated() || !b.stated()) return false;
    error("conflicting_keys", std::max(a.place, b.place), fmt::format("{} and {} are both given", a_key, b_key),
          "keep one of them: each follows from the other");
    return true;
  }

  template <class T>
  void not_for_updates(const Located<T>& field, const char* key) {
    if (!field.stated()) return;
    error("key_not_used", field.place,
          fmt::format("{} would do nothing: clients' updates are summed, round by round", key),
          fmt::format("remove {}", key));
  }

  // What rows are called under the budget's unit.
  [[nodiscard]] const char* units() const {
    return pipeline_.budget.protects() == PrivacyUnit::kPerson ? "people" : "rows";
  }

  void techniques() {
    if (!run_.technique.stated()) {
      error("technique_missing", {}, "it does not say what it does",
            "add technique = \"dp-sgd\", \"dp-aggregation\", \"federated\", \"secure-aggregation\" or \"synthetic\", "
            "or a "
            "list of them");
    }
    if (run_.uses(Technique::kDpSgd) && run_.uses(Technique::kDpAggregation)) {
      error("conflicting_techniques", run_.technique.place,
            "dp-sgd and dp-aggregation in one run: it is not clear which noise its keys are about",
            "write two runs; both are charged");
    }
  }

  void federation() {
    if (!run_.uses(Technique::kFederated)) return;
    if (!run_.clients.stated()) {
      error("clients_missing", run_.technique.place, "it is federated, but does not say among how many clients",
            "add clients = …");
    } else if (run_.clients.has() && run_.clients.value->value() == 1) {
      warning("single_client", run_.clients.place,
              "it is federated with 1 client: there is nobody to learn together with",
              "raise clients, or remove \"federated\" from technique");
    }
    if (run_.clients.has() && run_.clients_per_round.has() && *run_.clients_per_round > *run_.clients) {
      error("clients_per_round_above_clients", run_.clients_per_round.place,
            fmt::format("clients_per_round = {}, of {} clients", run_.clients_per_round.value->value(),
                        run_.clients.value->value()),
            "lower clients_per_round; without it all clients take part in every round");
    }
    const Located<Rows>& all =
        pipeline_.budget.protects() == PrivacyUnit::kPerson ? pipeline_.data.people : pipeline_.data.rows;
    if (run_.clients.has() && run_.smallest_client.has() && all.has() &&
        run_.smallest_client.value->value() > all.value->value() / run_.clients.value->value()) {
      error("smallest_client_too_large", run_.smallest_client.place,
            fmt::format("smallest_client = {}, but {} {} among {} clients are {} each on average",
                        run_.smallest_client.value->value(), all.value->value(), units(), run_.clients.value->value(),
                        all.value->value() / run_.clients.value->value()),
            "the smallest client has at most the average");
    }
    if (run_.steps.stated() || run_.epochs.stated()) {
      error("conflicting_keys", std::max(run_.steps.place, run_.epochs.place),
            "steps and epochs are for training in one place",
            "in a federated run give rounds, and local_epochs or local_steps for one round");
    }
    conflict(run_.local_steps, "local_steps", run_.local_epochs, "local_epochs");
    if (run_.uses(Technique::kDpAggregation) && pipeline_.budget.protects() != PrivacyUnit::kPerson) {
      error("client_level_needs_person", run_.technique.place,
            "noise on sums of updates protects whole clients, and the budget protects rows",
            "if each client is one person, set unit = \"person\" in [budget]; else use dp-sgd at the clients");
    }
  }

  void secure_aggregation() {
    if (!run_.has_secure_aggregation()) return;
    const Place place = run_.secure_aggregation.stated() ? run_.secure_aggregation.place : run_.technique.place;
    if (run_.uses(Technique::kSecureAggregation) && run_.secure_aggregation.value == false) {
      error("conflicting_keys", place, "secure-aggregation is among its techniques, and secure_aggregation = false",
            "remove one of the two");
    }
    if (!run_.uses(Technique::kFederated)) {
      error("secure_aggregation_without_federation", place,
            "secure aggregation without federation: there are no clients whose sum could be hidden",
            "add \"federated\" to technique, or remove secure aggregation");
    } else if (run_.clients.has() && run_.clients.value->value() < 3) {
      warning("secure_aggregation_few_clients", run_.clients.place,
              fmt::format("secure aggregation among {} clients: each can subtract its own update from the sum",
                          run_.clients.value->value()),
              "it hides an update among at least 3 clients");
    }
  }

  // Whether its output is private at all. A run whose output stays inside is not charged, and still worth a warning.
  void privacy() {
    if (has_dp(run_)) return;
    const bool released = run_.release.value.value_or(true);
    const auto report = [&](const char* code, const std::string& message, std::string remedy) {
      released ? error(code, run_.technique.place, message, std::move(remedy))
               : warning(code, run_.technique.place, message + "; it is not released and not charged",
                         "keep its output where the data are; whoever sees it learns from them without a bound");
    };
    if (run_.uses(Technique::kSynthetic)) {
      report("synthetic_without_dp", "synthetic data from a generator without DP have no formal privacy guarantee",
             "add epsilon = … for a private synthesizer, or \"dp-sgd\" to technique; if nothing leaves the house, "
             "release = false");
    } else if (run_.uses(Technique::kFederated) && run_.has_secure_aggregation()) {
      report("secure_aggregation_is_not_dp",
             "secure aggregation hides each update from the server, but not what the sum and the model tell about a "
             "record",
             "add \"dp-sgd\" to technique, with clip_norm and target_epsilon; if nothing leaves the house, release = "
             "false");
    } else if (run_.uses(Technique::kFederated)) {
      report("federated_without_dp",
             "federated learning without DP keeps data in place, but its updates and its model can give records away",
             "add \"dp-sgd\" to technique, with clip_norm and target_epsilon; if nothing leaves the house, release = "
             "false");
    }
  }

  void iterations() {
    if (!run_.clip_norm.stated()) {
      error("clip_missing", {}, "there is no clip_norm: without one a single record can move the model by any amount",
            "add clip_norm = 1.0, the largest L2 norm of what one record adds");
    }
    if (!stated_epsilon(run_).stated() && !run_.noise_multiplier.stated()) {
      error("noise_missing", {}, "neither target_epsilon nor noise_multiplier: no noise, no privacy",
            "add target_epsilon = … to have the noise calibrated, or noise_multiplier = …");
    }
    if (run_.uses(Technique::kDpAggregation) && run_.mechanism.has() && *run_.mechanism != NoiseMechanism::kGaussian) {
      error("mechanism_not_gaussian", run_.mechanism.place, "sums of clipped updates get Gaussian noise",
            "remove mechanism, or set it to \"gaussian\"");
    }
    if (aggregates_updates(run_)) {
      not_for_updates(run_.queries, "queries");
      not_for_updates(run_.statistic, "statistic");
      not_for_updates(run_.lower, "lower");
      not_for_updates(run_.upper, "upper");
    }
    conflict(run_.target_epsilon, "target_epsilon", run_.epsilon, "epsilon");
    conflict(run_.batch_size, "batch_size", run_.sample_rate, "sample_rate");
    conflict(run_.steps, "steps", run_.epochs, "epochs");
    batches();
    sampler();
    schedule();
  }

  void batches() {
    if (!run_.batch_size.has() || run_.sample_rate.stated()) return;
    if (schedule_.population && *run_.batch_size > *schedule_.population) {
      error("batch_above_rows", run_.batch_size.place,
            fmt::format("batch_size = {}, of {} {}{}", run_.batch_size.value->value(), schedule_.population->value(),
                        units(), run_.uses(Technique::kFederated) ? " at a client" : ""),
            fmt::format("a batch is drawn from them: at most {}", schedule_.population->value()));
    } else if (!schedule_.population && pipeline_.budget.protects() == PrivacyUnit::kPerson) {
      error("people_missing", run_.batch_size.place,
            "the budget protects people, so batch_size counts people, and [data] does not say how many there are",
            "add people = … to [data], or give sample_rate");
    }
    if (run_.uses(Technique::kFederated) && !run_.smallest_client.stated() && schedule_.population) {
      warning("client_size_assumed", run_.batch_size.place,
              fmt::format("the data are taken to be divided equally, {} {} a client; at a smaller client the rate, and "
                          "epsilon, are higher",
                          schedule_.population->value(), units()),
              "add smallest_client = …, or sample_rate, which is the same at all clients");
    }
  }

  void sampler() {
    const bool all_data = schedule_.rate && schedule_.rate->value() == 1;
    if (run_.sampler.value == BatchSampler::kShuffle && !all_data) {
      const std::string by = run_.accountant.has() ? std::string(name_of(*run_.accountant)) : "pld";
      error("shuffle_not_poisson", run_.sampler.place,
            fmt::format("batches of a shuffled list with accountant {}: it amplifies for Poisson samples, and no valid "
                        "bound is known for shuffled batches, whose epsilon can be far higher",
                        by),
            "sampler = \"poisson\"; or \"fixed-size\" with adjacency = \"replace-one\"");
    }
    if (run_.sampler.value != BatchSampler::kFixedSize) return;
    if (pipeline_.budget.neighbours() == Adjacency::kAddRemove) {
      error("fixed_size_add_remove", run_.sampler.place,
            "batches of fixed size under add-remove: neighbours have different numbers of rows, and no common law of "
            "batches",
            "sampler = \"poisson\", or adjacency = \"replace-one\" in [budget]");
    }
    if (run_.uses(Technique::kDpSgd) && (!run_.batch_size.stated() || !schedule_.population)) {
      error("fixed_size_needs_batch", run_.sampler.place, "batches of fixed size need batch_size, and rows in [data]",
            "give batch_size instead of sample_rate, and rows in [data]");
    }
  }

  void schedule() {
    if (event_by_noise(pipeline_, run_) || conflicting_schedule()) return;
    const char* how =
        run_.uses(Technique::kFederated)
            ? "give clients, rounds, local_epochs or local_steps, and batch_size (with rows in [data]) or "
              "sample_rate"
            : "give batch_size (with rows in [data]) or sample_rate, and steps or epochs";
    if (run_.noise_multiplier.stated()) {
      error(
          "schedule_missing", run_.noise_multiplier.place,
          "what this noise_multiplier costs is not known: how often each record is used does not follow from the keys",
          how);
    } else if (stated_epsilon(run_).stated()) {
      warning("target_without_schedule", stated_epsilon(run_).place,
              "the noise for this target cannot be calibrated: how often each record is used does not follow from the "
              "keys; it is charged as stated",
              how);
    }
  }

  // What other findings already say about the schedule.
  [[nodiscard]] bool conflicting_schedule() const {
    return (run_.batch_size.has() && !run_.sample_rate.stated() &&
            ((schedule_.population && *run_.batch_size > *schedule_.population) ||
             (!schedule_.population && pipeline_.budget.protects() == PrivacyUnit::kPerson))) ||
           (run_.clients.has() && run_.clients_per_round.has() && *run_.clients_per_round > *run_.clients) ||
           (run_.sampler.value == BatchSampler::kFixedSize && !run_.batch_size.stated());
  }

  void queries() {
    const bool noise_fits = !run_.mechanism.has() || *run_.mechanism == NoiseMechanism::kLaplace ||
                            *run_.mechanism == NoiseMechanism::kGaussian ||
                            *run_.mechanism == NoiseMechanism::kGeometric;
    if (!stated_epsilon(run_).stated() && !run_.noise_multiplier.stated()) {
      error("noise_missing", {}, "neither epsilon nor noise_multiplier: no noise, no privacy",
            "add epsilon = …, what one query may cost");
    } else if (run_.noise_multiplier.stated() && !noise_fits) {
      error("mechanism_has_no_noise", run_.noise_multiplier.place, "its mechanism selects, and has no noise_multiplier",
            "give epsilon instead");
    }
    conflict(run_.target_epsilon, "target_epsilon", run_.epsilon, "epsilon");
    conflict(stated_epsilon(run_), "epsilon", run_.noise_multiplier, "noise_multiplier");
    const bool bounded = run_.statistic.value == Statistic::kSum || run_.statistic.value == Statistic::kMean ||
                         run_.statistic.value == Statistic::kQuantile;
    if (bounded && (!run_.lower.stated() || !run_.upper.stated()) && run_.bounds.value != BoundsSource::kPrivate) {
      error("bounds_missing", run_.statistic.place,
            "a sum, mean or quantile without lower and upper: one value can move it by any amount",
            "add lower = … and upper = …, known without looking at the data; values beyond are clamped");
    }
    if (run_.lower.has() && run_.upper.has() && *run_.lower >= *run_.upper) {
      error("bounds_out_of_order", run_.upper.place, fmt::format("lower = {} and upper = {}", *run_.lower, *run_.upper),
            "lower must be below upper");
    }
    if (run_.statistic.value == Statistic::kMean && pipeline_.budget.neighbours() == Adjacency::kAddRemove) {
      error("mean_under_add_remove", run_.statistic.place,
            "a mean has no sensitivity under add-remove: the number of rows is private there",
            "ask for a sum and a count, or set adjacency = \"replace-one\" in [budget]");
    }
    const bool pure = !adds_gaussian_noise(run_);
    if (pure && run_.delta.has() && run_.delta.value->value() > 0) {
      warning(
          "delta_not_needed", run_.delta.place,
          fmt::format("delta = {:g}, but its mechanism is pure: it has no use for a delta", run_.delta.value->value()),
          "remove delta, or choose mechanism = \"gaussian\"");
    }
  }

  void bounds() {
    if (run_.bounds.value == BoundsSource::kData) {
      error("bounds_from_data", run_.bounds.place,
            run_.uses(Technique::kSynthetic)
                ? "its domain is read off the data: a rare value, or an extreme one, is given away by being there"
                : "its bounds are read off the data: the smallest and the largest value are given away",
            "bounds = \"public\" from a code book; or \"private\" with bounds_epsilon, to pay for them");
    }
    if (run_.bounds.value == BoundsSource::kPrivate && !run_.bounds_epsilon.stated()) {
      error("bounds_not_charged", run_.bounds.place, "its bounds are found privately, and what that costs is not said",
            "add bounds_epsilon = …");
    }
    if (run_.bounds_epsilon.stated() && run_.bounds.stated() && run_.bounds.value != BoundsSource::kPrivate) {
      error("conflicting_keys", run_.bounds_epsilon.place,
            "bounds_epsilon pays for bounds that are not found privately", "remove it, or set bounds = \"private\"");
    } else if (run_.bounds_epsilon.stated() && !run_.bounds.stated()) {
      error("conflicting_keys", run_.bounds_epsilon.place, "bounds_epsilon without bounds = \"private\"",
            "add bounds = \"private\"");
    }
    if (run_.uses(Technique::kSynthetic) && !run_.bounds.stated()) {
      warning("bounds_not_stated", run_.technique.place,
              "it does not say where the domain of its columns (categories, ranges) comes from",
              "add bounds = \"public\" if it is known without looking at the data");
    }
  }

  void deltas() {
    const std::optional<Delta>& total = pipeline_.budget.delta.value;
    if (run_.delta.has() && total && *run_.delta > *total) {
      error("delta_above_total", run_.delta.place,
            fmt::format("delta = {:g} is above the total of {:g}", run_.delta.value->value(), total->value()),
            "lower it; without delta the run takes its share of the total");
    }
    if (!adds_gaussian_noise(run_)) return;
    if (run_.delta.has() && run_.delta.value->value() == 0) {
      error("gaussian_needs_delta", run_.delta.place, "delta = 0 with Gaussian noise: no epsilon is large enough",
            "remove delta to take a share of the total, or use mechanism = \"laplace\" for queries");
    } else if (!run_.delta.stated() && total && total->value() == 0) {
      error("gaussian_needs_delta", pipeline_.budget.delta.place,
            "the total delta is 0, and the run adds Gaussian noise: no epsilon is large enough",
            "set delta in [budget] to well below 1/rows, or use pure mechanisms only");
    }
  }

  void randomness() {
    if (run_.replay_seed.stated()) {
      error("replay_seed_set", run_.replay_seed.place,
            "its noise is replayed from a seed: whoever knows the seed can subtract it, and there is no privacy",
            "remove replay_seed; it is for tests on data that are not private");
    }
  }

  void rates();
  void targets(const RunAssessment& assessment);
  void accountant(const RunAssessment& assessment);
  void tuning(const RunAssessment& assessment);

  const Pipeline& pipeline_;
  const Run& run_;
  Findings& findings_;
  Schedule schedule_;
};

void RunChecker::cost(const RunAssessment& assessment) {
  if (is_iterative(run_)) rates();
  targets(assessment);
  accountant(assessment);
  tuning(assessment);
}

void RunChecker::rates() {
  if (!schedule_.known()) return;
  const double rate = schedule_.rate->value();
  const double uses = rate * static_cast<double>(schedule_.steps->value());
  const Place place = run_.sample_rate.stated() ? run_.sample_rate.place : run_.batch_size.place;
  if (uses < 1) {
    warning(
        "few_uses", place,
        fmt::format("a sampling rate of {:.4g} times {} steps is {:.3g}: fewer than one expected use of each record",
                    rate, schedule_.steps->value(), uses),
        "raise steps or the batch; was a number of epochs meant?");
  }
  if (rate > 0.5 && rate < 1) {
    warning(
        "rate_large", place,
        fmt::format("a sampling rate of {:.4g} takes most records in every step: there is little amplification", rate),
        "lower the batch; was batch / rows meant?");
  }
}

void RunChecker::targets(const RunAssessment& assessment) {
  const Located<Epsilon>& target = stated_epsilon(run_);
  if (!target.has()) return;
  const double wanted = target.value->value();
  const std::optional<Epsilon>& total = pipeline_.budget.epsilon.value;
  if (total && exceeds(wanted, total->value())) {
    error(
        "target_above_total", target.place,
        fmt::format("{} = {:g} is above the total of {:g}", run_.target_epsilon.stated() ? "target_epsilon" : "epsilon",
                    wanted, total->value()),
        fmt::format("at most {:g} fits, less what the other runs spend; or raise epsilon in [budget]", total->value()));
  }
  if (!run_.noise_multiplier.has() || !assessment.event) return;
  const std::optional<Delta> delta = delta_of(pipeline_, run_);
  if (!delta) return;
  const Result<Interval> spent = pld_epsilon(assessment.event->once, pipeline_.budget.neighbours(), *delta);
  if (spent.has_value() && !exceeds(spent.value().upper, wanted)) return;
  std::string remedy = "raise noise_multiplier, or leave it out to have it calibrated";
  const EventByNoise by_noise = event_by_noise(pipeline_, run_);
  if (by_noise) {
    const auto best = calibrate_noise(Target{pipeline_.budget.neighbours(), *target, *delta}, by_noise);
    if (best.has_value()) {
      remedy = fmt::format("noise_multiplier = {}, or leave it out to have it calibrated",
                           shown_noise(best.value().value.value()));
    }
  }
  const double noise = run_.noise_multiplier.value->value();
  error("noise_below_target", run_.noise_multiplier.place,
        spent.has_value()
            ? fmt::format("noise_multiplier = {:g} spends epsilon {} at delta {:g}, above its target of {}", noise,
                          shown_number(spent.value().upper, wanted), delta->value(),
                          shown_number(wanted, spent.value().upper))
            : fmt::format("noise_multiplier = {:g} reaches no target: {}", noise, spent.error().message),
        std::move(remedy));
}

void RunChecker::accountant(const RunAssessment& assessment) {
  if (!run_.accountant.has() || *run_.accountant == Accountant::kPld || !assessment.event) return;
  const std::optional<Delta> delta = delta_of(pipeline_, run_);
  if (!delta) return;
  const std::string_view name = name_of(*run_.accountant);
  if (contains<EpsilonDeltaEvent>(assessment.event->once)) {
    // A stated bound says nothing about what another accountant would find; of GDP it is known.
    if (*run_.accountant == Accountant::kGdp) {
      error("accountant_is_estimate", run_.accountant.place,
            "accountant gdp is a central-limit estimate for sampled batches, and no bound", "accountant = \"pld\"");
    }
    return;
  }
  const Adjacency adjacency = pipeline_.budget.neighbours();
  const Result<AccountantAnswer> answer = epsilon_by(*run_.accountant, assessment.event->once, adjacency, *delta);
  const bool sampled = is_iterative(run_) && !(schedule_.rate && schedule_.rate->value() == 1);
  if (!answer.has_value()) {
    error("accountant_does_not_fit", run_.accountant.place,
          fmt::format("accountant {} has no answer for this run: {}", name, answer.error().message),
          "accountant = \"pld\", which is certified");
    return;
  }
  const double epsilon = answer.value().epsilon;
  const Result<Interval> certified = pld_epsilon(assessment.event->once, adjacency, *delta);
  const double upper = certified.has_value() ? certified.value().upper : HUGE_VAL;
  if (answer.value().is_estimate) {
    error("accountant_is_estimate", run_.accountant.place,
          fmt::format(
              "accountant {} is a central-limit estimate and no bound: it says epsilon {:.4g}, certified is {:.4g}",
              name, epsilon, upper),
          "accountant = \"pld\"");
  } else if (sampled && *run_.accountant != Accountant::kRdp && epsilon > upper) {
    warning("accountant_without_amplification", run_.accountant.place,
            fmt::format("accountant {} does not know about sampling: it says epsilon {:.4g}, certified is {:.4g}", name,
                        epsilon, upper),
            "accountant = \"pld\", or \"rdp\"");
  } else if (stated_epsilon(run_).has() && exceeds(epsilon, stated_epsilon(run_).value->value()) &&
             run_.noise_multiplier.stated() && !exceeds(upper, stated_epsilon(run_).value->value())) {
    warning("accountant_above_target", run_.accountant.place,
            fmt::format("by accountant {} the run spends epsilon {:.4g}, above its target of {:g}; certified is {:.4g}",
                        name, epsilon, stated_epsilon(run_).value->value(), upper),
            "accountant = \"pld\", or more noise");
  }
}

void RunChecker::tuning(const RunAssessment& assessment) {
  if (run_.tuning.stated() && !run_.trials.stated()) {
    warning("tuning_without_trials", run_.tuning.place,
            "it says how tuning is paid for, but not how many trials there are", "add trials = …, or remove tuning");
  }
  if (!run_.trials.has() || run_.trials.value->value() == 1 || run_.tuning.stated()) return;
  std::string cost;
  if (assessment.epsilon) {
    cost = fmt::format("; all of them together spend epsilon {:.4g}, which is charged here", assessment.epsilon->upper);
  }
  error("tuning_not_charged", run_.trials.place,
        fmt::format("{} trials on the same data, and it does not say how the choice of the best is paid for{}",
                    run_.trials.value->value(), cost),
        "tuning = \"every-trial\", \"repeat-and-select\" (cheaper: only the best of a random number is published), or "
        "\"public-data\"");
}

}  // namespace

std::string shown_number(double value, double beside) {
  std::string text = fmt::format("{:.5g}", value);
  if (value != beside && text == fmt::format("{:.5g}", beside)) text = fmt::format("{:.13g}", value);
  return text;
}

std::string shown_noise(double noise) {
  const double rounded = std::ceil(noise * 1e4) / 1e4;
  return fmt::format("{:.4f}", rounded);
}

void check_statement(const Pipeline& pipeline, const Run& run, Findings& findings) {
  RunChecker(pipeline, run, findings).statement();
}

void check_cost(const Pipeline& pipeline, const Run& run, const RunAssessment& assessment, Findings& findings) {
  RunChecker(pipeline, run, findings).cost(assessment);
}

}  // namespace noisefloor::config_internal
