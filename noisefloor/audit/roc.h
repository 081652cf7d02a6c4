// How well scores tell members from others: the ROC curve of an attack on membership, with its uncertainty.
//
// Guarantee:     ties count a half in the area, and a whole threshold at once in the curve: no order of equal scores
//                flatters an attack. Intervals are Clopper and Pearson's; found_at() refuses rates of false alarms that
//                fewer than 10 of the others would decide.
// Requires:      members and others come from the same source; scores of one model that was trained with coins that
//                depend on each other give intervals that are too narrow.
// Not covered:   a small area is no promise of privacy: it says what this attack found.
// Thread safety: const after construction.
#pragma once

#include <span>
#include <vector>

#include "noisefloor/audit/two_worlds.h"

namespace noisefloor::audit {

struct RocPoint {
  double false_alarms;
  double found;
};

struct FoundAt {
  double false_alarms;  // the rate that was asked for
  double found;         // of members above the threshold that keeps the rate of false alarms at most there
  Interval between;     // of the share found, for the stated confidence and this threshold
};

class Roc {
 public:
  // Larger scores for members. A score that is no number counts as the lowest. kInvalidArgument without members or
  // others.
  [[nodiscard]] static Result<Roc> make(std::span<const double> members, std::span<const double> others);

  [[nodiscard]] double auc() const { return auc_; }
  // The largest mean of (found, 1 − false alarms) over thresholds.
  [[nodiscard]] double balanced_accuracy() const { return balanced_accuracy_; }
  // From (0, 0) to (1, 1); both coordinates never fall.
  [[nodiscard]] const std::vector<RocPoint>& curve() const { return curve_; }

  // kInvalidArgument for rates below 10 divided by the number of others.
  [[nodiscard]] Result<FoundAt> found_at(double false_alarms, Confidence confidence) const;

  [[nodiscard]] std::size_t members() const { return members_; }
  [[nodiscard]] std::size_t others() const { return others_; }

 private:
  Roc() = default;
  std::size_t members_ = 0;
  std::size_t others_ = 0;
  double auc_ = 0.5;
  double balanced_accuracy_ = 0.5;
  std::vector<RocPoint> curve_;
};

}  // namespace noisefloor::audit
