#include "noisefloor/config/pipeline_check_run.h"

#include <fmt/format.h>

#include <algorithm>

namespace noisefloor::internal {
namespace {

class StatementChecker : public RunChecker {
 public:
  using RunChecker::RunChecker;

  void check() {
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

 private:
  template <class A, class B>
  void conflict(const Located<A>& a, const char* a_key, const Located<B>& b, const char* b_key) {
    if (!a.stated() || !b.stated()) return;
    error("conflicting_keys", std::max(a.place, b.place), fmt::format("{} and {} are both given", a_key, b_key),
          "keep one of them: each follows from the other");
  }

  template <class T>
  void not_for_updates(const Located<T>& field, const char* key) {
    if (!field.stated()) return;
    error("key_not_used", field.place,
          fmt::format("{} would do nothing: clients' updates are summed in every round", key),
          fmt::format("remove {}", key));
  }

  // The word for rows under the budget's unit.
  [[nodiscard]] const char* units() const {
    return pipeline_.budget.protects() == PrivacyUnit::kPerson ? "people" : "rows";
  }

  void techniques() {
    if (!run_.technique.stated()) {
      error("technique_missing", {}, "it names no technique",
            "add technique = \"dp-sgd\", \"dp-aggregation\", \"federated\", \"secure-aggregation\" or \"synthetic\", "
            "or a list of them");
    }
    if (run_.uses(Technique::kDpSgd) && run_.uses(Technique::kDpAggregation)) {
      error("conflicting_techniques", run_.technique.place,
            "it has both dp-sgd and dp-aggregation, so that it is not clear which noise its keys describe",
            "write two runs; both are charged");
    }
  }

  void federation() {
    if (!run_.uses(Technique::kFederated)) return;
    if (!run_.federation.clients.stated()) {
      error("clients_missing", run_.technique.place, "it is federated, but does not say how many clients there are",
            "add clients = …");
    } else if (run_.federation.clients.has() && run_.federation.clients.value->value() == 1) {
      warning("single_client", run_.federation.clients.place,
              "it is federated with 1 client, which has nobody to learn with",
              "raise clients, or remove \"federated\" from technique");
    }
    if (run_.federation.clients.has() && run_.federation.clients_per_round.has() &&
        *run_.federation.clients_per_round > *run_.federation.clients) {
      error("clients_per_round_above_clients", run_.federation.clients_per_round.place,
            fmt::format("clients_per_round = {}, but there are only {} clients",
                        run_.federation.clients_per_round.value->value(), run_.federation.clients.value->value()),
            "lower clients_per_round; without it all clients take part in every round");
    }
    const Located<Rows>& all =
        pipeline_.budget.protects() == PrivacyUnit::kPerson ? pipeline_.data.people : pipeline_.data.rows;
    if (run_.federation.clients.has() && run_.federation.smallest_client.has() && all.has() &&
        run_.federation.smallest_client.value->value() > all.value->value() / run_.federation.clients.value->value()) {
      error("smallest_client_too_large", run_.federation.smallest_client.place,
            fmt::format("smallest_client = {}, but {} {} among {} clients are {} each on average",
                        run_.federation.smallest_client.value->value(), all.value->value(), units(),
                        run_.federation.clients.value->value(),
                        all.value->value() / run_.federation.clients.value->value()),
            "lower smallest_client: the smallest client has at most the average");
    }
    if (run_.sampling.steps.stated() || run_.sampling.epochs.stated()) {
      error("conflicting_keys", std::max(run_.sampling.steps.place, run_.sampling.epochs.place),
            "steps and epochs are for training in one place",
            "in a federated run give rounds, and local_epochs or local_steps for one round");
    }
    conflict(run_.federation.local_steps, "local_steps", run_.federation.local_epochs, "local_epochs");
    if (run_.uses(Technique::kDpAggregation) && pipeline_.budget.protects() != PrivacyUnit::kPerson) {
      error("client_level_needs_person", run_.technique.place,
            "noise on sums of updates protects whole clients, and the budget protects rows",
            "if each client is one person, set unit = \"person\" in [budget]; else use dp-sgd at the clients");
    }
  }

  void secure_aggregation() {
    if (!run_.has_secure_aggregation()) return;
    const Place place =
        run_.federation.secure_aggregation.stated() ? run_.federation.secure_aggregation.place : run_.technique.place;
    if (run_.uses(Technique::kSecureAggregation) && run_.federation.secure_aggregation.value == false) {
      error("conflicting_keys", place, "its techniques include secure-aggregation, but secure_aggregation = false",
            "remove one of the two");
    }
    if (!run_.uses(Technique::kFederated)) {
      error("secure_aggregation_without_federation", place,
            "secure aggregation without federation: there are no clients whose sum could be hidden",
            "add \"federated\" to technique, or remove secure aggregation");
    } else if (run_.federation.clients.has() && run_.federation.clients.value->value() < 3) {
      warning("secure_aggregation_few_clients", run_.federation.clients.place,
              fmt::format("secure aggregation among {} clients: each can subtract its own update from the sum",
                          run_.federation.clients.value->value()),
              "use at least 3 clients, among which the sum hides an update");
    }
  }

  // Checks whether the output is private at all. A run whose output is not released is not charged, but gets a warning.
  void privacy() {
    if (has_dp(run_)) return;
    const bool released = run_.release.value.value_or(true);
    const auto report = [&](const char* code, const std::string& message, std::string remedy) {
      released ? error(code, run_.technique.place, message, std::move(remedy))
               : warning(code, run_.technique.place, message + "; it is not released and not charged",
                         "keep its output where the data are: nothing bounds what it tells about them");
    };
    if (run_.uses(Technique::kSynthetic)) {
      report("synthetic_without_dp", "synthetic data from a generator without DP have no formal privacy guarantee",
             "add epsilon = … for a private synthesizer, or \"dp-sgd\" to technique; if only those who may see the "
             "data see the output, set release = false");
    } else if (run_.uses(Technique::kFederated) && run_.has_secure_aggregation()) {
      report(
          "secure_aggregation_is_not_dp",
          "secure aggregation hides each update from the server, but not what the sum and the model tell about a "
          "record",
          "add \"dp-sgd\" to technique, with clip_norm and target_epsilon; if only those who may see the data see the "
          "output, set release = false");
    } else if (run_.uses(Technique::kFederated)) {
      report(
          "federated_without_dp",
          "federated learning without DP keeps data in place, but its updates and its model can give records away",
          "add \"dp-sgd\" to technique, with clip_norm and target_epsilon; if only those who may see the data see the "
          "output, set release = false");
    }
  }

  void iterations() {
    if (!run_.noise.clip_norm.stated()) {
      error("clip_missing", {}, "there is no clip_norm: without one a single record can move the model by any amount",
            "add clip_norm = 1.0, the largest L2 norm of what one record adds");
    }
    if (!stated_epsilon(run_).stated() && !run_.noise.multiplier.stated()) {
      error("noise_missing", {},
            "it has neither target_epsilon nor noise_multiplier: there is no privacy without noise",
            "add target_epsilon = … to have the noise calibrated, or noise_multiplier = …");
    }
    if (run_.uses(Technique::kDpAggregation) && run_.noise.mechanism.has() &&
        *run_.noise.mechanism != NoiseMechanism::kGaussian) {
      error("mechanism_not_gaussian", run_.noise.mechanism.place, "sums of clipped updates get Gaussian noise",
            "remove mechanism, or set it to \"gaussian\"");
    }
    if (aggregates_updates(run_)) {
      not_for_updates(run_.query.queries, "queries");
      not_for_updates(run_.query.statistic, "statistic");
      not_for_updates(run_.bounds.lower, "lower");
      not_for_updates(run_.bounds.upper, "upper");
    }
    conflict(run_.privacy.target_epsilon, "target_epsilon", run_.privacy.epsilon, "epsilon");
    conflict(run_.sampling.batch_size, "batch_size", run_.sampling.sample_rate, "sample_rate");
    conflict(run_.sampling.steps, "steps", run_.sampling.epochs, "epochs");
    batches();
    sampler();
    schedule();
  }

  void batches() {
    if (!run_.sampling.batch_size.has() || run_.sampling.sample_rate.stated()) return;
    if (schedule_.population && *run_.sampling.batch_size > *schedule_.population) {
      error("batch_above_rows", run_.sampling.batch_size.place,
            fmt::format("batch_size = {}, but there are only {} {}{}", run_.sampling.batch_size.value->value(),
                        schedule_.population->value(), units(), run_.uses(Technique::kFederated) ? " at a client" : ""),
            fmt::format("give at most {}: a batch is drawn from them", schedule_.population->value()));
    } else if (!schedule_.population && pipeline_.budget.protects() == PrivacyUnit::kPerson) {
      error("people_missing", run_.sampling.batch_size.place,
            "the budget protects people, so batch_size counts people, and [data] does not say how many there are",
            "add people = … to [data], or give sample_rate");
    }
    if (run_.uses(Technique::kFederated) && !run_.federation.smallest_client.stated() && schedule_.population) {
      warning(
          "client_size_assumed", run_.sampling.batch_size.place,
          fmt::format("the data are taken to be divided equally, {} {} for each client; at a smaller client the rate "
                      "and epsilon are higher",
                      schedule_.population->value(), units()),
          "add smallest_client = …, or sample_rate, which is the same at all clients");
    }
  }

  void sampler() {
    const bool all_data = schedule_.rate && schedule_.rate->value() == 1;
    if (run_.sampling.sampler.value == SamplerKind::kShuffle && !all_data) {
      const std::string by = run_.privacy.accountant.has() ? std::string(name_of(*run_.privacy.accountant)) : "pld";
      error("shuffle_not_poisson", run_.sampling.sampler.place,
            fmt::format("accountant {} assumes Poisson samples, and no valid bound is known for batches of a shuffled "
                        "list, whose epsilon can be far higher",
                        by),
            R"(sampler = "poisson"; or "fixed-size" with adjacency = "replace-one")");
    }
    if (run_.sampling.sampler.value != SamplerKind::kFixedSize) return;
    if (pipeline_.budget.neighbours() == Adjacency::kAddRemove) {
      error("fixed_size_add_remove", run_.sampling.sampler.place, kFixedSizeAddRemove, kNotFixedSize);
    }
    if (run_.uses(Technique::kDpSgd) && (!run_.sampling.batch_size.stated() || !schedule_.population)) {
      error("fixed_size_needs_batch", run_.sampling.sampler.place,
            "batches of fixed size need batch_size, and rows in [data]",
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
    if (run_.noise.multiplier.stated()) {
      error("schedule_missing", run_.noise.multiplier.place,
            "the cost of this noise_multiplier is unknown: the keys do not say how often each record is used", how);
    } else if (stated_epsilon(run_).stated()) {
      warning("target_without_schedule", stated_epsilon(run_).place,
              "the noise for this target cannot be calibrated: the keys do not say how often each record is used; the "
              "run is charged as stated",
              how);
    }
  }

  // Whether other findings already report a mistake in the schedule.
  [[nodiscard]] bool conflicting_schedule() const {
    return (run_.sampling.batch_size.has() && !run_.sampling.sample_rate.stated() &&
            ((schedule_.population && *run_.sampling.batch_size > *schedule_.population) ||
             (!schedule_.population && pipeline_.budget.protects() == PrivacyUnit::kPerson))) ||
           (run_.federation.clients.has() && run_.federation.clients_per_round.has() &&
            *run_.federation.clients_per_round > *run_.federation.clients) ||
           (run_.sampling.sampler.value == SamplerKind::kFixedSize &&
            (!run_.sampling.batch_size.stated() ||
             (schedule_.known() && pipeline_.budget.neighbours() == Adjacency::kAddRemove)));
  }

  void queries() {
    const bool noise_fits = !run_.noise.mechanism.has() || *run_.noise.mechanism == NoiseMechanism::kLaplace ||
                            *run_.noise.mechanism == NoiseMechanism::kGaussian ||
                            *run_.noise.mechanism == NoiseMechanism::kGeometric;
    if (!stated_epsilon(run_).stated() && !run_.noise.multiplier.stated()) {
      error("noise_missing", {}, "it has neither epsilon nor noise_multiplier: there is no privacy without noise",
            "add epsilon = …, the most that one query may cost");
    } else if (run_.noise.multiplier.stated() && !noise_fits) {
      error("mechanism_has_no_noise", run_.noise.multiplier.place,
            "its mechanism selects a result and has no noise_multiplier", "give epsilon instead");
    }
    conflict(run_.privacy.target_epsilon, "target_epsilon", run_.privacy.epsilon, "epsilon");
    conflict(stated_epsilon(run_), "epsilon", run_.noise.multiplier, "noise_multiplier");
    const bool bounded = run_.query.statistic.value == Statistic::kSum ||
                         run_.query.statistic.value == Statistic::kMean ||
                         run_.query.statistic.value == Statistic::kQuantile;
    if (bounded && (!run_.bounds.lower.stated() || !run_.bounds.upper.stated()) &&
        run_.bounds.source.value != BoundsSource::kPrivate) {
      error("bounds_missing", run_.query.statistic.place,
            "a sum, mean or quantile without lower and upper: one value can move it by any amount",
            "add lower = … and upper = …, known without looking at the data; values beyond are clamped");
    }
    if (run_.bounds.lower.has() && run_.bounds.upper.has() && *run_.bounds.lower >= *run_.bounds.upper) {
      error("bounds_out_of_order", run_.bounds.upper.place,
            fmt::format("lower = {} and upper = {}", *run_.bounds.lower, *run_.bounds.upper),
            "lower must be below upper");
    }
    if (run_.query.statistic.value == Statistic::kMean && pipeline_.budget.neighbours() == Adjacency::kAddRemove) {
      error("mean_under_add_remove", run_.query.statistic.place,
            "a mean has no sensitivity under add-remove: the number of rows is private there",
            "ask for a sum and a count, or set adjacency = \"replace-one\" in [budget]");
    }
    const bool pure = !adds_gaussian_noise(run_);
    if (pure && run_.privacy.delta.has() && run_.privacy.delta.value->value() > 0) {
      warning("delta_not_needed", run_.privacy.delta.place,
              fmt::format("delta = {:g}, but its mechanism is pure: it has no use for a delta",
                          run_.privacy.delta.value->value()),
              "remove delta, or choose mechanism = \"gaussian\"");
    }
  }

  void bounds() {
    if (run_.bounds.source.value == BoundsSource::kData) {
      error("bounds_from_data", run_.bounds.source.place,
            run_.uses(Technique::kSynthetic)
                ? "its domain is read off the data, which reveals rare and extreme values"
                : "its bounds are read off the data, which reveals the smallest and the largest value",
            R"(bounds = "public" from a code book; or "private" with bounds_epsilon, to pay for them)");
    }
    if (run_.bounds.source.value == BoundsSource::kPrivate && !run_.bounds.epsilon.stated()) {
      error("bounds_not_charged", run_.bounds.source.place,
            "its bounds are found privately, but it does not say what that costs", "add bounds_epsilon = …");
    }
    if (run_.bounds.epsilon.stated() && run_.bounds.source.stated() &&
        run_.bounds.source.value != BoundsSource::kPrivate) {
      error("conflicting_keys", run_.bounds.epsilon.place,
            "bounds_epsilon pays for bounds that are not found privately", "remove it, or set bounds = \"private\"");
    } else if (run_.bounds.epsilon.stated() && !run_.bounds.source.stated()) {
      error("conflicting_keys", run_.bounds.epsilon.place, "it has bounds_epsilon without bounds = \"private\"",
            "add bounds = \"private\"");
    }
    if (run_.uses(Technique::kSynthetic) && !run_.bounds.source.stated()) {
      warning("bounds_not_stated", run_.technique.place,
              "it does not say where the domain of its columns (categories, ranges) comes from",
              "add bounds = \"public\" if it is known without looking at the data");
    }
  }

  void deltas() {
    const std::optional<Delta>& total = pipeline_.budget.delta.value;
    if (run_.privacy.delta.has() && total && *run_.privacy.delta > *total) {
      error("delta_above_total", run_.privacy.delta.place,
            fmt::format("delta = {:g} is above the total of {:g}", run_.privacy.delta.value->value(), total->value()),
            "lower it; without delta the run takes its share of the total");
    }
    if (!adds_gaussian_noise(run_)) return;
    if (run_.privacy.delta.has() && run_.privacy.delta.value->value() == 0) {
      error("gaussian_needs_delta", run_.privacy.delta.place,
            "delta = 0 with Gaussian noise: no epsilon is large enough",
            "remove delta to take a share of the total, or use mechanism = \"laplace\" for queries");
    } else if (!run_.privacy.delta.stated() && total && total->value() == 0) {
      error("gaussian_needs_delta", pipeline_.budget.delta.place,
            "the total delta is 0, and the run adds Gaussian noise: no epsilon is large enough",
            "set delta in [budget] to well below 1/rows, or use pure mechanisms only");
    }
  }

  void randomness() {
    if (run_.noise.replay_seed.stated()) {
      error("replay_seed_set", run_.noise.replay_seed.place,
            "its noise is replayed from a seed: whoever knows the seed can subtract it, and there is no privacy",
            "remove replay_seed; it is for tests on data that are not private");
    }
  }
};

}  // namespace

void check_statement(const Pipeline& pipeline, const Run& run, Findings& findings) {
  StatementChecker(pipeline, run, findings).check();
}

}  // namespace noisefloor::internal
