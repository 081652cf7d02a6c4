// The certified trade-off curve of an event, in the form in which audits compare with it.
//
// Guarantee:     missed(false_alarms) is at most the share of members that any test with this rate of false alarms
//                misses, and false_alarms(found) at most the rate of any test that finds this share: both follow from
//                certified upper bounds of δ at some ε, down to δ = 1e-12, and err to the side that refutes less.
// Thread safety: const after construction.
#pragma once

#include <utility>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor::audit {

class CertifiedCurve {
 public:
  // Fails for events that no accountant understands, and for events without privacy: there is nothing to refute.
  [[nodiscard]] static Result<CertifiedCurve> create(const DpEvent& event, Adjacency adjacency, Delta delta);

  [[nodiscard]] double false_alarms(double found) const;
  [[nodiscard]] double missed(double false_alarms) const;

  // The certified ε at the δ for which it was created.
  [[nodiscard]] Interval epsilon() const { return epsilon_; }
  [[nodiscard]] Delta delta() const { return delta_; }

 private:
  struct Point {
    double ratio;  // e^ε
    double delta;  // at most this
  };
  CertifiedCurve(std::vector<Point> points, Interval epsilon, Delta delta)
      : points_(std::move(points)), epsilon_(epsilon), delta_(delta) {}
  std::vector<Point> points_;
  Interval epsilon_;
  Delta delta_;
};

}  // namespace noisefloor::audit
