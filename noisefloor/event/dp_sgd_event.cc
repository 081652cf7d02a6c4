#include "noisefloor/event/dp_sgd_event.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "noisefloor/base/check.h"

namespace noisefloor {
namespace {

constexpr std::uint64_t kManySteps = std::uint64_t{1} << 62;  // more than any accountant takes

Result<SamplingRate> rate_of(Rows rows, Rows batch) {
  if (batch.value() > rows.value()) {
    return invalid_argument(fmt::format("a batch of {} is larger than the data, {} rows; the largest batch is {}",
                                        batch.value(), rows.value(), rows.value()));
  }
  return SamplingRate::make(static_cast<double>(batch.value()) / static_cast<double>(rows.value()));
}

}  // namespace

std::string_view name_of(Draw draw) { return draw == Draw::kPoisson ? "poisson" : "fixed-size"; }

BatchLaw BatchLaw::poisson(SamplingRate rate, Adjacency adjacency) { return {rate, adjacency}; }

Result<BatchLaw> BatchLaw::poisson(Rows rows, Rows expected_batch, Adjacency adjacency) {
  NF_TRY(const SamplingRate rate, rate_of(rows, expected_batch));
  return poisson(rate, adjacency);
}

Result<BatchLaw> BatchLaw::fixed_size(Rows rows, Rows batch, Adjacency adjacency) {
  NF_TRY_VOID(rate_of(rows, batch));
  if (adjacency != Adjacency::kReplaceOne) {
    return invalid_argument(
        "batches of fixed size are for replace-one neighbours: no batch of a given size exists with and without a row. "
        "Use adjacency \"replace-one\" or sampler \"poisson\"");
  }
  return BatchLaw(FixedSize{batch, rows}, adjacency);
}

Result<BatchLaw> BatchLaw::create(Draw draw, Rows rows, Rows batch, Adjacency adjacency) {
  return draw == Draw::kPoisson ? poisson(rows, batch, adjacency) : fixed_size(rows, batch, adjacency);
}

Draw BatchLaw::draw() const { return std::holds_alternative<SamplingRate>(kind_) ? Draw::kPoisson : Draw::kFixedSize; }

SamplingRate BatchLaw::rate() const {
  if (const auto* rate = std::get_if<SamplingRate>(&kind_)) return *rate;
  const auto& fixed = std::get<FixedSize>(kind_);
  const Result<SamplingRate> rate = rate_of(fixed.rows, fixed.batch);
  NF_CHECK(rate.has_value(), "the batch is not larger than the data");
  return rate.value();
}

DpEvent BatchLaw::step(NoiseMultiplier noise) const {
  const double share = noise.value() / reach();
  const Result<NoiseMultiplier> multiplier = NoiseMultiplier::make(share);
  // Dividing a subnormal number may round up, which would promise more noise than there is.
  if (!multiplier.has_value() || share * reach() != noise.value()) return NonPrivateEvent{"hardly any noise"};
  return step_with(GaussianEvent{multiplier.value()});
}

DpEvent BatchLaw::run(NoiseMultiplier noise, Steps steps) const { return SelfComposedEvent{steps, step(noise)}; }

DpEvent BatchLaw::step_with(DpEvent noise) const {
  if (const auto* rate = std::get_if<SamplingRate>(&kind_)) return PoissonSampledEvent{*rate, std::move(noise)};
  const auto& fixed = std::get<FixedSize>(kind_);
  return FixedSizeSampledEvent{fixed.batch, fixed.rows, std::move(noise)};
}

Result<Steps> steps_for_epochs(double epochs, SamplingRate rate) {
  if (!(epochs > 0 && epochs < 1e12)) {
    return invalid_argument(fmt::format("the number of epochs must be above 0 and below 1e12; got {}", epochs));
  }
  // The margin keeps a whole quotient whole.
  const double steps = std::ceil(epochs / rate.value() * (1 - 1e-12));
  return Steps::make(steps < static_cast<double>(kManySteps) ? static_cast<std::uint64_t>(steps) : kManySteps);
}

}  // namespace noisefloor
