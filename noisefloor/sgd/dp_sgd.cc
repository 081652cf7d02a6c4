#include "noisefloor/sgd/dp_sgd.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/base/overloaded.h"
#include "noisefloor/base/rounding.h"
#include "noisefloor/random/gaussian_vector.h"

namespace noisefloor {
namespace {

// Adaptive clipping keeps the norm between these.
constexpr double kSmallestClip = 1e-12;
constexpr double kLargestClip = 1e12;

double count_noise(const AdaptiveClip& adaptive, const BatchSampler& sampler) {
  return adaptive.count_noise_share * static_cast<double>(sampler.expected_batch().value());
}

Result<void> check(const DpSgd::Options& options, const BatchSampler& sampler) {
  if (options.noise && !options.clip)
    return invalid_argument("noise without clipping protects nothing: give a clip norm");
  if (!(options.averaging >= 0 && options.averaging < 1)) {
    return invalid_argument(fmt::format("averaging must be 0 or above and below 1; {} was given", options.averaging));
  }
  if (options.discrete && (!options.noise || options.adaptive)) {
    return invalid_argument(
        "discrete noise needs a noise multiplier and a fixed clip norm: it does not work with adaptive clipping");
  }
  if (!options.adaptive) return success();
  const AdaptiveClip& adaptive = *options.adaptive;
  if (!options.clip || !std::holds_alternative<FlatClip>(options.clip->kind())) {
    return invalid_argument("adaptive clipping needs one clip norm for the whole gradient to start from");
  }
  if (!(adaptive.quantile > 0 && adaptive.quantile < 1)) {
    return invalid_argument(
        fmt::format("the quantile of adaptive clipping must be above 0 and below 1; {} was given", adaptive.quantile));
  }
  if (!(adaptive.rate > 0) || !std::isfinite(adaptive.rate) || !(adaptive.count_noise_share > 0) ||
      !std::isfinite(adaptive.count_noise_share)) {
    return invalid_argument("the rate and the noise of adaptive clipping must be finite numbers above 0");
  }
  if (options.noise && 2 * count_noise(adaptive, sampler) <= options.noise->value()) {
    return invalid_argument(
        fmt::format("the noise of adaptive clipping's count, {:.6g}, must be above half the noise multiplier, {:.6g}: "
                    "take a larger "
                    "count_noise_share or a larger batch",
                    count_noise(adaptive, sampler), options.noise->value() / 2));
  }
  return success();
}

// The smallest float that is not below `value`.
float float_up(double value) {
  const auto nearest = static_cast<float>(value);
  return static_cast<double>(nearest) < value ? std::nextafter(nearest, HUGE_VALF) : nearest;
}

std::string describe(const ClipRule& rule) {
  return std::visit(Overloaded{[](const FlatClip& clip) { return fmt::format("flat {}", clip.norm.value()); },
                               [](const GroupClip& clip) {
                                 std::string text = "group";
                                 for (const ClipNorm norm : clip.norms) text += fmt::format(" {}", norm.value());
                                 return text;
                               },
                               [](const AutomaticClip& clip) {
                                 return fmt::format("automatic {} {}", clip.norm.value(), clip.gamma);
                               }},
                    rule.kind());
}

std::string bytes_of(const DpSgd::State& state) {
  std::string bytes = fmt::format("{} {} {} {};", state.steps, state.optimizer.steps, state.clip_norm, state.replayed);
  for (const std::vector<float>* numbers :
       {&state.parameters, &state.averaged, &state.optimizer.first, &state.optimizer.second}) {
    bytes += fmt::format("{};", numbers->size());
    bytes.append(reinterpret_cast<const char*>(numbers->data()), numbers->size() * sizeof(float));  // NOLINT: as bytes
  }
  return bytes;
}

std::string describe(const DpSgd::Options& options, const BatchSampler& sampler, const GradientSource& source) {
  std::string text =
      fmt::format("{} parameters; {} of {} {}, {}", source.parameters(), sampler.expected_batch().value(),
                  sampler.rows().value(), plural_of(sampler.unit()), name_of(sampler.adjacency()));
  if (source.people() != nullptr) text += fmt::format("; {} rows of a person", source.people()->rows_each().value());
  text += options.noise ? fmt::format("; noise {}", options.noise->value()) : "; no noise";
  if (options.discrete) text += ", discrete";
  text += "; clip " + (options.clip ? describe(*options.clip) : "none");
  if (options.adaptive) {
    text += fmt::format("; adaptive {} {} {}", options.adaptive->quantile, options.adaptive->rate,
                        options.adaptive->count_noise_share);
  }
  const Optimizer::Options& o = options.optimizer;
  text += fmt::format("; optimizer {} {} {} {} {} {} {}", name_of(o.kind), o.momentum, o.beta1, o.beta2, o.alpha,
                      o.epsilon, o.weight_decay);
  const LearningRate::Options& r = options.learning_rate;
  return text + fmt::format("; rate {} {} {} {} {}; averaging {}", name_of(r.decay), r.initial, r.beta, r.warm_up,
                            r.steps, options.averaging);
}

}  // namespace

DpSgd::DpSgd(Options options, std::string description, BatchSampler sampler, GradientSource& source,
             Optimizer optimizer, LearningRate rate, std::vector<float> initial, WorkerGroup* group)
    : options_(std::move(options)),
      description_(std::move(description)),
      sampler_(std::move(sampler)),
      source_(&source),
      group_(group),
      optimizer_(std::move(optimizer)),
      rate_(rate),
      parameters_(std::move(initial)),
      sum_(parameters_.size() + (group != nullptr ? 2 : 0)) {
  if (options_.averaging > 0) averaged_ = parameters_;
}

Result<DpSgd> DpSgd::create(Options options, BatchSampler sampler, GradientSource& source, std::vector<float> initial,
                            WorkerGroup* group) {
  NF_TRY_VOID(check(options, sampler));
  if (initial.size() != source.parameters()) {
    return invalid_argument(
        fmt::format("the model has {} parameters; {} were given", source.parameters(), initial.size()));
  }
  if (sampler.unit() != source.unit()) {
    return invalid_argument(
        fmt::format("the sampler draws {}, but gradients are clipped by {}; use the same unit for both",
                    plural_of(sampler.unit()), name_of(source.unit())));
  }
  // How many they are may be private.
  if (sampler.population() != source.examples()) {
    return invalid_argument("the sampler must draw from as many examples as the data have");
  }
  if (options.clip) {
    if (const auto* groups = std::get_if<GroupClip>(&options.clip->kind());
        groups != nullptr && groups->norms.size() != source.groups()) {
      return invalid_argument(fmt::format("the model has {} layers with parameters; {} clip norms were given",
                                          source.groups(), groups->norms.size()));
    }
  }
  NF_TRY(Optimizer optimizer, Optimizer::create(options.optimizer, initial.size()));
  NF_TRY(const LearningRate rate, LearningRate::create(options.learning_rate));
  std::string text = describe(options, sampler, source);
  if (group != nullptr) {
    if (options.discrete && group->size() > 1) {
      return invalid_argument(
          "several workers cannot share discrete noise: a sum of such noise has another law, and is not exact in "
          "floating-point. Train with one worker, or without discrete noise");
    }
    NF_TRY_VOID(expect_agreement(*group, "the training", text));
    NF_TRY(sampler, sampler.shard(group->rank(), group->size()));
    NF_TRY_VOID(broadcast(*group, initial));
  }
  DpSgd sgd(std::move(options), std::move(text), std::move(sampler), source, std::move(optimizer), rate,
            std::move(initial), group);
  if (sgd.options_.discrete) {
    const std::size_t size = sgd.parameters_.size();
    NF_TRY(const GradientGrid grid, GradientGrid::create(sgd.options_.clip->sensitivity(), size));
    NF_TRY(const NoiseScale sigma, grid.sigma(*sgd.options_.noise));
    NF_TRY(DiscreteGaussian noise, DiscreteGaussian::create(sigma));
    sgd.lattice_ = Lattice{grid, std::move(noise), std::vector<std::int64_t>(size), std::vector<std::int64_t>(size)};
  }
  return sgd;
}

// The sum and the centred count are one Gaussian release: 1/z² = 1/z_sum² + 1/(2 σ_count)², because one example moves
// the count by at most one half.
double DpSgd::noise_on_sum() const {
  const double z = options_.noise->value();
  if (!options_.adaptive) return z;
  const double count = z / (2 * count_noise(*options_.adaptive, sampler_));
  return z / std::sqrt(1 - count * count) * (1 + 0x1p-50);
}

float DpSgd::own_noise(double total) const {
  if (group_ == nullptr || group_->size() == 1) return float_up(total);
  // The root may be too large by half a unit in its last place.
  return float_up(next_up(divided_up(total, std::sqrt(static_cast<double>(group_->size())))));
}

Result<std::size_t> DpSgd::noisy_sum(std::span<const std::uint64_t> examples, BitStream& stream) {
  if (lattice_) {
    NF_TRY_VOID(discrete_sum(examples, stream));
    return std::size_t{0};
  }
  std::fill(sum_.begin(), sum_.end(), 0.0F);
  const std::span<float> sum = std::span(sum_).first(parameters_.size());
  const ClipRule* rule = options_.clip ? &*options_.clip : nullptr;
  NF_TRY(const std::size_t within, source_->add(parameters_, examples, rule, stream, sum));
  if (options_.noise) {
    add_gaussian(stream, sum, own_noise(times_up(noise_on_sum(), options_.clip->sensitivity().value())));
  }
  return within;
}

Result<void> DpSgd::discrete_sum(std::span<const std::uint64_t> examples, BitStream& stream) {
  auto& [grid, noise, sum, draws] = *lattice_;
  std::fill(sum.begin(), sum.end(), 0);
  NF_TRY_VOID(source_->add_on_grid(parameters_, examples, *options_.clip, grid, stream, sum));
  noise.fill(stream, draws);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    sum_[i] = static_cast<float>(static_cast<double>(sum[i] + draws[i]) * grid.step());
  }
  return success();
}

