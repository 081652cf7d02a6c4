// Losses on atoms of one's own choice: a law that dominates a given one and a law that it dominates, with narrow cells
// where most of the probability is, and the largest losses set apart.
//
// Guarantee:     `above` with its infinite mass is larger than the law, and `below` is smaller than what the law has up
//                to `tail_from`, in the order of docs/proofs/certified_accounting.md (step 1). `tail` is an event of
//                which `below` has nothing: it may be added to what `below` gives (step 29).
// Implements:    step 29 of the proof: cells to both ends from above, merged from below, each as exact as P, Q and
//                p − q e^a are known.
// Thread safety: pure functions.
//
// Internal to accounting/.
#pragma once

#include <span>
#include <vector>

#include "noisefloor/accounting/loss_lattice.h"
#include "noisefloor/accounting/loss_law.h"

namespace noisefloor {

// Masses at losses, both exact doubles.
struct LossAtoms {
  std::vector<double> loss;
  std::vector<double> mass;
};

struct AtomicLaw {
  LossAtoms above;
  LossAtoms below;
  double infinite = 0;  // of the law above
  // The event that the loss is above `tail_from`, or infinite: p from below, q and p − q from below and above.
  double tail_from = 0;
  double tail_p_low = 0;
  double tail_q_high = 0;
  double tail_gain_low = 0;  // p − q, not above the true one
};

// Which part of the losses gets cells of its own, and how narrow they are in all: the sum of count · mass · width²,
// where masses are tilted by e^{tilt · loss}, as they are where the sum of all losses is as large as it has to be; but
// by e^most at most, as nothing is more likely than 1 then.
struct AtomRange {
  double lowest;
  double highest;
  double spread;
  double tilt;
  double most;
};

// One for each law. Nothing if that took more atoms than `most`.
[[nodiscard]] std::vector<AtomicLaw> atomic_laws(std::span<const RepeatedLaw> laws, AtomRange range, double most);

}  // namespace noisefloor
