// How far one privacy unit can move an answer. Each helper names the neighbouring relation that it holds for, and
// refuses where there is no bound.
//
//   query                          add-remove                    replace-one
//   count                          m                             m
//   sum of values in [a, b]        m · max(|a|, |b|)             b − a, and m · max(|a|, |b|, b − a) for m > 1
//   mean of n values in [a, b]     refused: n is private         (b − a) / n, refused for m > 1
//   variance of n values in [a, b] refused: n is private         (b − a)² / n, refused for m > 1
//   histogram (k bins a row)       L1 m·k,  L2 m·√k              L1 2·m·k,  L2 m·√(2k)
//   max of values in [a, b]        b − a                         b − a
//   sum of gradients clipped to C  m · C (L2)                    2 · m · C (L2)
//
// m is the number of rows that one unit can contribute: 1 for rows, a bound that the caller enforces for persons. A
// person of up to m > 1 rows may be exchanged for one with more rows or fewer: then the number of rows is private. The
// histogram's L2 is for rows that fall into k different bins each; m rows of a person may meet in one bin.
#pragma once

#include <string_view>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"

namespace noisefloor {

// Public bounds of a value: finite, lower < upper. They must not be taken from the data.
class Bounds {
 public:
  [[nodiscard]] static Result<Bounds> make(double lower, double upper);

  [[nodiscard]] double lower() const { return lower_; }
  [[nodiscard]] double upper() const { return upper_; }
  [[nodiscard]] double width() const;  // rounded up
  [[nodiscard]] double middle() const { return lower_ + (upper_ - lower_) / 2; }
  [[nodiscard]] double largest_magnitude() const;

  // `value` moved into the bounds. NaN becomes the bound or 0, whichever is nearest to 0: a public constant.
  [[nodiscard]] double clamp(double value) const;

 private:
  Bounds(double lower, double upper) : lower_(lower), upper_(upper) {}
  double lower_;
  double upper_;
};

// Whose change is meant, and how many rows that can touch.
struct Neighbours {
  Adjacency adjacency = Adjacency::kAddRemove;
  PrivacyUnit unit = PrivacyUnit::kRow;
  Rows rows_per_unit = Rows::of(1);  // 1 for rows
};

struct Sensitivity {
  Neighbours neighbours;
  L1Sensitivity l1;
  L2Sensitivity l2;

  // The sensitivity of a single number, where both norms agree. `change` is how far one unit can move it.
  [[nodiscard]] static Result<Sensitivity> of_scalar(Neighbours neighbours, double change);
  // The sensitivity of a vector.
  [[nodiscard]] static Result<Sensitivity> of_vector(Neighbours neighbours, double l1, double l2);
};

[[nodiscard]] Result<Sensitivity> count_sensitivity(Neighbours neighbours);
[[nodiscard]] Result<Sensitivity> sum_sensitivity(Neighbours neighbours, Bounds bounds);
[[nodiscard]] Result<Sensitivity> mean_sensitivity(Neighbours neighbours, Bounds bounds, Rows rows);
[[nodiscard]] Result<Sensitivity> variance_sensitivity(Neighbours neighbours, Bounds bounds, Rows rows);
[[nodiscard]] Result<Sensitivity> histogram_sensitivity(Neighbours neighbours, std::uint64_t bins_per_row = 1);
// Refuses where the number of rows is private: under add-remove, and for persons of several rows. Mechanisms that
// divide by it ask this first.
[[nodiscard]] Result<void> check_rows_are_public(Neighbours neighbours, std::string_view query);
[[nodiscard]] Result<Sensitivity> max_sensitivity(Neighbours neighbours, Bounds bounds);
// Refuses replace-one, under which answers that rise with every added unit may rise and fall at once: mechanisms that
// need less noise for monotonic answers ask this first.
[[nodiscard]] Result<void> check_monotonic(Adjacency adjacency);

[[nodiscard]] Result<Sensitivity> clipped_gradient_sensitivity(Neighbours neighbours, ClipNorm clip,
                                                               Dimension dimension);

}  // namespace noisefloor