Result<void> DpSgd::step(BitStream& stream) {
  const std::vector<std::uint64_t> examples = sampler_.draw(stream);
  NF_TRY(const std::size_t within, noisy_sum(examples, stream));
  float count = options_.adaptive ? noisy_count(within, examples.size(), stream) : 0;
  if (group_ != nullptr) NF_TRY_VOID(exchange(count));
  const std::span<float> sum = std::span(sum_).first(parameters_.size());
  const float share = 1.0F / static_cast<float>(sampler_.expected_batch().value());
  for (float& x : sum) x *= share;
  if (options_.adaptive) adapt(count);
  optimizer_.step(parameters_, sum, rate_.at(steps_));
  ++steps_;
  if (options_.averaging > 0) {
    // Early on the average forgets faster; otherwise the initial weights would dominate it.
    const auto t = static_cast<double>(steps_);
    const auto kept = static_cast<float>(std::min(options_.averaging, (1 + t) / (10 + t)));
    for (std::size_t i = 0; i < averaged_.size(); ++i) averaged_[i] = kept * averaged_[i] + (1 - kept) * parameters_[i];
  }
  return success();
}

Result<void> DpSgd::exchange(float& count) {
  const std::span<float> behind = std::span(sum_).last(2);
  behind[0] = count;
  behind[1] = replayed_ ? 1.0F : 0.0F;
  NF_TRY_VOID(group_->sum(sum_));
  count = behind[0];
  replayed_ = behind[1] != 0;
  return success();
}

