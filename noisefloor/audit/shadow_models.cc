#include "noisefloor/audit/shadow_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "noisefloor/audit/quantile_attack.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/sgd/lanes_source.h"

namespace noisefloor::audit {
namespace {

constexpr std::uint64_t kQuantileSeed = 1;  // any: its networks are drawn anew for each target

// Streams of one plan: coins of a model, and its training.
std::uint64_t seed_of(std::uint64_t plan, std::size_t model, std::uint64_t purpose) {
  std::uint64_t mixed = plan * 0x9E3779B97F4A7C15ULL + model * 2 + purpose + 1;
  mixed ^= mixed >> 30;
  mixed *= 0xBF58476D1CE4E5B9ULL;
  mixed ^= mixed >> 27;
  mixed *= 0x94D049BB133111EBULL;
  return mixed ^ (mixed >> 31);
}

Result<std::vector<std::uint8_t>> coins_of(const ShadowPlan& plan, std::size_t model) {
  const std::size_t pair = model / 2 * 2;
  NF_TRY(ReplayRandom random, ReplayRandom::create(seed_of(plan.seed, pair, 0)));
  std::vector<std::uint8_t> coins(plan.examples);
  for (std::uint8_t& coin : coins) coin = static_cast<std::uint8_t>((random.next_u64() >> 63) ^ (model - pair));
  return coins;
}

Result<std::vector<double>> train_one(const ShadowPlan& plan, const TrainShadow& train, std::size_t model,
                                      std::span<const std::uint8_t> coins) {
  std::vector<std::uint64_t> rows;
  for (std::size_t i = 0; i < coins.size(); ++i) {
    if (coins[i] != 0) rows.push_back(i);
  }
  NF_TRY(std::vector<double> confidence, train(rows, seed_of(plan.seed, model, 1)));
  if (confidence.size() == plan.examples) return confidence;
  return invalid_argument(fmt::format("a reference model judged {} examples of {}", confidence.size(), plan.examples));
}

lanes::Shape shape_of(const Dataset& data) {
  if (data.shape.size() == 3) return {data.shape[0], data.shape[1], data.shape[2]};
  return {data.width(), 1, 1};
}

Result<std::vector<double>> train_on_lanes(const Dataset& pool, const LanesShadow& recipe,
                                           std::span<const std::uint64_t> rows, std::uint64_t seed) {
  if (pool.classes < 2) return invalid_argument("attacks on membership need examples of at least two classes");
  NF_TRY(const Dataset half, pool.take(rows));
  NF_TRY(lanes::Program program, lanes::Program::create(shape_of(pool), recipe.layers, lanes::Loss::kCrossEntropy));
  const std::size_t outputs = program.outputs();
  NF_TRY(const std::unique_ptr<LanesSource> source, LanesSource::create(std::move(program), half, 1));
  NF_TRY(const Rows count, Rows::make(half.rows));
  NF_TRY(const Rows batch, Rows::make(std::min(recipe.batch.value(), count.value())));
  NF_TRY(const BatchSampler sampler, BatchSampler::poisson(count, batch, Adjacency::kAddRemove));
  NF_TRY(ReplayRandom random, ReplayRandom::create(seed));
  NF_TRY(DpSgd descent, DpSgd::create(recipe.descent, sampler, *source, source->initial_weights(random)));
  for (std::uint64_t step = 0; step < recipe.steps.value(); ++step) NF_TRY_VOID(descent.step(random));
  const std::vector<float> logits = source->predict(descent.result(), pool);
  std::vector<double> confidence;
  for (std::size_t i = 0; i < pool.rows; ++i) {
    confidence.push_back(
        logit_confidence(std::span(logits).subspan(i * outputs, outputs), static_cast<std::size_t>(pool.labels[i])));
  }
  return confidence;
}

// All models but one and its pair.
References without(const References& models, std::size_t target) {
  References rest{0, models.examples, {}, {}, models.paired};
  for (std::size_t model = 0; model < models.models; ++model) {
    if (model == target || (models.paired && model / 2 == target / 2)) continue;
    const auto from = static_cast<std::ptrdiff_t>(model * models.examples);
    const auto to = from + static_cast<std::ptrdiff_t>(models.examples);
    rest.confidence.insert(rest.confidence.end(), models.confidence.begin() + from, models.confidence.begin() + to);
    rest.member.insert(rest.member.end(), models.member.begin() + from, models.member.begin() + to);
    ++rest.models;
  }
  return rest;
}

Result<std::vector<double>> scores_of(Attack attack, std::span<const double> target, const References& references) {
  switch (attack) {
    case Attack::kLiraOnline:
      return lira_online(target, references);
    case Attack::kLiraOffline:
      return lira_offline(target, references);
    case Attack::kRmia: {
      std::vector<std::size_t> population(target.size());
      std::iota(population.begin(), population.end(), std::size_t{0});
      return rmia(target, references, population);
    }
    case Attack::kThreshold:
    case Attack::kQuantile:
      break;
  }
  return std::vector<double>(target.begin(), target.end());
}

// The scores of a target's members and of others.
struct Split {
  std::vector<double> members;
  std::vector<double> others;
};

Result<Split> split_by_quantiles(std::span<const double> confidence, std::span<const std::uint8_t> member,
                                 const Dataset* pool) {
  if (pool == nullptr) return invalid_argument("quantile regression needs the features of the examples");
  std::vector<std::uint64_t> unseen;
  std::vector<std::uint8_t> learned(member.size(), 0);
  bool take = false;
  for (std::size_t i = 0; i < member.size(); ++i) {
    if (member[i] != 0) continue;
    take = !take;
    if (!take) continue;
    unseen.push_back(i);
    learned[i] = 1;
  }
  NF_TRY(const std::vector<double> scores, quantile_scores(*pool, confidence, unseen, kQuantileSeed));
  Split split;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (learned[i] == 0) (member[i] != 0 ? split.members : split.others).push_back(scores[i]);
  }
  return split;
}

Result<Split> split_by(Attack attack, std::span<const double> confidence, std::span<const std::uint8_t> member,
                       const References& references, const Dataset* pool) {
  if (attack == Attack::kQuantile) return split_by_quantiles(confidence, member, pool);
  NF_TRY(const std::vector<double> scores, scores_of(attack, confidence, references));
  Split split;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    (member[i] != 0 ? split.members : split.others).push_back(scores[i]);
  }
  return split;
}

}  // namespace

