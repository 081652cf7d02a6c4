// The quantities that privacy is stated in, each a type of its own. Start here.
//
// Every one rejects NaN, infinities and values out of its range at construction, with a message that names the value.
//   Epsilon::make(x)   → Result<Epsilon>, for numbers that come from outside
//   Epsilon::of(0.5)   → Epsilon, for constants; a bad constant does not compile
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "noisefloor/base/quantity.h"

namespace noisefloor {

namespace spec {

struct PositiveReal {
  using Value = double;
  static constexpr std::string_view requirement = "a finite number above 0";
  static constexpr bool holds(double v) { return v > 0 && v <= std::numeric_limits<double>::max(); }
};

struct NonNegativeReal {
  using Value = double;
  static constexpr std::string_view requirement = "a finite number, 0 or above";
  static constexpr bool holds(double v) { return v >= 0 && v <= std::numeric_limits<double>::max(); }
};

struct PositiveCount {
  using Value = std::uint64_t;
  static constexpr std::string_view requirement = "a whole number, 1 or above";
  static constexpr bool holds(std::uint64_t v) { return v >= 1; }
};

struct Epsilon : PositiveReal {
  static constexpr std::string_view name = "epsilon";
};
struct PrivacyLoss : NonNegativeReal {
  static constexpr std::string_view name = "privacy loss";
};
struct Delta {
  using Value = double;
  static constexpr std::string_view name = "delta";
  static constexpr std::string_view requirement = "0 or above and below 1";
  static constexpr bool holds(double v) { return v >= 0 && v < 1; }
};
struct Rho : NonNegativeReal {
  static constexpr std::string_view name = "rho";
};
struct NoiseMultiplier : PositiveReal {
  static constexpr std::string_view name = "noise multiplier";
};
struct NoiseScale : PositiveReal {
  static constexpr std::string_view name = "noise scale";
};
struct NoiseVariance : PositiveReal {
  static constexpr std::string_view name = "noise variance";
};
struct SamplingRate {
  using Value = double;
  static constexpr std::string_view name = "sampling rate";
  static constexpr std::string_view requirement = "above 0 and at most 1";
  static constexpr bool holds(double v) { return v > 0 && v <= 1; }
};
struct L1Sensitivity : PositiveReal {
  static constexpr std::string_view name = "L1 sensitivity";
};
struct L2Sensitivity : PositiveReal {
  static constexpr std::string_view name = "L2 sensitivity";
};
struct LInfSensitivity : PositiveReal {
  static constexpr std::string_view name = "L-infinity sensitivity";
};
struct ClipNorm : PositiveReal {
  static constexpr std::string_view name = "clip norm";
};
struct Confidence {
  using Value = double;
  static constexpr std::string_view name = "confidence";
  static constexpr std::string_view requirement = "above 0 and below 1";
  static constexpr bool holds(double v) { return v > 0 && v < 1; }
};
struct Rows : PositiveCount {
  static constexpr std::string_view name = "number of rows";
};
struct Steps : PositiveCount {
  static constexpr std::string_view name = "number of steps";
};
struct Dimension : PositiveCount {
  static constexpr std::string_view name = "dimension";
};
struct Contributors : PositiveCount {
  static constexpr std::string_view name = "number of contributors";
};
struct RunShape {
  using Value = double;
  static constexpr std::string_view name = "shape of the number of runs";
  static constexpr std::string_view requirement = "a finite number above -1";
  static constexpr bool holds(double v) { return v > -1 && v <= std::numeric_limits<double>::max(); }
};
struct RunGamma {
  using Value = double;
  static constexpr std::string_view name = "gamma of the number of runs";
  static constexpr std::string_view requirement = "above 0 and below 1";
  static constexpr bool holds(double v) { return v > 0 && v < 1; }
};
struct MeanRuns : PositiveReal {
  static constexpr std::string_view name = "mean number of runs";
};
struct Categories {
  using Value = std::uint64_t;
  static constexpr std::string_view name = "number of categories";
  static constexpr std::string_view requirement = "a whole number, 2 or above";
  static constexpr bool holds(std::uint64_t v) { return v >= 2; }
};

}  // namespace spec

// The ε that a mechanism is asked to keep or a budget allows. Above 0.
using Epsilon = Quantity<spec::Epsilon>;
// An ε that was computed or is claimed: what something cost. May be 0.
using PrivacyLoss = Quantity<spec::PrivacyLoss>;
// The δ of (ε, δ)-DP, in [0, 1). 0 is pure DP.
using Delta = Quantity<spec::Delta>;
// The ρ of zero-concentrated DP.
using Rho = Quantity<spec::Rho>;
// Noise scale divided by sensitivity: σ/Δ₂ for Gaussians, b/Δ₁ for Laplace.
using NoiseMultiplier = Quantity<spec::NoiseMultiplier>;
// Absolute noise: a standard deviation or a Laplace scale, in the units of the answer.
using NoiseScale = Quantity<spec::NoiseScale>;
using NoiseVariance = Quantity<spec::NoiseVariance>;
// Probability that a record takes part in one step.
using SamplingRate = Quantity<spec::SamplingRate>;
// How far one privacy unit can move an answer, in each norm.
using L1Sensitivity = Quantity<spec::L1Sensitivity>;
using L2Sensitivity = Quantity<spec::L2Sensitivity>;
using LInfSensitivity = Quantity<spec::LInfSensitivity>;
// The L2 norm to which each example's gradient is clipped.
using ClipNorm = Quantity<spec::ClipNorm>;
// Probability with which an interval covers the truth, in (0, 1).
using Confidence = Quantity<spec::Confidence>;
using Rows = Quantity<spec::Rows>;
using Steps = Quantity<spec::Steps>;
using Dimension = Quantity<spec::Dimension>;
inline constexpr Dimension kScalar = Dimension::of(1);
using Contributors = Quantity<spec::Contributors>;
// How often a mechanism is tried before the best result is chosen: the parameters η and γ of a truncated negative
// binomial number, or the mean of a Poisson number.
using RunShape = Quantity<spec::RunShape>;
using RunGamma = Quantity<spec::RunGamma>;
using MeanRuns = Quantity<spec::MeanRuns>;
using Categories = Quantity<spec::Categories>;
inline constexpr Categories kTwoCategories = Categories::of(2);

// Which data sets count as neighbours: they differ by
enum class Adjacency : std::uint8_t {
  kAddRemove,   // one unit being there or not (the number of units is private)
  kReplaceOne,  // one unit's data being exchanged for any other (the number of units is public)
};

// Whose data is protected: what "one" means in the adjacency.
enum class PrivacyUnit : std::uint8_t {
  kRow,     // one row
  kPerson,  // all rows of one person
};

[[nodiscard]] std::string_view name_of(Adjacency adjacency);  // "add-remove", "replace-one"
[[nodiscard]] std::string_view name_of(PrivacyUnit unit);     // "row", "person"
[[nodiscard]] Result<Adjacency> parse_adjacency(std::string_view text);
[[nodiscard]] Result<PrivacyUnit> parse_privacy_unit(std::string_view text);

}  // namespace noisefloor
