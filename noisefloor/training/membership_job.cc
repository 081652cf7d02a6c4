#include "noisefloor/training/membership_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <numeric>
#include <utility>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/audit/gaussian_curve.h"
#include "noisefloor/random/subset.h"
#include "noisefloor/training/descent.h"
#include "noisefloor/training/exposing.h"

namespace noisefloor {
namespace {

constexpr std::size_t kFewestModels = 4;
constexpr std::size_t kFewestRows = 20;
const Confidence kShown = Confidence::of(0.95);

// What the models of one ε have in common.
struct Recipe {
  const Training* training;
  const Dataset* pool;
  Machine machine;  // for one model
  Rows rows;        // half of the pool: a public number here, as the pool is the attacker's
  NoiseWish noise;
  bool without_noise = false;
};

struct Plan {
  BatchSampler sampler;
  Steps steps;
  Noise noise;
};

Result<Plan> plan_of(const Recipe& recipe, const Dataset& half, const GradientSource& model) {
  const PublicCount count{recipe.rows, CountBasis::kPublicRows};
  NF_TRY(BatchSampler sampler, sampler_of(*recipe.training, count, half));
  NF_TRY(const Steps steps, steps_of(recipe.training->descent, sampler));
  Noise noise;
  if (!recipe.without_noise) {
    NF_TRY(noise, noise_of(recipe.noise, *recipe.training, sampler, steps, model));
  }
  return Plan{std::move(sampler), steps, noise};
}

// Whether the outputs of an example name its class.
bool is_right(std::span<const float> outputs, std::int32_t label) {
  if (outputs.size() == 1) return (outputs[0] > 0) == (label == 1);
  return std::max_element(outputs.begin(), outputs.end()) - outputs.begin() == label;
}

struct Said {
  std::vector<double> confidence;
  std::vector<std::uint8_t> right;
};

Said judge_pool(TrainableModel& model, std::span<const float> weights, const Dataset& pool) {
  const std::vector<float> outputs = model.predict(weights, pool);
  const std::size_t each = outputs.size() / pool.rows;
  Said said;
  for (std::size_t i = 0; i < pool.rows; ++i) {
    const auto one = std::span(outputs).subspan(i * each, each);
    said.confidence.push_back(audit::logit_confidence(one, static_cast<std::size_t>(pool.labels[i])));
    said.right.push_back(is_right(one, pool.labels[i]) ? 1 : 0);
  }
  return said;
}

// How often models were right about those that they were trained on, and about others.
class Accuracies {
 public:
  void add(const std::vector<std::uint8_t>& right, std::span<const std::uint64_t> members) {
    std::vector<std::uint8_t> in(right.size(), 0);
    for (const std::uint64_t row : members) in[row] = 1;
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < right.size(); ++i) {
      (in[i] != 0 ? members_ : others_) += 1;
      if (right[i] != 0) (in[i] != 0 ? members_right_ : others_right_) += 1;
    }
  }
  void tell(AttackedModels& attacked) const {
    attacked.accuracy_of_members = members_ > 0 ? members_right_ / members_ : 0;
    attacked.accuracy_of_others = others_ > 0 ? others_right_ / others_ : 0;
  }

