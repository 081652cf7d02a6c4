#include "noisefloor/federated/learning_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <set>

#include "noisefloor/accounting/calibrate.h"
#include "noisefloor/accounting/pld.h"
#include "noisefloor/base/check.h"
#include "noisefloor/federated/body_bytes.h"
#include "noisefloor/federated/draws.h"
#include "noisefloor/lanes/team.h"

namespace noisefloor::federated {
namespace {

using internal::BodyWriter;

constexpr std::size_t kMostCosts = 32;  // different ones, up to which ε is followed round by round

enum class Purpose : std::uint8_t { kKey, kSite, kCoordinator, kAway, kStragglers, kLies, kFineTune };

Digest derived(std::uint64_t seed, Purpose purpose, std::uint64_t a = 0, std::uint64_t b = 0) {
  BodyWriter writer;
  writer.number(seed).number(static_cast<std::uint8_t>(purpose)).number(a).number(b);
  return digest_of(writer.take());
}

Result<ReplayRandom> stream_of(std::uint64_t seed, Purpose purpose, std::uint64_t a = 0, std::uint64_t b = 0) {
  const Digest digest = derived(seed, purpose, a, b);
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i) number |= std::uint64_t{digest[i]} << (8 * i);
  return ReplayRandom::create(number);
}

// Calls work(member, item) for all items below `count`, and returns the first error by item.
template <class Work>
Result<void> each(lanes::Team& team, std::size_t count, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::vector<std::optional<Error>> errors(count);
  team.run([&](std::size_t member) {
    for (std::size_t item = next++; item < count; item = next++) {
      if (Result<void> done = work(member, item); !done.has_value()) errors[item] = std::move(done).error();
    }
  });
  for (std::optional<Error>& error : errors) {
    if (error) return *std::move(error);
  }
  return success();
}

// --- Budgets ---------------------------------------------------------------------------------------------------------

// Grants so many rounds, each key once.
class RoundsBudget final : public RoundBudget {
 public:
  explicit RoundsBudget(std::uint64_t limit) : limit_(limit) {}
  [[nodiscard]] Result<BudgetAnswer> reserve(const std::string& key, const DpStatement& /*statement*/) override {
    if (granted_.count(key) > 0) return BudgetAnswer::kBegunBefore;
    if (granted_.size() >= limit_) return BudgetAnswer::kExhausted;
    granted_.insert(key);
    return BudgetAnswer::kGranted;
  }
  [[nodiscard]] std::uint64_t granted() const { return granted_.size(); }

 private:
  std::uint64_t limit_;
  std::set<std::string> granted_;
};

constexpr std::uint64_t kAnyNumber = std::numeric_limits<std::uint64_t>::max();

// How many rounds of this cost keep the budget; 0 if one is too many.
Result<std::uint64_t> rounds_within(const LearningOptions& o, const DpStatement& round) {
  if (!o.epsilon) return kAnyNumber;
  const auto most = calibrate_steps({round.adjacency, *o.epsilon, o.delta}, [&](Steps steps) -> DpEvent {
    return SelfComposedEvent{steps, round.event};
  });
  return most.has_value() ? most.value().value.value() : 0;
}

// The least noise with which `steps` such events keep the budget.
template <class EventOf>
Result<NoiseMultiplier> least_noise(const LearningOptions& o, std::uint64_t steps, const EventOf& event_of) {
  NF_TRY(const Steps count, Steps::make(steps));
  NF_TRY(const auto found,
         calibrate_noise({Adjacency::kAddRemove, *o.epsilon, o.delta}, [&](NoiseMultiplier z) -> DpEvent {
           return SelfComposedEvent{count, event_of(z)};
         }));
  return found.value;
}

// ε by number of rounds, computed when it is first asked for.
class Costs {
 public:
  explicit Costs(Delta delta) : delta_(delta) {}

  // The number of this cost: equal costs have one.
  std::size_t number(const DpStatement& round) {
    for (std::size_t i = 0; i < rounds_.size(); ++i) {
      if (rounds_[i].event == round.event) return i;
    }
    rounds_.push_back(round);
    known_.emplace_back();
    return rounds_.size() - 1;
  }
  [[nodiscard]] std::size_t size() const { return rounds_.size(); }

  Result<double> epsilon(std::size_t number, std::uint64_t rounds) {
    auto& known = known_[number];
    if (const auto found = known.find(rounds); found != known.end()) return found->second;
    NF_TRY(const double value, epsilon_of_rounds(rounds_[number], rounds, delta_));
    known[rounds] = value;
    return value;
  }

