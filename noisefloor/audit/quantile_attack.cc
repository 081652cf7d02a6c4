#include "noisefloor/audit/quantile_attack.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "noisefloor/lanes/layers.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/sgd/dp_sgd.h"
#include "noisefloor/sgd/lanes_source.h"

namespace noisefloor::audit {
namespace {

constexpr std::size_t kFewest = 20;
constexpr std::uint64_t kBatch = 64;
constexpr std::uint64_t kEpochs = 20;
constexpr double kLeastSpread = 0.05;  // in standard deviations of all confidences

// Learns a number from the features of some examples, and predicts it for all.
Result<std::vector<double>> regress(const Dataset& pool, std::span<const std::uint64_t> from,
                                    std::span<const double> wanted, std::uint64_t seed) {
  NF_TRY(Dataset learned, pool.take(from));
  learned.labels.clear();
  learned.classes = 0;
  learned.groups.clear();
  learned.targets.assign(wanted.begin(), wanted.end());
  const std::vector<lanes::Layer> layers = {lanes::Linear{64}, lanes::Activate{lanes::Activation::kRelu},
                                            lanes::Linear{1}};
  NF_TRY(lanes::Program program, lanes::Program::create({pool.width(), 1, 1}, layers, lanes::Loss::kSquared));
  NF_TRY(const std::unique_ptr<LanesSource> source, LanesSource::create(std::move(program), learned, 1));
  NF_TRY(const Rows rows, Rows::make(learned.rows));
  NF_TRY(const Rows batch, Rows::make(std::min<std::uint64_t>(kBatch, learned.rows)));
  NF_TRY(const BatchSampler sampler, BatchSampler::poisson(rows, batch, Adjacency::kAddRemove));
  const std::uint64_t steps = std::max<std::uint64_t>(200, kEpochs * learned.rows / kBatch);
  DpSgd::Options options;
  options.optimizer.kind = OptimizerKind::kAdam;
  options.optimizer.weight_decay = 1e-4;
  options.learning_rate.initial = 3e-3;
  options.learning_rate.decay = RateDecay::kCosine;
  options.learning_rate.steps = steps;
  NF_TRY(ReplayRandom random, ReplayRandom::create(seed));
  std::vector<float> initial = source->initial_weights(random);
  NF_TRY(DpSgd sgd, DpSgd::create(options, sampler, *source, std::move(initial)));
  for (std::uint64_t i = 0; i < steps; ++i) NF_TRY_VOID(sgd.step(random));
  const std::vector<float> outputs = source->predict(sgd.result(), pool);
  return std::vector<double>(outputs.begin(), outputs.end());
}

struct Scale {
  double mean = 0;
  double spread = 1;
};

Scale scale_of(std::span<const double> values, std::span<const std::uint64_t> places) {
  Scale scale;
  for (const std::uint64_t place : places) scale.mean += values[place];
  scale.mean /= static_cast<double>(places.size());
  double squares = 0;
  for (const std::uint64_t place : places) squares += (values[place] - scale.mean) * (values[place] - scale.mean);
  scale.spread = std::max(1e-9, std::sqrt(squares / static_cast<double>(places.size())));
  return scale;
}

}  // namespace

Result<std::vector<double>> quantile_scores(const Dataset& pool, std::span<const double> target,
                                            std::span<const std::uint64_t> unseen, std::uint64_t seed) {
  if (target.size() != pool.rows || unseen.size() < kFewest ||
      std::any_of(unseen.begin(), unseen.end(), [&](std::uint64_t place) { return place >= pool.rows; })) {
    return invalid_argument("quantile regression needs 20 examples or more that the target has not seen");
  }
  const Scale scale = scale_of(target, unseen);
  std::vector<double> wanted;
  for (const std::uint64_t place : unseen) wanted.push_back((target[place] - scale.mean) / scale.spread);
  NF_TRY(const std::vector<double> middle, regress(pool, unseen, wanted, seed));
  std::vector<double> off;
  for (std::size_t i = 0; i < unseen.size(); ++i) {
    off.push_back(std::log(std::max(kLeastSpread, std::fabs(wanted[i] - middle[unseen[i]]))));
  }
  NF_TRY(const std::vector<double> spread, regress(pool, unseen, off, seed + 1));
  std::vector<double> scores;
  for (std::size_t i = 0; i < pool.rows; ++i) {
    const double standard = (target[i] - scale.mean) / scale.spread;
    scores.push_back((standard - middle[i]) / std::exp(std::clamp(spread[i], std::log(kLeastSpread), 3.0)));
  }
  return scores;
}

}  // namespace noisefloor::audit
