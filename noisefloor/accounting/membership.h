// What someone who knows everything else can find out about one record: whether it was there (or which of two it was).
//
// Guarantee:     every number is an upper bound over all tests of the release, from the certified trade-off curve and
//                the certified (ε, δ), whichever says more: the share of members that a test finds at a rate of false
//                alarms, and its largest lead over guessing (the total variation distance, δ at ε = 0). A belief is
//                that of someone who starts from a prior and sees the release: it holds except with probability δ.
// Not covered:   what the record's owner is likely to be like from everyone else's data.
// Thread safety: pure functions.
#pragma once

#include <span>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"

namespace noisefloor {

struct MembershipTest {
  double false_alarms;  // of those who were not there, the share that is taken for members
  double found;         // of those who were, at most this share is recognised
};

struct MembershipBounds {
  double advantage;  // largest found − false alarms
  std::vector<MembershipTest> tests;
};

// The bounds at each rate of false alarms in [0, 1]. Events without privacy are refused.
[[nodiscard]] Result<MembershipBounds> membership_bounds(const DpEvent& event, Adjacency adjacency, Delta delta,
                                                         std::span<const double> false_alarms);

// The largest belief after a release of privacy loss ε, for someone whose belief was `prior` before.
[[nodiscard]] double belief_after(double prior, double epsilon);

}  // namespace noisefloor