 private:
  Delta delta_;
  std::vector<DpStatement> rounds_;
  std::vector<std::map<std::uint64_t, double>> known_;
};

// --- Checks ----------------------------------------------------------------------------------------------------------

bool is_share(double value) { return value >= 0 && value <= 1; }

Result<void> check(const LearningOptions& o, const std::vector<SimulatedSite>& sites, const SimulatedTests& tests) {
  if (sites.empty()) return invalid_argument("a simulation needs at least one site");
  if (tests.sets.empty()) return invalid_argument("a simulation needs test rows to measure by");
  if (tests.by_site && tests.sets.size() != sites.size()) return invalid_argument("each site needs its own test rows");
  if (!is_share(o.faults.away) || !is_share(o.faults.stragglers)) {
    return invalid_argument("away and stragglers are shares: give numbers from 0 to 1");
  }
  if (!(o.faults.slowdown >= 1 && std::isfinite(o.faults.slowdown))) {
    return invalid_argument(fmt::format("a straggler's slowdown must be 1 or above, and is {}", o.faults.slowdown));
  }
  if (o.faults.liars >= sites.size() && o.faults.liars > 0) {
    return invalid_argument(
        fmt::format("{} of {} sites lie: at least one must be honest", o.faults.liars, sites.size()));
  }
  if (!(o.network.latency_ms >= 0 && o.network.megabytes_per_second > 0 && o.network.step_ms >= 0)) {
    return invalid_argument("times of the network must be 0 or above, and its rate above 0");
  }
  if (o.evaluate_every == 0) return invalid_argument("quality is measured every round, or every so many: not every 0");
  if (o.rounds == 0 || o.rounds > 1'000'000) return invalid_argument("a run has 1 to 1000000 rounds");
  if (o.steps == 0 && !(o.epochs > 0 && o.epochs <= 1e6)) {
    return invalid_argument(fmt::format("local epochs must be above 0 and at most 1e6, and are {}", o.epochs));
  }
  const bool is_private = o.mode != PrivacyMode::kNone;
  if (!is_private && (o.noise || o.epsilon || o.clip)) {
    return invalid_argument("noise, clip norm and epsilon go with a mode: local or central");
  }
  if (is_private && !o.clip) return invalid_argument("noise goes with a clip norm, which bounds what it hides");
  if (is_private && !o.noise && !o.epsilon) return invalid_argument("state epsilon, or the noise multiplier");
  if (is_private && !(o.delta.value() > 0)) return invalid_argument("Gaussian noise needs a delta above 0");
  if (o.mode != PrivacyMode::kCentral && (o.sampling || o.adaptive_clip)) {
    return invalid_argument("sites are drawn, and clip norms adapt, with central noise only");
  }
  if (o.mode != PrivacyMode::kSecagg && o.colluders > 0) {
    return invalid_argument("colluders leave out their share of noise that is inside a sum: mode secagg");
  }
  if (o.mode == PrivacyMode::kSecagg) {
    if (o.cooperation != Cooperation::kFederated) return invalid_argument("a secure sum is over several sites");
    if (o.steps != 1) return invalid_argument("with noise inside the sum a round is one step: take local_steps = 1");
    if (o.weighting != Weighting::kEqual || o.weight_decay > 0 || o.faults.liars > 0) {
      return invalid_argument("noise inside the sum goes with equal weights, without weight decay and attackers");
    }
    if (o.personal == Personal::kLastLayer || o.personal == Personal::kLastBias) {
      return invalid_argument("with noise inside the sum all parameters are shared: take fine-tune or ditto");
    }
    if (o.minimum_cohort > sites.size()) {
      return invalid_argument(
          fmt::format("the minimum cohort of {} is above the number of sites, {}", o.minimum_cohort, sites.size()));
    }
  }
  if (o.mode == PrivacyMode::kCentral && o.weighting != Weighting::kEqual) {
    return invalid_argument("central noise protects whole sites, which then count the same: take equal weights");
  }
  return success();
}

std::uint64_t steps_of(const LearningOptions& o, const Dataset& rows) {
  if (o.steps > 0) return o.steps;
  const double batch = static_cast<double>(std::min<std::uint64_t>(o.batch, rows.rows));
  return std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(o.epochs * static_cast<double>(rows.rows) / batch - 1e-9)));
}

Dataset joined(const std::vector<SimulatedSite>& sites) {
  Dataset all = *sites.front().rows;
  for (std::size_t i = 1; i < sites.size(); ++i) {
    const Dataset& more = *sites[i].rows;
    all.rows += more.rows;
    all.features.insert(all.features.end(), more.features.begin(), more.features.end());
    all.labels.insert(all.labels.end(), more.labels.begin(), more.labels.end());
    all.targets.insert(all.targets.end(), more.targets.begin(), more.targets.end());
  }
  all.groups.clear();
  return all;
}

Dataset with_flipped_labels(const Dataset& rows) {
  Dataset flipped = rows;
  for (std::int32_t& label : flipped.labels) label = flipped.classes - 1 - label;
  return flipped;
}

// --- Measuring -------------------------------------------------------------------------------------------------------

FederatedQuality combined(std::vector<Quality> sites) {
  FederatedQuality all;
  double rows = 0;
  double correct = 0;
  double sum = 0;
  std::size_t counted = 0;
  for (const Quality& one : sites) {
    if (one.examples == 0) continue;
    const auto n = static_cast<double>(one.examples);
    rows += n;
    all.loss += n * one.loss;
    if (!one.accuracy) continue;
    correct += n * *one.accuracy;
    sum += *one.accuracy;
    ++counted;
    all.worst = std::min(all.worst.value_or(1), *one.accuracy);
  }
  all.loss /= std::max(rows, 1.0);
  if (counted > 0) {
    all.accuracy = correct / rows;
    all.macro = sum / static_cast<double>(counted);
  }
  all.sites = std::move(sites);
  return all;
}

class Evaluator {
 public:
  static Result<Evaluator> create(const SimulatedTests& tests, const ModelMaker& maker, const Dataset& rows,
                                  lanes::Team& team) {
    Evaluator made(tests, team);
    for (std::size_t i = 0; i < team.size(); ++i) {
      NF_TRY(std::unique_ptr<TrainableModel> model, maker(rows));
      made.models_.push_back(std::move(model));
    }
    return made;
  }

