// Which private groups may be named, by a noised number of units in each: three rules, of which the one is taken that
// names the smallest groups. The noised number may be released with the name, for the same cost.
//
//   truncated-geometric   best for units in few groups           (Desfontaines, Voss, Gipson, Mandayam 2020)
//   laplace               a threshold on Laplace noise           (Korolova, Kenthapadi, Mishra, Ntoulas 2009)
//   gaussian              a threshold on Gaussian noise: best for units in many groups
//
// Guarantee:     the certified ε of event() at the stated δ is at most the stated ε, for neighbours of the stated
//                relation, where one unit is in at most `groups` groups and counts once in each. What is released may
//                be the names of the kept groups and their noised numbers. A group without units is never kept.
// Argument:      groups that both neighbours have are a vector of noised numbers, of which `groups` differ by 1 (twice
//                as many under replace-one). A group that one of them alone has holds one unit there: it is kept with a
//                probability of at most p, and any of them with 1 − (1 − p)^groups, which is a part that fails with
//                that probability and tells nothing otherwise. Truncated noise has both in one law: shifted by 1, its
//                probabilities differ by e^ε, and by δ at its end.
// Exact:         whole noise and whole thresholds, rounded to the safe side.
// Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/base/wide_int.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/query/error_law.h"
#include "noisefloor/random/discrete_gaussian.h"
#include "noisefloor/random/discrete_laplace.h"

namespace noisefloor::query {

enum class KeyRule : std::uint8_t { kTruncatedGeometric, kLaplace, kGaussian };

[[nodiscard]] std::string_view name_of(KeyRule rule);  // "truncated-geometric", "laplace", "gaussian"

struct KeyTerms {
  Epsilon epsilon;
  Delta delta;               // above 0
  std::uint64_t groups = 1;  // that one unit is in
  Adjacency adjacency = Adjacency::kAddRemove;
};

class KeySelection {
 public:
  [[nodiscard]] static Result<KeySelection> create(const KeyTerms& terms, KeyRule rule);
  // The rule with the fewest units for a 50 % chance.
  [[nodiscard]] static Result<KeySelection> best(const KeyTerms& terms);

  // The noised number of units, if the group is kept.
  [[nodiscard]] std::optional<std::int64_t> keep(std::uint64_t units, BitStream& stream) const;

  [[nodiscard]] const DpEvent& event() const { return event_; }
  [[nodiscard]] KeyRule rule() const { return rule_; }
  [[nodiscard]] const KeyTerms& terms() const { return terms_; }
  // Groups are kept whose noised number is at least this.
  [[nodiscard]] double threshold() const;
  [[nodiscard]] double keep_probability(std::uint64_t units) const;
  // The fewest units with which a group is more likely kept than not.
  [[nodiscard]] std::uint64_t fewest_units() const;
  // The law of the noise on the number of units, before the threshold.
  [[nodiscard]] ErrorLaw error() const;

 private:
  KeySelection(KeyRule rule, const KeyTerms& terms) : rule_(rule), terms_(terms), event_(ZeroCostEvent{}) {}

  [[nodiscard]] Result<void> set_laplace();
  [[nodiscard]] Result<void> set_geometric();
  [[nodiscard]] Result<void> set_gaussian();
  // With this share of δ for groups that one neighbour alone has. The sampler takes a millisecond to set up.
  [[nodiscard]] Result<void> set_gaussian(double share, bool with_sampler);
  // The groups that neighbours differ in.
  [[nodiscard]] std::uint64_t changed() const;

  KeyRule rule_;
  KeyTerms terms_;
  DpEvent event_;
  std::optional<DiscreteLaplace> laplace_;    // of the two rules that have it
  std::optional<DiscreteGaussian> gaussian_;  // in steps of 2^-bits_
  int bits_ = 0;
  std::int64_t truncation_ = 0;  // |noise| of the truncated law is at most this
  Int128 threshold_ = 1;         // in steps
};

}  // namespace noisefloor::query
