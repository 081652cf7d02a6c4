// Reference models for attacks on membership, and the attacks on each of them in turn.
//
//   const TrainShadow train = lanes_shadows(pool, {layers, descent, Rows::of(100), Steps::of(2000)});
//   NF_TRY(const References shadows, train_shadows({pool.rows, 64, 7, threads}, train));
//   NF_TRY(const AttackResult found, attack_in_turn(shadows, Attack::kLiraOnline, 8));
//
// Guarantee:     every model is trained on a random half of the pool, by coins that follow from the seed, the model and
//                the example alone: the same plan gives the same models, whatever the number of threads. Models come in
//                pairs on complementary halves, so that every example has as many models with it as without it, also
//                where there are few. A target is attacked with neither itself nor its pair, whose coins would give its
//                own away.
// Privacy:       confidences of real rows are as private as the rows. What comes out is for the custodian of the pool.
// Not covered:   the models here are replayed, and so not private, whatever noise they were trained with.
// Thread safety: train_shadows calls `train` from several threads at once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "noisefloor/audit/membership_scores.h"
#include "noisefloor/audit/roc.h"
#include "noisefloor/base/result.h"
#include "noisefloor/lanes/layers.h"
#include "noisefloor/sgd/dp_sgd.h"
#include "noisefloor/table/dataset.h"

namespace noisefloor::audit {

// Trains one model on these rows of a pool, with this seed, and returns its confidence (logit_confidence) in every row
// of the pool.
using TrainShadow = std::function<Result<std::vector<double>>(std::span<const std::uint64_t> rows, std::uint64_t seed)>;

struct ShadowPlan {
  std::size_t examples = 0;  // of the pool
  std::size_t models = 64;
  std::uint64_t seed = 1;
  std::size_t threads = 1;
  std::function<void(std::size_t done)> progress = {};  // called by one thread at a time
};
// Ends with the first error of a training.
[[nodiscard]] Result<References> train_shadows(const ShadowPlan& plan, const TrainShadow& train);

// Small networks on the cores (lanes/): the pool must outlive the function that is returned.
struct LanesShadow {
  std::vector<lanes::Layer> layers;
  DpSgd::Options descent = {};  // without noise and clipping: a training as usual
  Rows batch = Rows::of(100);
  Steps steps = Steps::of(1000);
};
[[nodiscard]] TrainShadow lanes_shadows(const Dataset& pool, LanesShadow recipe);

enum class Attack : std::uint8_t { kThreshold, kLiraOnline, kLiraOffline, kRmia, kQuantile };
// "threshold", "lira-online", "lira-offline", "rmia", "quantile"
[[nodiscard]] std::string_view name_of(Attack attack);
// kInvalidArgument for other names.
[[nodiscard]] Result<Attack> parse_attack(std::string_view name);

struct AttackResult {
  std::vector<double> auc;  // of each target
  double median_auc = 0.5;
  Roc together;  // of the scores of all targets
};
// Attacks the first `targets` models, each with all the others as references. `pool` is for quantile regression, which
// learns from every other example that the target has not seen, and is measured on the rest (refused without it).
[[nodiscard]] Result<AttackResult> attack_in_turn(const References& models, Attack attack, std::size_t targets,
                                                  const Dataset* pool = nullptr);
// Attacks one model with all of `models` as references: its confidence in each example, and which it was trained on.
[[nodiscard]] Result<AttackResult> attack_one(std::span<const double> confidence, std::span<const std::uint8_t> member,
                                              const References& models, Attack attack, const Dataset* pool = nullptr);

}  // namespace noisefloor::audit