  // One model, or one of each site.
  Result<FederatedQuality> quality(const std::vector<std::vector<float>>& models) {
    const bool common = models.size() == 1;
    const std::size_t sites = std::max(tests_->sets.size(), models.size());
    const bool once = common && tests_->sets.size() == 1;
    std::vector<Quality> found(sites);
    NF_TRY_VOID(each(*team_, once ? 1 : sites, [&](std::size_t member, std::size_t site) -> Result<void> {
      const Dataset& test = *tests_->sets[tests_->sets.size() == 1 ? 0 : site];
      if (test.rows > 0) found[site] = models_[member]->quality(models[common ? 0 : site], test);
      return success();
    }));
    return combined(std::move(found));
  }

 private:
  Evaluator(const SimulatedTests& tests, lanes::Team& team) : tests_(&tests), team_(&team) {}

  const SimulatedTests* tests_;
  lanes::Team* team_;
  std::vector<std::unique_ptr<TrainableModel>> models_;
};

// --- Sites -----------------------------------------------------------------------------------------------------------

// Remembers what honest sites send in a round, for liars who know everything.
class OverheardWork final : public LocalWork {
 public:
  explicit OverheardWork(LocalWork& inner) : inner_(inner) {}
  [[nodiscard]] Result<Contribution> contribute(const RoundTask& task, BitStream& stream) override {
    NF_TRY(Contribution made, inner_.contribute(task, stream));
    round = task.round;
    lanes = made.lanes;
    return made;
  }
  std::uint64_t round = 0;
  std::vector<float> lanes;

 private:
  LocalWork& inner_;
};

// Sends what it is told to, if it is told anything for this round; else what an honest site would.
class LyingWork final : public LocalWork {
 public:
  LyingWork(LocalWork& inner, std::size_t parameters) : inner_(inner), parameters_(parameters) {}
  [[nodiscard]] Result<Contribution> contribute(const RoundTask& task, BitStream& stream) override {
    NF_TRY(Contribution made, inner_.contribute(task, stream));
    if (!lie.empty()) std::copy_n(lie.begin(), parameters_, made.lanes.begin());
    return made;
  }
  std::vector<float> lie;

 private:
  LocalWork& inner_;
  std::size_t parameters_;
};

struct SiteOnNetwork {
  std::unique_ptr<LocalDescent> descent;
  std::unique_ptr<OverheardWork> overheard;
  std::unique_ptr<LyingWork> lying;
  std::unique_ptr<RoundsBudget> budget;
  std::optional<SigningKey> key;
  std::optional<Site> machine;
  Dataset flipped;  // of a liar
  DpStatement cost{Adjacency::kAddRemove, PrivacyUnit::kRow, NonPrivateEvent{"sites descend without noise"}};
  std::size_t cost_number = 0;
  std::uint64_t steps = 1;
  double slowdown = 1;
  double busy_until = 0;
  std::uint64_t declined = 0;
  std::uint64_t last_declined = 0;
};

// --- The run ---------------------------------------------------------------------------------------------------------

class World {
 public:
  World(const LearningOptions& options, const std::vector<SimulatedSite>& sites, const SimulatedTests& tests,
        const ModelMaker& maker, const std::vector<float>& initial, const ObserveRound& observe)
      : o_(options),
        rows_(sites),
        tests_(tests),
        maker_(maker),
        initial_(initial),
        observe_(observe),
        team_(std::max<std::size_t>(options.threads, 1)),
        costs_(options.delta),
        sites_(sites.size()) {}

  Result<LearningResult> run() {
    NF_TRY_VOID(prepare());
    NF_TRY_VOID(o_.cooperation == Cooperation::kLocalOnly ? learn_alone() : learn_together());
    return std::move(result_);
  }

 private:
  struct Event {
    double at;
    std::uint64_t order;
    bool is_wake;
    std::uint32_t to;
    std::vector<std::uint8_t> bytes;
    std::uint64_t tag;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const { return std::tie(a.at, a.order) > std::tie(b.at, b.order); }
  };

