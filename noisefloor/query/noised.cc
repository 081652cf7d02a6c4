#include "noisefloor/query/noised.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/random/discrete_gaussian.h"
#include "noisefloor/random/discrete_laplace.h"

namespace noisefloor::query {
namespace {

using engine::MeasuredGroup;

// Above so many draws a table of the law pays.
constexpr std::size_t kFewDraws = 64;

// What is drawn for one number: a whole number of fine steps.
using Draw = std::function<std::int64_t()>;

// The samplers of a plan.
class Sampler {
 public:
  Sampler(const Plan& plan, const PlanNoise& noise, std::size_t groups, BitStream* stream)
      : plan_(plan), noise_(noise), stream_(stream) {
    for (std::size_t i = 0; i < noise.quantities.size(); ++i) add(noise.quantities[i], plan.quantities[i], groups);
  }

  [[nodiscard]] std::optional<std::int64_t> keep(std::uint64_t units) const {
    if (stream_ != nullptr) return noise_.keys->keep(units, *stream_);
    if (static_cast<double>(units) < noise_.keys->threshold()) return std::nullopt;
    return static_cast<std::int64_t>(units);
  }

  // The noised total in steps.
  [[nodiscard]] std::int64_t total(std::size_t quantity, Int128 exact) const {
    const QuantityNoise& noise = noise_.quantities[quantity];
    Int128 value = saturating_shift(exact, noise.fine_bits);
    if (stream_ != nullptr) value = saturating_add(value, draws_[quantity]());
    if (noise.fine_bits == 0) return saturate_to_int64(value);
    const Int128 half = Int128{1} << (noise.fine_bits - 1);
    return saturate_to_int64(saturating_add(value, half) >> noise.fine_bits);
  }

  [[nodiscard]] std::int64_t quantile(std::size_t quantity,
                                      const std::vector<std::pair<std::int64_t, std::uint64_t>>& values) const {
    std::vector<CountedValue> counted;
    counted.reserve(values.size());
    for (const auto& [value, times] : values) counted.push_back({value, times});
    if (stream_ != nullptr) return quantiles_[quantity]->choose(counted, *stream_);
    return exact_quantile(plan_.quantities[quantity], counted);
  }

 private:
  static Int128 saturating_shift(Int128 value, int bits) {
    const Int128 most = kInt128Max >> bits;
    return std::clamp(value, -most, most) * (Int128{1} << bits);
  }

  void add(const QuantityNoise& noise, const Quantity& quantity, std::size_t groups) {
    draws_.emplace_back();
    quantiles_.emplace_back();
    switch (noise.kind) {
      case QuantityNoise::Kind::kKeySelection:
        return;
      case QuantityNoise::Kind::kExponential:
        quantiles_.back() =
            CountedQuantile::create(quantile_terms(plan_, quantity), Epsilon::make(noise.epsilon).value()).value();
        return;
      case QuantityNoise::Kind::kLaplace: {
        const DiscreteLaplace law = DiscreteLaplace::create(NoiseScale::make(noise.scale).value()).value();
        draws_.back() = [law, this] { return law.sample(*stream_); };
        return;
      }
      case QuantityNoise::Kind::kGaussian: {
        const NoiseScale sigma = NoiseScale::make(noise.scale).value();
        if (groups <= kFewDraws) {
          draws_.back() = [sigma, this] { return sample_discrete_gaussian(*stream_, sigma).value(); };
          return;
        }
        auto law = std::make_shared<const DiscreteGaussian>(DiscreteGaussian::create(sigma).value());
        draws_.back() = [law, this] { return law->sample(*stream_); };
        return;
      }
    }
  }

  static std::int64_t exact_quantile(const Quantity& quantity, std::vector<CountedValue> values) {
    std::sort(values.begin(), values.end(),
              [](const CountedValue& a, const CountedValue& b) { return a.value < b.value; });
    std::uint64_t count = 0;
    for (const CountedValue& one : values) count += one.times;
    double below = 0;
    for (const CountedValue& one : values) {
      below += static_cast<double>(one.times);
      if (below >= quantity.level * static_cast<double>(count) && below > 0) {
        return std::clamp(one.value, quantity.lower, quantity.upper);
      }
    }
    return quantity.lower;
  }

