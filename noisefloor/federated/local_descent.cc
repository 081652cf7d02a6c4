#include "noisefloor/federated/local_descent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "noisefloor/base/check.h"
#include "noisefloor/federated/body_bytes.h"
#include "noisefloor/federated/draws.h"
#include "noisefloor/random/gaussian_vector.h"
#include "noisefloor/random/subset.h"

namespace noisefloor::federated {
namespace {

// Upward, so that no rounding of the product makes the noise smaller than stated.
float scale_of(const StepNoise& noise) {
  return static_cast<float>(noise.noise.value() * noise.clip.value() * (1 + 1e-6));
}

}  // namespace

// The batches of one round.
class LocalDescent::Batches {
 public:
  Batches(const LocalDescent& descent, bool with_noise, BitStream& stream) : descent_(descent), stream_(stream) {
    if (with_noise) {
      sampler_.emplace(descent.law_->rate());
    } else {
      order_.resize(descent.rows_->rows);
      std::iota(order_.begin(), order_.end(), 0);
      at_ = order_.size();
    }
  }

  std::vector<std::uint64_t> next() {
    if (sampler_) return sampler_->sample(stream_, descent_.rows_->rows);
    const std::size_t size = std::min<std::size_t>(descent_.options_.batch, order_.size());
    if (at_ >= order_.size()) {
      internal::shuffle(stream_, std::span(order_));
      at_ = 0;
    }
    // The last stretch of a pass may be shorter.
    const std::size_t to = std::min(at_ + size, order_.size());
    std::vector<std::uint64_t> batch(order_.begin() + static_cast<std::ptrdiff_t>(at_),
                                     order_.begin() + static_cast<std::ptrdiff_t>(to));
    at_ = to;
    return batch;
  }

