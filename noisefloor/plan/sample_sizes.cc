#include "noisefloor/plan/sample_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace noisefloor {
namespace {

constexpr std::uint64_t kMaxTotal = std::uint64_t{1} << 53;
constexpr std::uint64_t kMaxPolynomialRounds = std::uint64_t{1} << 20;

}  // namespace

SampleSizes::SampleSizes(std::vector<Stretch> stretches) : stretches_(std::move(stretches)) {
  for (const Stretch& one : stretches_) {
    total_ += one.size * one.rounds;
    rounds_ += one.rounds;
    largest_ = std::max(largest_, one.size);
  }
}

Result<SampleSizes> SampleSizes::constant(std::uint64_t size, std::uint64_t rounds) { return of({{size, rounds}}); }

Result<SampleSizes> SampleSizes::polynomial(std::uint64_t largest, std::uint64_t rounds, double power) {
  if (!(power >= 0) || power > 16) {
    return invalid_argument(fmt::format("sizes grow with a power from 0 to 16 of the round; {} was given", power));
  }
  if (rounds > kMaxPolynomialRounds) {
    return invalid_argument(
        fmt::format("growing sizes are for at most {} rounds; there would be {}", kMaxPolynomialRounds, rounds));
  }
  std::vector<Stretch> stretches;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const double share = static_cast<double>(i + 1) / static_cast<double>(rounds);
    const auto size = static_cast<std::uint64_t>(std::llround(static_cast<double>(largest) * std::pow(share, power)));
    const std::uint64_t whole = std::clamp<std::uint64_t>(size, 1, std::max<std::uint64_t>(largest, 1));
    if (!stretches.empty() && stretches.back().size == whole) {
      ++stretches.back().rounds;
    } else {
      stretches.push_back({whole, 1});
    }
  }
  return of(std::move(stretches));
}

Result<SampleSizes> SampleSizes::for_epochs(Rows rows, double epochs, std::uint64_t largest, double power) {
  if (!(epochs > 0) || !std::isfinite(epochs)) {
    return invalid_argument(fmt::format("the number of epochs must be a finite number above 0; {} was given", epochs));
  }
  const double total = std::ceil(epochs * static_cast<double>(rows.value())) * (1 + power);
  const double rounds = std::ceil(total / static_cast<double>(std::max<std::uint64_t>(largest, 1)));
  if (rounds > static_cast<double>(kMaxTotal)) return invalid_argument(fmt::format("{:g} epochs are too many", epochs));
  const auto whole = static_cast<std::uint64_t>(rounds);
  if (power == 0) return constant(largest, whole);
  // Rounded sizes do not follow the power exactly: correct the number of rounds by what they miss.
  NF_TRY(const SampleSizes near, polynomial(largest, whole, power));
  const double missing = total / (1 + power) / static_cast<double>(near.total());
  return polynomial(largest, static_cast<std::uint64_t>(std::ceil(rounds * missing)), power);
}

std::uint64_t SampleSizes::smallest_for_epochs(Rows rows, double epochs, double power) {
  if (power == 0) return 1;
  const double total = std::ceil(epochs * static_cast<double>(rows.value())) * (1 + power);
  return static_cast<std::uint64_t>(std::ceil(total / static_cast<double>(kMaxPolynomialRounds)));
}

Result<SampleSizes> SampleSizes::of(std::vector<Stretch> stretches) {
  if (stretches.empty()) return invalid_argument("a training has at least one round");
  double total = 0;
  for (const Stretch& one : stretches) {
    if (one.size == 0 || one.rounds == 0) {
      return invalid_argument("sample sizes and numbers of rounds are whole numbers, 1 or above");
    }
    total += static_cast<double>(one.size) * static_cast<double>(one.rounds);
  }
  if (total > static_cast<double>(kMaxTotal)) {
    return invalid_argument(fmt::format("{:.4g} gradients are too many to plan for; the most are 2^53", total));
  }
  return SampleSizes(std::move(stretches));
}

Result<DpEvent> SampleSizes::event(Rows rows, NoiseMultiplier noise, Adjacency adjacency, Draw draw) const {
  std::vector<DpEvent> parts;
  for (const Stretch& one : stretches_) {
    NF_TRY(const Rows size, Rows::make(one.size));
    NF_TRY(const BatchLaw law, BatchLaw::create(draw, rows, size, adjacency));
    NF_TRY(const Steps times, Steps::make(one.rounds));
    parts.push_back(law.run(noise, times));
  }
  if (parts.size() == 1) return parts.front();
  return DpEvent(ComposedEvent{std::move(parts)});
}

}  // namespace noisefloor