Result<References> train_shadows(const ShadowPlan& plan, const TrainShadow& train) {
  if (plan.examples == 0 || plan.models < 2 || plan.threads == 0) {
    return invalid_argument(
        fmt::format("{} reference models of {} examples on {} threads: attacks need examples, two "
                    "models and a thread at least",
                    plan.models, plan.examples, plan.threads));
  }
  References made{plan.models, plan.examples, std::vector<double>(plan.models * plan.examples), {}, true};
  for (std::size_t model = 0; model < plan.models; ++model) {
    NF_TRY(const std::vector<std::uint8_t> coins, coins_of(plan, model));
    made.member.insert(made.member.end(), coins.begin(), coins.end());
  }
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::size_t done = 0;
  std::optional<Error> failure;
  const auto work = [&] {
    for (std::size_t model = next++; model < plan.models; model = next++) {
      const auto coins = std::span(made.member).subspan(model * plan.examples, plan.examples);
      const Result<std::vector<double>> confidence = train_one(plan, train, model, coins);
      const std::scoped_lock lock(mutex);
      if (!confidence.has_value()) {
        if (!failure) failure = confidence.error();
        next = plan.models;
        return;
      }
      std::copy(confidence.value().begin(), confidence.value().end(),
                made.confidence.begin() + static_cast<std::ptrdiff_t>(model * plan.examples));
      if (plan.progress) plan.progress(++done);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < std::min(plan.threads, plan.models); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (failure) return *failure;
  NF_TRY_VOID(check_references(made));
  return made;
}

TrainShadow lanes_shadows(const Dataset& pool, LanesShadow recipe) {
  return [&pool, recipe = std::move(recipe)](std::span<const std::uint64_t> rows, std::uint64_t seed) {
    return train_on_lanes(pool, recipe, rows, seed);
  };
}

std::string_view name_of(Attack attack) {
  switch (attack) {
    case Attack::kThreshold:
      return "threshold";
    case Attack::kLiraOnline:
      return "lira-online";
    case Attack::kLiraOffline:
      return "lira-offline";
    case Attack::kRmia:
      return "rmia";
    case Attack::kQuantile:
      break;
  }
  return "quantile";
}

Result<Attack> parse_attack(std::string_view name) {
  for (const Attack attack :
       {Attack::kThreshold, Attack::kLiraOnline, Attack::kLiraOffline, Attack::kRmia, Attack::kQuantile}) {
    if (name == name_of(attack)) return attack;
  }
  return invalid_argument(
      fmt::format("'{}' is no attack: choose threshold, lira-online, lira-offline, rmia or quantile", name));
}

Result<AttackResult> attack_in_turn(const References& models, Attack attack, std::size_t targets, const Dataset* pool) {
  NF_TRY_VOID(check_references(models));
  if (targets == 0 || targets > models.models || models.models < 2) {
    return invalid_argument(fmt::format("{} targets among {} models: name at least one, and keep one as a reference",
                                        targets, models.models));
  }
  std::vector<double> auc;
  std::vector<double> in;
  std::vector<double> out;
  for (std::size_t target = 0; target < targets; ++target) {
    const auto confidence = std::span(models.confidence).subspan(target * models.examples, models.examples);
    const auto member = std::span(models.member).subspan(target * models.examples, models.examples);
    NF_TRY(const Split split, split_by(attack, confidence, member, without(models, target), pool));
    NF_TRY(const Roc roc, Roc::make(split.members, split.others));
    auc.push_back(roc.auc());
    in.insert(in.end(), split.members.begin(), split.members.end());
    out.insert(out.end(), split.others.begin(), split.others.end());
  }
  NF_TRY(Roc together, Roc::make(in, out));
  std::vector<double> sorted = auc;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  const double median = sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  return AttackResult{std::move(auc), median, std::move(together)};
}

Result<AttackResult> attack_one(std::span<const double> confidence, std::span<const std::uint8_t> member,
                                const References& models, Attack attack, const Dataset* pool) {
  NF_TRY_VOID(check_references(models));
  if (confidence.size() != models.examples || member.size() != models.examples) {
    return invalid_argument("a target and its references judge the same examples");
  }
  NF_TRY(const Split split, split_by(attack, confidence, member, models, pool));
  NF_TRY(Roc roc, Roc::make(split.members, split.others));
  const double auc = roc.auc();
  return AttackResult{{auc}, auc, std::move(roc)};
}

}  // namespace noisefloor::audit