 private:
  std::mutex mutex_;
  double members_ = 0;  // whole numbers: sums do not depend on their order
  double members_right_ = 0;
  double others_ = 0;
  double others_right_ = 0;
};

Result<std::vector<double>> train_one(const Recipe& recipe, std::span<const std::uint64_t> rows, std::uint64_t seed,
                                      Accuracies& accuracies) {
  NF_TRY(const Dataset half, recipe.pool->take(rows));
  NF_TRY(const std::unique_ptr<TrainableModel> model, bind_model(*recipe.training, half, recipe.machine));
  NF_TRY(const Plan plan, plan_of(recipe, half, *model));
  NF_TRY(ReplayRandom random, ReplayRandom::create(seed));
  std::vector<float> initial = model->initial_weights(random);
  NF_TRY(DpSgd sgd,
         descent_of(recipe.training->descent, plan.noise, plan.sampler, plan.steps, *model, std::move(initial)));
  for (std::uint64_t i = 0; i < plan.steps.value(); ++i) NF_TRY_VOID(sgd.step(random));
  Said said = judge_pool(*model, sgd.result(), *recipe.pool);
  accuracies.add(said.right, rows);
  return std::move(said.confidence);
}

std::optional<audit::FoundAt> found_at(const audit::Roc& roc, double rate) {
  const Result<audit::FoundAt> found = roc.found_at(rate, kShown);
  return found.has_value() ? std::optional(found.value()) : std::nullopt;
}

MembershipFinding finding_of(audit::Attack attack, audit::AttackResult result) {
  const auto hundredth = found_at(result.together, 0.01);
  const auto thousandth = found_at(result.together, 0.001);
  return {attack, std::move(result), hundredth, thousandth};
}

// What ε and δ allow: the area under the curve that no attack can beat.
Result<double> most_auc_of(const DpEvent& event, Adjacency adjacency) {
  constexpr int kPoints = 400;
  NF_TRY(const audit::CertifiedCurve curve, audit::CertifiedCurve::create(event, adjacency, Delta::of(1e-5)));
  double area = 0;
  for (int i = 0; i < kPoints; ++i) {
    // Found shares rise with false alarms: the right end of each piece is its largest.
    const double next = static_cast<double>(i + 1) / kPoints;
    area += (1 - curve.missed(next)) / kPoints;
  }
  return std::min(1.0, area);
}

std::string settings_of(const TrainingFile& file, const MembershipWish& wish) {
  std::string text = fmt::format("attack on membership: {} models, {} targets, seed {}, {}", wish.models, wish.targets,
                                 wish.seed, file.digest());
  for (const double epsilon : wish.epsilons) text += fmt::format(" {}", epsilon);
  return text;
}

// The training rows, and the test rows if a finished model is attacked: it has seen the former alone.
struct Pool {
  Dataset rows;
  std::vector<std::uint8_t> member;  // of the finished model
};

Result<Pool> pool_of(const TrainingFile& file, const MembershipWish& wish, std::size_t threads) {
  NF_TRY(TrainingExamples examples, read_examples(file, threads));
  const auto whole = [](const Dataset& data) {
    std::vector<std::uint64_t> all(data.rows);
    std::iota(all.begin(), all.end(), std::uint64_t{0});
    return data.without_nulls(all);
  };
  NF_TRY(Dataset train, examples.train.take(whole(examples.train)));
  Pool pool{std::move(train), {}};
  pool.rows.groups.clear();
  pool.member.assign(pool.rows.rows, 1);
  if (wish.model) {
    NF_TRY_VOID(expect_test_examples(examples));
    const Dataset& test = *examples.test;
    pool.rows.features.insert(pool.rows.features.end(), test.features.begin(), test.features.end());
    pool.rows.labels.insert(pool.rows.labels.end(), test.labels.begin(), test.labels.end());
    pool.rows.rows += test.rows;
    pool.member.resize(pool.rows.rows, 0);
  }
  if (!wish.pool || *wish.pool >= pool.rows.rows) return pool;
  NF_TRY(ReplayRandom random, ReplayRandom::create(wish.seed));
  NF_TRY(const std::vector<std::uint64_t> some, uniform_subset(random, *wish.pool, pool.rows.rows));
  NF_TRY(Dataset taken, pool.rows.take(some));
  Pool smaller{std::move(taken), {}};
  for (const std::uint64_t row : some) smaller.member.push_back(pool.member[row]);
  return smaller;
}

Result<void> check_wish(const Training& training, const MembershipWish& wish) {
  if (wish.models < kFewestModels || wish.targets == 0 || wish.targets > wish.models || wish.attacks.empty()) {
    return invalid_argument(
        fmt::format("attacks need {} models or more, and targets among them; {} and {} were asked for", kFewestModels,
                    wish.models, wish.targets));
  }
  for (const double epsilon : wish.epsilons) {
    if (!(epsilon > 0))
      return invalid_argument(fmt::format("an epsilon to attack is above 0, or inf; {} was given", epsilon));
  }
  if (training.privacy.unit == PrivacyUnit::kPerson) {
    return invalid_argument("attacks on membership look for rows, and this training protects people: unit = \"row\"");
  }
  if (std::holds_alternative<TextFormat>(training.data.format)) {
    return invalid_argument("attacks on membership need examples of classes, and this training reads a text");
  }
  return success();
}

}  // namespace

Result<MembershipJob> MembershipJob::prepare(TrainingFile file, MembershipWish wish, const Machine& machine) {
  NF_TRY_VOID(check_wish(file.training, wish));
  NF_TRY_VOID(require_backend(file.training, file.location, machine.torch));
  return MembershipJob(std::make_unique<TrainingFile>(std::move(file)), std::move(wish), machine);
}

bool MembershipJob::needs_ledger() const { return !learns_from_public_rows(file_->training); }