 private:
  const LocalDescent& descent_;
  BitStream& stream_;
  std::optional<PoissonSubsampler> sampler_;
  std::vector<std::uint64_t> order_;
  std::size_t at_ = 0;
};

LocalDescent::LocalDescent(const LocalDescentOptions& options, const Strategy& strategy, const UploadLayout& layout,
                           const Dataset& rows, const ModelMaker& maker, std::vector<float> first)
    : options_(options),
      strategy_(&strategy),
      layout_(&layout),
      rows_(&rows),
      maker_(&maker),
      first_(std::move(first)),
      shared_(layout.options().parameters) {}

Result<std::unique_ptr<LocalDescent>> LocalDescent::create(const LocalDescentOptions& options, const Strategy& strategy,
                                                           const UploadLayout& layout, const Dataset& rows,
                                                           const ModelMaker& maker, std::vector<float> first) {
  if (options.steps == 0) return invalid_argument("a site makes at least one step in a round");
  if (options.batch == 0) return invalid_argument("a step needs at least one row");
  if (!(options.rate > 0 && std::isfinite(options.rate))) {
    return invalid_argument(fmt::format("the learning rate must be above 0, and is {}", options.rate));
  }
  if (!(options.weight_decay >= 0 && std::isfinite(options.weight_decay))) {
    return invalid_argument(fmt::format("the weight decay must be 0 or above, and is {}", options.weight_decay));
  }
  if (options.ditto && !(*options.ditto >= 0 && std::isfinite(*options.ditto))) {
    return invalid_argument(fmt::format("the personal model's pull must be 0 or above, and is {}", *options.ditto));
  }
  if (rows.rows == 0) return invalid_argument("a site needs at least one row");
  if (rows.unit() != PrivacyUnit::kRow) {
    return invalid_argument("sites draw rows, and these data say which rows belong to one person: leave person out");
  }
  if (first.size() != layout.options().parameters + options.own) {
    return invalid_argument(fmt::format("the model has {} parameters, and {} are shared and {} are a site's own",
                                        first.size(), layout.options().parameters, options.own));
  }
  std::unique_ptr<LocalDescent> made(  // NOLINT: private constructor
      new LocalDescent(options, strategy, layout, rows, maker, std::move(first)));
  if (options.shared) {
    if (options.noise || options.steps != 1 || options.own > 0 || options.weight_decay > 0) {
      return invalid_argument(
          "noise inside the sum goes with one local step, without weight decay and without own parameters");
    }
    NF_TRY(ClipRule rule, ClipRule::create(FlatClip{options.shared->clip}));
    made->clip_ = std::move(rule);
    made->law_ = BatchLaw::poisson(options.shared->rate, Adjacency::kAddRemove);
    NF_TRY_VOID(options.shared->noise->event(options.shared->survivors));
  }
  if (options.noise) {
    NF_TRY(ClipRule rule, ClipRule::create(FlatClip{options.noise->clip}));
    made->clip_ = std::move(rule);
    NF_TRY(const Rows count, Rows::make(rows.rows));
    NF_TRY(const Rows batch, Rows::make(std::min<std::uint64_t>(options.batch, rows.rows)));
    NF_TRY(BatchLaw law, BatchLaw::poisson(count, batch, Adjacency::kAddRemove));
    made->law_ = std::move(law);
  }
  return made;
}

DpEvent LocalDescent::event_of_step() const {
  if (options_.shared) return law_->step_with(options_.shared->noise->event(options_.shared->survivors).value());
  if (!options_.noise) return NonPrivateEvent{"sites descend without noise"};
  return law_->step(options_.noise->noise);
}

DpStatement LocalDescent::statement_of_round() const {
  const DpEvent step = event_of_step();
  const auto steps = Steps::make(options_.steps);
  return {Adjacency::kAddRemove, PrivacyUnit::kRow,
          law_ && steps.has_value() ? DpEvent(SelfComposedEvent{steps.value(), step}) : step};
}

LocalDescent::Kept LocalDescent::read(std::span<const std::uint8_t> own) const {
  Kept kept;
  internal::BodyReader reader(own);
  if (strategy_->options().kind == StrategyKind::kScaffold) {
    kept.control = own.empty() ? std::vector<double>(shared_) : reader.doubles(shared_);
  }
  kept.last = own.empty() ? std::vector<float>(first_.begin() + static_cast<std::ptrdiff_t>(shared_), first_.end())
                          : reader.floats(options_.own);
  if (options_.ditto) kept.model = own.empty() ? first_ : reader.floats(first_.size());
  return kept;
}

std::vector<std::uint8_t> LocalDescent::write(const Kept& kept) const {
  internal::BodyWriter writer;
  return writer.doubles(kept.control).floats(kept.last).floats(kept.model).take();
}

Result<void> LocalDescent::descend(TrainableModel& model, std::vector<float>& y, std::uint64_t steps, bool with_noise,
                                   const Correct& correct, BitStream& stream) const {
  NF_CHECK(model.parameters() == y.size(), "a model of this size");
  const bool noisy = with_noise && options_.noise.has_value();
  Batches batches(*this, noisy, stream);
  std::vector<float> gradient(y.size());
  const auto rate = static_cast<float>(options_.rate);
  const auto decay = static_cast<float>(options_.weight_decay);
  for (std::uint64_t step = 0; step < steps; ++step) {
    const std::vector<std::uint64_t> batch = batches.next();
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    NF_TRY_VOID(model.add(y, batch, noisy ? &*clip_ : nullptr, stream, gradient));
    if (noisy) add_gaussian(stream, gradient, scale_of(*options_.noise));
    const double size = noisy ? static_cast<double>(std::min<std::uint64_t>(options_.batch, rows_->rows))
                              : static_cast<double>(batch.size());
    for (std::size_t k = 0; k < y.size(); ++k) {
      gradient[k] = static_cast<float>(static_cast<double>(gradient[k]) / size) + decay * y[k];
    }
    correct(gradient, y);
    for (std::size_t k = 0; k < y.size(); ++k) y[k] -= rate * gradient[k];
  }
  return success();
}

Result<Contribution> LocalDescent::contribute(const RoundTask& task, BitStream& stream) {
  NF_CHECK(task.model.size() == shared_, "a model of the run's size");
  NF_TRY(const std::unique_ptr<TrainableModel> model, (*maker_)(*rows_));
  Kept kept = read(task.own);
  std::vector<float> y(task.model.begin(), task.model.end());
  y.insert(y.end(), kept.last.begin(), kept.last.end());
  const std::vector<float> x = y;
  if (options_.shared) return share_of_sum(*model, x, kept, stream);
  const auto shared = [&](const std::vector<float>& all) { return std::span<const float>(all).first(shared_); };
  NF_TRY_VOID(descend(
      *model, y, options_.steps, true,
      [&](std::span<float> gradient, std::span<const float> at) {
        strategy_->correct(gradient.first(shared_), at.first(shared_), shared(x), task.control, kept.control);
      },
      stream));
  std::vector<float> delta(shared_);
  for (std::size_t k = 0; k < shared_; ++k) delta[k] = y[k] - x[k];
  if (strategy_->options().kind == StrategyKind::kScaffold) {
    kept.control = strategy_->next_own_control(kept.control, task.control, delta);
  }
  std::copy(y.begin() + static_cast<std::ptrdiff_t>(shared_), y.end(), kept.last.begin());
  NF_TRY_VOID(descend_personal(*model, x, kept, stream));
  ++rounds_;
  const auto weight = static_cast<std::uint32_t>(std::min<std::size_t>(rows_->rows, UINT32_MAX));
  return Contribution{layout_->lanes_of(delta, weight, static_cast<std::uint32_t>(options_.steps)), write(kept)};
}

Result<void> LocalDescent::descend_personal(TrainableModel& model, std::span<const float> x, Kept& kept,
                                            BitStream& stream) const {
  if (!options_.ditto) return success();
  const auto pull = static_cast<float>(*options_.ditto);
  return descend(
      model, kept.model, options_.steps, false,
      [&](std::span<float> gradient, std::span<const float> v) {
        for (std::size_t k = 0; k < shared_; ++k) gradient[k] += pull * (v[k] - x[k]);
      },
      stream);
}

Result<Contribution> LocalDescent::share_of_sum(TrainableModel& model, const std::vector<float>& y, Kept& kept,
                                                BitStream& stream) {
  const RowNoise& noise = *options_.shared->noise;
  std::vector<std::int64_t> sum(shared_);
  const std::vector<std::uint64_t> batch = PoissonSubsampler(law_->rate()).sample(stream, rows_->rows);
  NF_TRY_VOID(model.add_on_grid(y, batch, *clip_, noise.grid(), stream, sum));
  for (std::int64_t& value : sum) value = -value;  // downhill
  noise.add_share(stream, sum);
  NF_TRY_VOID(descend_personal(model, y, kept, stream));
  ++rounds_;
  return Contribution{noise.lanes_of(sum), write(kept)};
}

std::vector<float> LocalDescent::personal(std::span<const float> shared, std::span<const std::uint8_t> own) const {
  Kept kept = read(own);
  if (options_.ditto) return std::move(kept.model);
  std::vector<float> all(shared.begin(), shared.end());
  all.insert(all.end(), kept.last.begin(), kept.last.end());
  return all;
}

Result<std::vector<float>> LocalDescent::fine_tuned(std::vector<float> from, std::uint64_t steps,
                                                    BitStream& stream) const {
  NF_TRY(const std::unique_ptr<TrainableModel> model, (*maker_)(*rows_));
  NF_TRY_VOID(descend(
      *model, from, steps, false, [](std::span<float>, std::span<const float>) {}, stream));
  return from;
}

}  // namespace noisefloor::federated
