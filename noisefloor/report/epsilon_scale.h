// Classifies an ε: on the usual scale from strong to none, and among values that are typical of some applications.
//
// This is a reading for people, not a guarantee: two ε compare only if unit and neighbours are the same.
// Thread safety: pure functions; constants.
#pragma once

#include <array>
#include <string>

#include "noisefloor/report/chart.h"

namespace noisefloor {

struct EpsilonBand {
  double up_to;  // included; the last one is infinite
  const char* name;
  const char* meaning;  // a sentence
};
[[nodiscard]] const std::array<EpsilonBand, 4>& epsilon_bands();
[[nodiscard]] const EpsilonBand& band_of(double epsilon);

struct TypicalEpsilon {
  const char* application;
  double low;
  double high;
  const char* why;
};
[[nodiscard]] const std::array<TypicalEpsilon, 5>& typical_epsilons();

// The scale with the typical values as bars and this ε as a line across, for a page (chart.h).
[[nodiscard]] std::string epsilon_scale_svg(double epsilon, const std::string& id, ChartSize size,
                                            const std::string& description);

}  // namespace noisefloor