Result<MembershipOutcome> MembershipJob::run(Ledger* ledger, const JobControl& control, const Progress& progress) {
  const Training& training = file_->training;
  const RowsWish rows{.dataset = description_of(training),
                      .unnoised = Unnoised{ExposureKind::kTraining, settings_of(*file_, wish_), "attack"},
                      .unknown = wish_.unknown};
  NF_TRY(const ClaimedRows claimed, claim_rows(ledger, *file_, rows, control));
  if (claimed.evaluation && ledger != nullptr) NF_TRY_VOID(ledger->expose(*claimed.evaluation));
  NF_TRY(const Pool pool, pool_of(*file_, wish_, machine_.threads));
  if (pool.rows.classes < 2 || pool.rows.rows < kFewestRows) {
    return invalid_argument(
        fmt::format("attacks on membership need {} rows or more, of at least two classes", kFewestRows));
  }
  MembershipOutcome outcome{training.name,
                            pool.rows.rows,
                            wish_.models,
                            wish_.targets,
                            training.privacy.target_delta.value(),
                            learns_from_public_rows(training),
                            claimed.exposure,
                            {}};
  NF_TRY(const Rows half, Rows::make(pool.rows.rows / 2));
  Machine one = machine_;
  one.threads = 1;
  std::vector<double> epsilons = wish_.epsilons;
  if (epsilons.empty()) epsilons.push_back(std::nan(""));  // as the file says
  for (const double epsilon : epsilons) {
    const auto start = std::chrono::steady_clock::now();
    Recipe recipe{&training, &pool.rows, one, half, {}, false};
    if (std::isfinite(epsilon)) {
      NF_TRY(recipe.noise.epsilon, Epsilon::make(epsilon));
    } else {
      recipe.without_noise = std::isinf(epsilon);
    }
    AttackedModels attacked;
    {
      NF_TRY(const std::unique_ptr<TrainableModel> model, bind_model(training, pool.rows, one));
      NF_TRY(const Plan plan, plan_of(recipe, pool.rows, *model));
      if (plan.noise.multiplier && !training.descent.discrete_noise) {
        attacked.event = SelfComposedEvent{plan.steps, plan.sampler.event(*plan.noise.multiplier)};
        NF_TRY(const Interval certified,
               pld_epsilon(*attacked.event, training.privacy.adjacency, training.privacy.target_delta));
        attacked.epsilon = certified.upper;
        NF_TRY(attacked.most_auc, most_auc_of(*attacked.event, training.privacy.adjacency));
      }
    }
    const std::string what =
        std::isfinite(attacked.epsilon) ? fmt::format("epsilon {:.3g}", attacked.epsilon) : "no noise";
    Accuracies accuracies;
    std::atomic<bool> stopped{false};
    audit::ShadowPlan plan{pool.rows.rows, wish_.models, wish_.seed, training.model.torch ? 1 : machine_.threads, {}};
    plan.progress = [&](std::size_t done) {
      if (progress) progress(what, done, wish_.models);
      stopped = stopped || control.stop_asked();
    };
    const audit::TrainShadow train = [&](std::span<const std::uint64_t> in,
                                         std::uint64_t seed) -> Result<std::vector<double>> {
      if (stopped) return invalid_argument("the attack was stopped");
      return train_one(recipe, in, seed, accuracies);
    };
    NF_TRY(const audit::References models, audit::train_shadows(plan, train));
    for (const audit::Attack attack : wish_.attacks) {
      NF_TRY(audit::AttackResult result, audit::attack_in_turn(models, attack, wish_.targets, &pool.rows));
      attacked.findings.push_back(finding_of(attack, std::move(result)));
    }
    accuracies.tell(attacked);
    attacked.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    outcome.attacked.push_back(std::move(attacked));
    if (!wish_.model) continue;
    // The finished model, with all of these as references.
    NF_TRY(const std::unique_ptr<TrainableModel> model, bind_model(training, pool.rows, machine_));
    NF_TRY(const std::vector<float> weights, weights_in(*wish_.model, *model));
    const Said said = judge_pool(*model, weights, pool.rows);
    AttackedModels finished;
    finished.finished = true;
    finished.most_auc = 1;
    Accuracies own;
    std::vector<std::uint64_t> members;
    for (std::size_t i = 0; i < pool.member.size(); ++i) {
      if (pool.member[i] != 0) members.push_back(i);
    }
    own.add(said.right, members);
    own.tell(finished);
    for (const audit::Attack attack : wish_.attacks) {
      NF_TRY(audit::AttackResult result, audit::attack_one(said.confidence, pool.member, models, attack, &pool.rows));
      finished.findings.push_back(finding_of(attack, std::move(result)));
    }
    outcome.attacked.push_back(std::move(finished));
  }
  return outcome;
}

}  // namespace noisefloor