float DpSgd::noisy_count(std::size_t within, std::size_t drawn, BitStream& stream) const {
  std::array<float, 1> noise{};
  if (options_.noise) fill_gaussian(stream, noise, own_noise(count_noise(*options_.adaptive, sampler_)));
  return static_cast<float>(static_cast<double>(within) - static_cast<double>(drawn) / 2 +
                            static_cast<double>(noise[0]));
}

void DpSgd::adapt(float count) {
  const AdaptiveClip& adaptive = *options_.adaptive;
  const double share = static_cast<double>(count) / static_cast<double>(sampler_.expected_batch().value()) + 0.5;
  set_clip_norm(
      std::clamp(clip_norm() * std::exp(-adaptive.rate * (share - adaptive.quantile)), kSmallestClip, kLargestClip));
}

void DpSgd::set_clip_norm(double norm) {
  auto next = ClipNorm::make(norm);
  NF_CHECK(next.has_value(), "a norm between the smallest and the largest is a clip norm");
  auto rule = ClipRule::create(FlatClip{next.value()});
  NF_CHECK(rule.has_value(), "a clip norm makes a rule");
  options_.clip = std::move(rule).value();
}

Result<void> DpSgd::move_to(std::span<const float> parameters) {
  if (parameters.size() != parameters_.size()) {
    return invalid_argument(
        fmt::format("the model has {} parameters; {} were given", parameters_.size(), parameters.size()));
  }
  std::copy(parameters.begin(), parameters.end(), parameters_.begin());
  return success();
}