  Result<void> prepare() {
    const bool together = o_.cooperation == Cooperation::kFederated;
    NF_TRY(evaluator_, make_evaluator());
    {
      NF_TRY(const std::unique_ptr<TrainableModel> model, maker_(*rows_.front().rows));
      if (initial_.size() != model->parameters()) return invalid_argument("the initial weights are of another model");
      if (together) {
        NF_TRY(own_, own_parameters(o_.personal, *model, initial_));
      }
    }
    result_.parameters = initial_.size() - own_;
    std::uint64_t most_steps = 1;
    std::uint64_t least_steps = kAnyNumber;
    std::size_t most_rows = 1;
    double all_rows = 0;
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      const Dataset& rows = *rows_[i].rows;
      if (rows.rows == 0) return invalid_argument(fmt::format("site {} has no rows to learn from", rows_[i].name));
      sites_[i].steps = steps_of(o_, rows);
      most_steps = std::max(most_steps, sites_[i].steps);
      least_steps = std::min(least_steps, sites_[i].steps);
      most_rows = std::max(most_rows, rows.rows);
      all_rows += static_cast<double>(rows.rows);
    }
    spec_.strategy = o_.strategy;
    if (!together) spec_.strategy = StrategyOptions{};
    if (spec_.strategy.kind == StrategyKind::kScaffold && least_steps != most_steps) {
      return invalid_argument(fmt::format(
          "scaffold needs the same number of local steps at all sites, and epochs make {} to {}: state steps instead",
          least_steps, most_steps));
    }
    spec_.strategy.local_steps = most_steps;
    spec_.strategy.local_rate = o_.rate;
    const bool by_count = together && o_.weighting == Weighting::kByCount;
    spec_.upload = {.parameters = result_.parameters,
                    .strategy = spec_.strategy.kind,
                    .weighting = by_count ? Weighting::kByCount : Weighting::kEqual,
                    .max_weight = by_count ? static_cast<std::uint32_t>(most_rows) : 1,
                    .max_local_steps = static_cast<std::uint32_t>(most_steps),
                    .denominator = {},
                    .total_weight = by_count ? all_rows : static_cast<double>(sites_.size())};
    NF_TRY(Strategy strategy, Strategy::create(spec_.strategy, result_.parameters));
    strategy_.emplace(std::move(strategy));
    NF_TRY(UploadLayout layout, UploadLayout::create(spec_.upload));
    layout_.emplace(std::move(layout));
    if (o_.mode == PrivacyMode::kSecagg) NF_TRY_VOID(prepare_row_noise(static_cast<std::uint64_t>(all_rows)));
    NF_TRY_VOID(prepare_sites());
    if (together || o_.cooperation == Cooperation::kPooled) NF_TRY_VOID(prepare_spec());
    return success();
  }

  Result<std::optional<Evaluator>> make_evaluator() {
    NF_TRY(Evaluator evaluator, Evaluator::create(tests_, maker_, *rows_.front().rows, team_));
    return std::optional<Evaluator>(std::move(evaluator));
  }

  Result<void> prepare_row_noise(std::uint64_t rows) {
    NF_TRY(const SamplingRate rate,
           SamplingRate::make(std::min(1.0, static_cast<double>(o_.batch) / static_cast<double>(rows))));
    const auto sites = static_cast<std::uint32_t>(sites_.size());
    const std::uint32_t cohort = o_.minimum_cohort == 0 ? sites : o_.minimum_cohort;
    const BatchLaw law = BatchLaw::poisson(rate, Adjacency::kAddRemove);
    RowNoiseOptions options{.clip = *o_.clip,
                            .noise = o_.noise.value_or(NoiseMultiplier::of(1)),
                            .parameters = result_.parameters,
                            .rows = rows,
                            .sites = sites,
                            .minimum_survivors = cohort,
                            .colluders = o_.colluders};
    NF_TRY_VOID(RowNoise::create(options));
    const auto event_with = [&](NoiseMultiplier z) -> DpEvent {
      options.noise = z;
      const auto noise = RowNoise::create(options);
      if (!noise.has_value()) return NonPrivateEvent{"noise that does not fit the lanes"};
      return law.step_with(noise.value().event(cohort).value());
    };
    if (!o_.noise) {
      NF_TRY(options.noise, least_noise(o_, o_.rounds + o_.spare, event_with));
    }
    NF_TRY(RowNoise noise, RowNoise::create(options));
    row_noise_.emplace(std::move(noise));
    spec_.row_noise = options;
    spec_.upload.denominator = rate.value() * static_cast<double>(rows) / o_.rate;
    NF_TRY(UploadLayout layout, UploadLayout::create(spec_.upload));
    layout_.emplace(std::move(layout));
    shared_noise_ = SharedNoise{&*row_noise_, *o_.clip, rate, cohort};
    NF_TRY(shared_limit_, rounds_within(o_, {Adjacency::kAddRemove, PrivacyUnit::kRow, event_with(options.noise)}));
    result_.noise.push_back(options.noise.value());
    return success();
  }

  Result<void> prepare_sites() {
    const bool local = o_.mode == PrivacyMode::kLocal;
    std::vector<std::optional<NoiseMultiplier>> noise(sites_.size(), o_.noise);
    std::vector<std::uint64_t> limits(sites_.size(), kAnyNumber);
    NF_TRY_VOID(each(team_, sites_.size(), [&](std::size_t /*member*/, std::size_t i) -> Result<void> {
      if (!local) return success();
      // Sites of one size need one calibration.
      for (std::size_t j = 0; j < i; ++j) {
        if (rows_[j].rows->rows == rows_[i].rows->rows) return success();
      }
      NF_TRY(const Rows count, Rows::make(rows_[i].rows->rows));
      NF_TRY(const Rows batch, Rows::make(std::min<std::uint64_t>(o_.batch, rows_[i].rows->rows)));
      NF_TRY(const BatchLaw law, BatchLaw::poisson(count, batch, Adjacency::kAddRemove));
      if (!noise[i]) {
        NF_TRY(noise[i], least_noise(o_, sites_[i].steps * (o_.rounds + o_.spare),
                                     [&](NoiseMultiplier z) { return law.step(z); }));
      }
      NF_TRY(const Steps steps, Steps::make(sites_[i].steps));
      NF_TRY(limits[i], rounds_within(o_, {Adjacency::kAddRemove, PrivacyUnit::kRow,
                                           SelfComposedEvent{steps, law.step(*noise[i])}}));
      return success();
    }));
    std::map<std::size_t, std::size_t> first;
    NF_TRY(ReplayRandom slow, stream_of(o_.seed, Purpose::kStragglers));
    for (std::size_t i = 0; i < sites_.size(); ++i) {
      SiteOnNetwork& site = sites_[i];
      const std::size_t like = first.emplace(rows_[i].rows->rows, i).first->second;
      LocalDescentOptions local_options{.steps = site.steps,
                                        .batch = o_.batch,
                                        .rate = o_.rate,
                                        .weight_decay = o_.weight_decay,
                                        .noise = {},
                                        .own = own_};
      local_options.shared = shared_noise_;
      if (local) local_options.noise = StepNoise{*o_.clip, *noise[like]};
      if (together() && o_.personal == Personal::kDitto) local_options.ditto = o_.ditto;
      const bool lies = i + liars() >= sites_.size();
      const bool flips = lies && o_.faults.attack == Attack::kLabelFlip;
      if (flips) site.flipped = with_flipped_labels(*rows_[i].rows);
      NF_TRY(site.descent, LocalDescent::create(local_options, *strategy_, *layout_,
                                                flips ? site.flipped : *rows_[i].rows, maker_, initial_));
      if (lies && !flips) site.lying = std::make_unique<LyingWork>(*site.descent, result_.parameters);
      if (!lies && liars() > 0) site.overheard = std::make_unique<OverheardWork>(*site.descent);
      site.slowdown = internal::uniform_share(slow) < o_.faults.stragglers ? o_.faults.slowdown : 1;
      if (shared_noise_) {
        site.cost = site.descent->statement_of_round();
        site.cost_number = costs_.number(site.cost);
        site.budget = std::make_unique<RoundsBudget>(shared_limit_);
      }
      if (local) {
        site.cost = site.descent->statement_of_round();
        site.cost_number = costs_.number(site.cost);
        site.budget = std::make_unique<RoundsBudget>(limits[like]);
        result_.noise.push_back(noise[like]->value());
      }
    }
    return success();
  }

  Result<void> prepare_spec() {
    spec_.run = derived(o_.seed, Purpose::kKey);
    coordinator_key_ = SigningKey::from_seed(derived(o_.seed, Purpose::kKey, kCoordinator));
    spec_.coordinator = coordinator_key_->public_key();
    spec_.rounds = o_.rounds;
    spec_.spare = o_.spare;
    spec_.minimum_cohort = shared_noise_ ? shared_noise_->survivors : o_.minimum_cohort;
    spec_.rest = o_.rest;
    spec_.robust = together() ? o_.robust : RobustOptions{};
    spec_.round_limit_ms = o_.round_limit_ms;
    spec_.resend_ms = o_.round_limit_ms;  // messages are not lost here, except to sites that are away
    for (std::uint32_t i = 0; i < sites_.size(); ++i) {
      sites_[i].key = SigningKey::from_seed(derived(o_.seed, Purpose::kKey, i));
      spec_.sites.push_back(sites_[i].key->public_key());
    }
    if (sites_.front().budget) spec_.site_cost = sites_.front().cost;
    if (o_.mode == PrivacyMode::kCentral) NF_TRY_VOID(prepare_central());
    NF_TRY_VOID(check_spec(spec_));
    NF_TRY(Coordinator coordinator, Coordinator::open({&spec_, &*coordinator_key_, coordinator_budget_.get()},
                                                      std::span<const float>(initial_).first(result_.parameters), {}));
    coordinator_.emplace(std::move(coordinator));
    for (std::uint32_t i = 0; i < sites_.size(); ++i) {
      SiteOnNetwork& site = sites_[i];
      LocalWork* work = site.descent.get();
      if (site.lying) work = site.lying.get();
      if (site.overheard) work = site.overheard.get();
      Site::Parts parts{&spec_, i, &*site.key, work, site.budget.get()};
      if (site.budget) parts.cost = site.cost;
      NF_TRY(Site machine, Site::open(parts, {}));
      site.machine.emplace(std::move(machine));
    }
    return success();
  }

  Result<void> prepare_central() {
    const double expected = (o_.sampling ? o_.sampling->value() : 1) * static_cast<double>(sites_.size());
    ClientSumOptions sum{.clip = *o_.clip, .noise = o_.noise, .denominator = expected};
    if (o_.adaptive_clip) sum.adaptive = ClientAdaptiveClip{};
    spec_.upload.denominator = expected;
    spec_.sampling = o_.sampling;
    spec_.central = sum;
    if (!sum.noise) {
      NF_TRY(sum.noise, least_noise(o_, o_.rounds + o_.spare, [&](NoiseMultiplier z) {
               RunSpec with = spec_;
               with.central->noise = z;
               return central_cost(with)->event;
             }));
      spec_.central = sum;
    }
    central_cost_ = *central_cost(spec_);
    (void)costs_.number(*central_cost_);
    NF_TRY(const std::uint64_t limit, rounds_within(o_, *central_cost_));
    coordinator_budget_ = std::make_unique<RoundsBudget>(limit);
    result_.noise.push_back(sum.noise->value());
    return success();
  }

  [[nodiscard]] bool together() const { return o_.cooperation == Cooperation::kFederated; }
  [[nodiscard]] std::uint32_t liars() const { return together() ? o_.faults.liars : 0; }

  // --- Without a coordinator

  Result<void> learn_alone() {
    std::vector<std::vector<float>> models(sites_.size(), initial_);
    NF_TRY_VOID(report(0, true, 0, models));
    for (std::uint64_t round = 1; round <= o_.rounds; ++round) {
      std::vector<std::uint8_t> joins(sites_.size(), 1);
      for (std::size_t i = 0; i < sites_.size(); ++i) {
        if (!sites_[i].budget) continue;
        NF_TRY(const BudgetAnswer answer, sites_[i].budget->reserve(std::to_string(round), sites_[i].cost));
        joins[i] = answer == BudgetAnswer::kGranted ? 1 : 0;
      }
      NF_TRY_VOID(each(team_, sites_.size(), [&](std::size_t /*member*/, std::size_t i) -> Result<void> {
        if (joins[i] == 0) return success();
        NF_TRY(ReplayRandom stream, stream_of(o_.seed, Purpose::kSite, i, round));
        NF_TRY(const Contribution made, sites_[i].descent->contribute({round, models[i], {}, {}}, stream));
        for (std::size_t k = 0; k < models[i].size(); ++k) models[i][k] += made.lanes[k];
        return success();
      }));
      NF_TRY_VOID(report(round, true, static_cast<std::uint32_t>(sites_.size()), models));
      if (stopped_) break;
    }
    NF_TRY(result_.quality, evaluator_->quality(models));
    close_books();
    return success();
  }

  // --- With one

  Result<void> learn_together() {
    NF_TRY(ReplayRandom coordinator_stream, stream_of(o_.seed, Purpose::kCoordinator));
    NF_TRY_VOID(report(0, true, 0, models_now()));
    send_all(kCoordinator, coordinator_->start(coordinator_stream), 0);
    NF_TRY_VOID(report_closed_round());
    while (!queue_.empty() && !stopped_ && coordinator_->state() == RunState::kRunning) {
      std::vector<Event> batch = next_batch();
      if (batch.front().to == kCoordinator) {
        const Event& event = batch.front();
        Effects effects = event.is_wake ? coordinator_->wake(event.tag, coordinator_stream)
                                        : coordinator_->receive(event.bytes, coordinator_stream);
        send_all(kCoordinator, std::move(effects), event.at);
        NF_TRY_VOID(report_closed_round());
      } else {
        NF_TRY_VOID(deliver(batch));
      }
    }
    // What the coordinator still has to say: the end of the run, and which round counted last.
    while (!queue_.empty() && !stopped_) {
      std::vector<Event> batch = next_batch();
      if (batch.front().to != kCoordinator) NF_TRY_VOID(deliver(batch));
    }
    result_.state = coordinator_->state();
    result_.model = coordinator_->model();
    NF_TRY(const auto models, final_models());
    NF_TRY(result_.quality, evaluator_->quality(models));
    close_books();
    return success();
  }

  // One event for the coordinator, or all those for sites that come at one time: sites do not see each other.
  std::vector<Event> next_batch() {
    std::vector<Event> batch;
    do {
      Event event = queue_.top();
      queue_.pop();
      if (event.to != kCoordinator && sites_[event.to].busy_until > event.at) {
        event.at = sites_[event.to].busy_until;
        event.order = ++order_;
        queue_.push(std::move(event));
        continue;
      }
      batch.push_back(std::move(event));
    } while (batch.empty() || (batch.front().to != kCoordinator && !queue_.empty() && queue_.top().to != kCoordinator &&
                               queue_.top().at == batch.front().at));
    return batch;
  }

  Result<void> deliver(const std::vector<Event>& batch) {
    std::vector<std::uint32_t> order;
    std::map<std::uint32_t, std::vector<const Event*>> by_site;
    for (const Event& event : batch) {
      auto& events = by_site[event.to];
      if (events.empty()) order.push_back(event.to);
      events.push_back(&event);
    }
    std::vector<std::uint32_t> honest;
    std::vector<std::uint32_t> lying;
    for (const std::uint32_t site : order) (sites_[site].lying ? lying : honest).push_back(site);
    std::map<std::uint32_t, Effects> effects;
    for (const std::uint32_t site : order) effects[site];
    const auto run = [&](const std::vector<std::uint32_t>& group) {
      return each(team_, group.size(), [&](std::size_t /*member*/, std::size_t i) -> Result<void> {
        for (const Event* event : by_site.at(group[i])) NF_TRY_VOID(step(group[i], *event, effects.at(group[i])));
        return success();
      });
    };
    NF_TRY_VOID(run(honest));
    if (!lying.empty()) NF_TRY_VOID(prepare_lies(lying, batch));
    NF_TRY_VOID(run(lying));
    for (const std::uint32_t site : order) send_all(site, std::move(effects.at(site)), batch.front().at);
    return success();
  }

  Result<void> step(std::uint32_t number, const Event& event, Effects& all) {
    SiteOnNetwork& site = sites_[number];
    std::uint64_t round = 0;
    if (!event.is_wake) {
      const auto envelope = parse_envelope(event.bytes, sizes_of(spec_));
      if (envelope) round = envelope->key.round;
    }
    NF_TRY(ReplayRandom stream, stream_of(o_.seed, Purpose::kSite, number, round));
    const std::uint64_t before = site.descent->rounds();
    Effects effects =
        event.is_wake ? site.machine->wake(event.tag, stream) : site.machine->receive(event.bytes, stream);
    if (site.descent->rounds() > before) {
      site.busy_until = event.at + static_cast<double>(site.steps) * o_.network.step_ms * site.slowdown;
    } else if (site.machine->declined() && round > site.last_declined && !effects.messages.empty()) {
      site.last_declined = round;
      ++site.declined;
    }
    std::move(effects.messages.begin(), effects.messages.end(), std::back_inserter(all.messages));
    std::move(effects.wakes.begin(), effects.wakes.end(), std::back_inserter(all.wakes));
    return success();
  }

  // Liars know what all honest sites send in this round.
  Result<void> prepare_lies(const std::vector<std::uint32_t>& lying, const std::vector<Event>& batch) {
    const auto envelope = parse_envelope(batch.front().bytes, sizes_of(spec_));
    if (!envelope || envelope->kind != RunMessageKind::kInvitation) return success();
    std::vector<std::vector<float>> honest;
    for (const SiteOnNetwork& site : sites_) {
      if (!site.overheard || site.overheard->round != envelope->key.round) continue;
      honest.emplace_back(site.overheard->lanes.begin(),
                          site.overheard->lanes.begin() + static_cast<std::ptrdiff_t>(result_.parameters));
    }
    if (honest.empty()) return success();
    NF_TRY(ReplayRandom stream, stream_of(o_.seed, Purpose::kLies, envelope->key.round));
    std::vector<std::vector<float>> lies =
        attack_with(o_.faults.attack, o_.faults.strength, honest, liars(), stream, earlier_lie_);
    if (earlier_lie_.empty()) earlier_lie_ = honest.front();
    for (const std::uint32_t site : lying) sites_[site].lying->lie = lies[sites_.size() - 1 - site];
    return success();
  }

  void send_all(std::uint32_t from, Effects effects, double now) {
    if (from != kCoordinator) now = std::max(now, sites_[from].busy_until);
    for (Outgoing& message : effects.messages) {
      const auto size = static_cast<std::uint64_t>(message.bytes.size());
      if (from == kCoordinator && misses(message)) continue;
      (from == kCoordinator ? bytes_down_ : bytes_up_) += size;
      const double travel =
          o_.network.latency_ms + static_cast<double>(size) / (1000 * o_.network.megabytes_per_second);
      queue_.push({now + travel, ++order_, false, message.to, std::move(message.bytes), 0});
    }
    for (const Wake& wake : effects.wakes) {
      queue_.push({now + static_cast<double>(wake.after_ms), ++order_, true, from, {}, wake.tag});
    }
    now_ = std::max(now_, from == kCoordinator ? now : now_);
  }

  // Whether the site is away in the message's round. Who is away is drawn when a round is first heard of.
  bool misses(const Outgoing& message) {
    if (!(o_.faults.away > 0)) return false;
    const auto envelope = parse_envelope(message.bytes, sizes_of(spec_));
    if (!envelope || envelope->kind == RunMessageKind::kFinish) return false;
    if (away_round_ != envelope->key.round) {
      away_round_ = envelope->key.round;
      away_.assign(sites_.size(), false);
      auto stream = stream_of(o_.seed, Purpose::kAway, away_round_);
      if (!stream.has_value()) return false;
      for (std::size_t i = 0; i < sites_.size(); ++i) {
        away_[i] = internal::uniform_share(stream.value()) < o_.faults.away;
      }
    }
    return away_[message.to];
  }

  // --- Reporting

  [[nodiscard]] std::vector<std::vector<float>> models_now() const {
    const std::vector<float>& shared = coordinator_->model();
    const bool own = together() && (own_ > 0 || o_.personal == Personal::kDitto);
    if (!own) return {shared};
    std::vector<std::vector<float>> models;
    for (const SiteOnNetwork& site : sites_) models.push_back(site.descent->personal(shared, site.machine->own()));
    return models;
  }

  Result<std::vector<std::vector<float>>> final_models() {
    std::vector<std::vector<float>> models = models_now();
    if (!together() || o_.personal != Personal::kFineTune) return models;
    models.assign(sites_.size(), coordinator_->model());
    NF_TRY_VOID(each(team_, sites_.size(), [&](std::size_t /*member*/, std::size_t i) -> Result<void> {
      NF_TRY(ReplayRandom stream, stream_of(o_.seed, Purpose::kFineTune, i));
      NF_TRY(models[i], sites_[i].descent->fine_tuned(std::move(models[i]), o_.fine_tune_steps, stream));
      return success();
    }));
    return models;
  }

  Result<void> report_closed_round() {
    const auto& record = coordinator_->last_record();
    if (!record || record->round == reported_) return success();
    reported_ = record->round;
    return report(record->round, record->counted, static_cast<std::uint32_t>(record->survivors.size()), models_now());
  }

  [[nodiscard]] Result<std::vector<double>> spent() {
    std::vector<double> epsilon;
    if (central_cost_) {
      NF_TRY(const double value, costs_.epsilon(0, coordinator_budget_->granted()));
      return std::vector<double>{value};
    }
    for (const SiteOnNetwork& site : sites_) {
      if (!site.budget) return std::vector<double>{};
      NF_TRY(const double value, costs_.epsilon(site.cost_number, site.budget->granted()));
      epsilon.push_back(value);
    }
    return epsilon;
  }

  Result<void> report(std::uint64_t number, bool counted, std::uint32_t survivors,
                      const std::vector<std::vector<float>>& models) {
    SimulatedRound round{.round = number,
                         .counted = counted,
                         .survivors = survivors,
                         .quality = {},
                         .epsilon = {},
                         .bytes_up = bytes_up_,
                         .bytes_down = bytes_down_,
                         .seconds = now_ / 1000};
    const bool is_last =
        o_.cooperation == Cooperation::kLocalOnly ? number == o_.rounds : coordinator_->state() != RunState::kRunning;
    if (is_last || number % o_.evaluate_every == 0) {
      NF_TRY(round.quality, evaluator_->quality(models));
      if (is_last || costs_.size() <= kMostCosts) {
        NF_TRY(round.epsilon, spent());
      }
    }
    result_.rounds.push_back(round);
    if (observe_ && !observe_(round)) stopped_ = true;
    return success();
  }

  void close_books() {
    for (const SiteOnNetwork& site : sites_) {
      result_.joined.push_back(site.budget ? site.budget->granted() : site.descent->rounds());
      result_.declined.push_back(site.declined);
    }
  }

  const LearningOptions& o_;
  const std::vector<SimulatedSite>& rows_;
  const SimulatedTests& tests_;
  const ModelMaker& maker_;
  const std::vector<float>& initial_;
  const ObserveRound& observe_;
  lanes::Team team_;
  Costs costs_;
  std::vector<SiteOnNetwork> sites_;
  std::optional<Evaluator> evaluator_;
  std::optional<Strategy> strategy_;
  std::optional<UploadLayout> layout_;
  std::size_t own_ = 0;
  std::optional<RowNoise> row_noise_;
  std::optional<SharedNoise> shared_noise_;
  std::uint64_t shared_limit_ = kAnyNumber;

  RunSpec spec_;
  std::optional<SigningKey> coordinator_key_;
  std::optional<DpStatement> central_cost_;
  std::unique_ptr<RoundsBudget> coordinator_budget_;
  std::optional<Coordinator> coordinator_;

  std::priority_queue<Event, std::vector<Event>, Later> queue_;
  std::uint64_t order_ = 0;
  double now_ = 0;
  std::uint64_t bytes_up_ = 0;
  std::uint64_t bytes_down_ = 0;
  std::uint64_t away_round_ = 0;
  std::vector<bool> away_;
  std::vector<float> earlier_lie_;
  std::uint64_t reported_ = 0;
  bool stopped_ = false;
  LearningResult result_;
};