  const Plan& plan_;
  const PlanNoise& noise_;
  BitStream* stream_;
  std::vector<Draw> draws_;
  std::vector<std::optional<CountedQuantile>> quantiles_;
};

// The number of units of a group: of its own where the engine counts units, and else the rows.
std::uint64_t units_of(const Plan& plan, const MeasuredGroup& group) {
  if (plan.measurement.unit) return group.units;
  const Int128 rows = group.totals.back();  // measurement_of asks for it
  return rows > 0 ? static_cast<std::uint64_t>(rows) : 0;
}

// Without a stream, nothing is added.
NoisedGroups with_noise(const Plan& plan, const PlanNoise& noise, const engine::Measured& measured, BitStream* stream) {
  NF_CHECK(noise.quantities.size() == plan.quantities.size(), "a split of another plan");
  const Sampler sampler(plan, noise, measured.groups.size(), stream);
  NoisedGroups made;
  for (std::size_t i = 0; i < plan.quantities.size(); ++i) {
    made.errors.push_back(noise.quantities[i].error);
    made.has_error.push_back(noise.quantities[i].kind != QuantityNoise::Kind::kExponential);
  }
  for (const MeasuredGroup& group : measured.groups) {
    std::optional<std::int64_t> units;
    if (plan.private_keys) {
      units = sampler.keep(units_of(plan, group));
      if (!units) continue;
    }
    NoisedGroup one{.keys = group.keys};
    std::size_t lists = 0;
    for (std::size_t i = 0; i < plan.quantities.size(); ++i) {
      const Quantity& quantity = plan.quantities[i];
      std::int64_t steps = 0;
      if (noise.quantities[i].kind == QuantityNoise::Kind::kKeySelection) {
        steps = *units;
      } else if (quantity.kind == Quantity::Kind::kQuantile) {
        steps = sampler.quantile(i, group.values[lists]);
      } else {
        steps = sampler.total(i, group.totals[quantity.aggregate]);
      }
      if (quantity.kind == Quantity::Kind::kQuantile) ++lists;
      one.numbers.push_back(static_cast<double>(steps) * quantity.step);
    }
    made.groups.push_back(std::move(one));
  }
  return made;
}

}  // namespace

engine::Measurement measurement_of(const Plan& plan, Secret32 order_key) {
  const engine::Measurement& from = plan.measurement;
  engine::Measurement made{from.rows,   from.unit,       from.one_row_per_unit, from.keys,
                           from.listed, from.aggregates, from.bounding,         std::move(order_key)};
  // Where every row is a unit of its own, engines count no units.
  if (plan.private_keys && !made.unit) made.aggregates.push_back({engine::Aggregate::Kind::kRows});
  return made;
}

Result<NoisedGroups> measure_with_noise(const Plan& plan, const PlanNoise& noise, engine::Engine& engine,
                                        BitStream& stream) {
  Secret32 order_key;
  stream.fill(std::as_writable_bytes(std::span(order_key.bytes())));
  NF_TRY(const engine::Measured measured, engine.measure(measurement_of(plan, std::move(order_key))));
  return with_noise(plan, noise, measured, &stream);
}

NoisedGroups noise_alone(const Plan& plan, const PlanNoise& noise, BitStream& stream) {
  engine::Measured empty;
  if (!plan.private_keys) {
    const std::vector<std::vector<engine::Cell>> one{{}};
    const auto quantiles = std::count_if(plan.quantities.begin(), plan.quantities.end(), [](const Quantity& quantity) {
      return quantity.kind == Quantity::Kind::kQuantile;
    });
    for (const std::vector<engine::Cell>& keys : plan.measurement.listed ? *plan.measurement.listed : one) {
      MeasuredGroup group{.keys = keys, .totals = std::vector<Int128>(plan.measurement.aggregates.size(), 0)};
      group.values.resize(static_cast<std::size_t>(quantiles));
      empty.groups.push_back(std::move(group));
    }
  }
  return with_noise(plan, noise, empty, &stream);
}

Result<UnnoisedGroups> measure_with_noise(const Plan& plan, const PlanNoise& noise, engine::Engine& engine,
                                          const WithoutNoise& none) {
  Secret32 order_key;
  for (std::size_t i = 0; i < 8; ++i) order_key.bytes()[i] = static_cast<std::uint8_t>(none.order >> (8 * i));
  UnnoisedGroups made;
  NF_TRY(made.exact, engine.measure(measurement_of(plan, std::move(order_key))));
  made.groups = with_noise(plan, noise, made.exact, nullptr);
  return made;
}

}  // namespace noisefloor::query