DpSgd::State DpSgd::state() const {
  return {steps_, parameters_, averaged_, optimizer_.state(), clip_norm(), replayed_};
}

Result<void> DpSgd::restore(State state) {
  if (state.parameters.size() != parameters_.size() || state.averaged.size() != averaged_.size()) {
    return invalid_argument(
        fmt::format("the state comes from a training of {} parameters, with an average of {}; this one has {} and {}",
                    state.parameters.size(), state.averaged.size(), parameters_.size(), averaged_.size()));
  }
  const bool clip_fits = options_.adaptive ? state.clip_norm >= kSmallestClip && state.clip_norm <= kLargestClip
                                           : state.clip_norm == clip_norm();
  if (!clip_fits || state.optimizer.steps != state.steps) {
    return invalid_argument("the state comes from a training with another clip norm or another optimizer");
  }
  if (group_ != nullptr) NF_TRY_VOID(expect_agreement(*group_, "the state to go on from", bytes_of(state)));
  NF_TRY_VOID(optimizer_.restore(std::move(state.optimizer)));
  if (options_.adaptive) set_clip_norm(state.clip_norm);
  parameters_ = std::move(state.parameters);
  averaged_ = std::move(state.averaged);
  steps_ = state.steps;
  replayed_ = replayed_ || state.replayed;
  return success();
}

double DpSgd::clip_norm() const {
  if (!options_.clip) return 0;
  return options_.clip->sensitivity().value();
}

DpEvent DpSgd::event_of_step() const {
  if (replayed_) return NonPrivateEvent{"replayed with a known seed"};
  if (!options_.noise) return NonPrivateEvent{"trained without noise"};
  auto event = event_of_step(sampler_, *options_.noise, *options_.clip, options_.discrete, parameters_.size());
  NF_CHECK(event.has_value(), "the grid was made before");
  return std::move(event).value();
}

Result<DpEvent> DpSgd::event_of_step(const BatchSampler& sampler, NoiseMultiplier noise, const ClipRule& clip,
                                     bool discrete, std::size_t parameters) {
  if (!discrete) return sampler.event(noise);
  NF_TRY(const GradientGrid grid, GradientGrid::create(clip.sensitivity(), parameters));
  NF_TRY(DpEvent event, grid.event(noise, sampler.reach()));
  return sampler.event(std::move(event));
}

DpEvent DpSgd::event(Steps steps) const { return SelfComposedEvent{steps, event_of_step()}; }

}  // namespace noisefloor