template <class Names, class Value>
std::string_view name_in(const Names& names, Value value) {
  for (const auto& [name, known] : names) {
    if (known == value) return name;
  }
  return "unknown";
}

}  // namespace

std::string_view name_of(PrivacyMode mode) { return name_in(kPrivacyModes, mode); }
std::string_view name_of(Personal personal) { return name_in(kPersonal, personal); }

Result<double> epsilon_of_rounds(const DpStatement& round, std::uint64_t rounds, Delta delta) {
  if (rounds == 0) return 0.0;
  if (contains<NonPrivateEvent>(round.event)) return std::numeric_limits<double>::infinity();
  NF_TRY(const Steps steps, Steps::make(rounds));
  NF_TRY(const Interval epsilon, pld_epsilon(SelfComposedEvent{steps, round.event}, round.adjacency, delta));
  return epsilon.upper;
}

Result<std::size_t> own_parameters(Personal personal, const TrainableModel& model, std::span<const float> weights) {
  if (personal != Personal::kLastLayer && personal != Personal::kLastBias) return 0;
  const std::vector<NamedTensor> tensors = model.name_weights(weights);
  // A layer's tensors share the name before the last point: "4.weight", "4.bias".
  const auto layer_of = [](const std::string& name) { return name.substr(0, name.rfind('.')); };
  const std::string last = layer_of(tensors.back().name);
  std::size_t own = 0;
  for (std::size_t i = tensors.size(); i-- > 0 && layer_of(tensors[i].name) == last;) {
    if (personal == Personal::kLastBias && i + 1 < tensors.size()) break;
    own += tensors[i].values.size();
  }
  if (personal == Personal::kLastBias && tensors.back().name.find("bias") == std::string::npos) {
    return invalid_argument("the model's last layer has no bias that could stay at a site: take last-layer");
  }
  if (own >= weights.size()) {
    return invalid_argument("the model has one layer, and nothing would be left to share: take last-bias");
  }
  return own;
}

Result<LearningResult> simulate_learning(const LearningOptions& options, const std::vector<SimulatedSite>& sites,
                                         const SimulatedTests& tests, const ModelMaker& maker,
                                         const std::vector<float>& initial, const ObserveRound& observe) {
  NF_TRY_VOID(check(options, sites, tests));
  if (options.cooperation != Cooperation::kPooled) return World(options, sites, tests, maker, initial, observe).run();
  const Dataset all = joined(sites);
  LearningOptions pooled = options;
  pooled.weighting = Weighting::kEqual;
  pooled.faults = {};
  pooled.minimum_cohort = 1;
  SimulatedTests common = tests;
  common.by_site = false;
  return World(pooled, {{"all", &all}}, common, maker, initial, observe).run();
}

}  // namespace noisefloor::federated
