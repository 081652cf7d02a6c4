// What the Laplace and the Gaussian mechanism share: answers are rounded to a lattice, and exact whole noise is added
// to each coordinate. `Noise` is DiscreteLaplace or DiscreteGaussian.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "noisefloor/base/wide_int.h"
#include "noisefloor/mechanisms/answer_grid.h"
#include "noisefloor/mechanisms/dimension.h"
#include "noisefloor/mechanisms/release.h"

namespace noisefloor {

template <class Noise>
class NoiseOnLattice {
 public:
  // Requires dimension 1.
  template <RandomSource Source>
  [[nodiscard]] Result<Release<Source, double>> release(double answer, Source& source) const {
    NF_TRY_VOID(check_answer_size(dimension_, 1));
    return release_point(lattice_.nearest(answer), source);
  }

  template <RandomSource Source>
  [[nodiscard]] Result<Release<Source, std::vector<double>>> release(std::span<const double> answer,
                                                                     Source& source) const {
    NF_TRY_VOID(check_answer_size(dimension_, answer.size()));
    std::vector<double> noised;
    noised.reserve(answer.size());
    for (double one : answer) noised.push_back(lattice_.to_real(add_noise(lattice_.nearest(one), source)));
    return Release<Source, std::vector<double>>(std::move(noised), statement_);
  }

  // For an answer that was computed on the lattice, in steps.
  template <RandomSource Source>
  [[nodiscard]] Release<Source, double> release_point(Int128 point, Source& source) const {
    return Release<Source, double>(lattice_.to_real(add_noise(point, source)), statement_);
  }

  // For mechanisms that release something derived from a noised whole number, under a statement of their own.
  [[nodiscard]] double noised(std::int64_t whole, BitStream& stream) const {
    return lattice_.to_real(add_noise(lattice_.nearest_to_whole(whole), stream));
  }
  // The same, rounded to a whole number.
  [[nodiscard]] std::int64_t noised_whole(std::int64_t whole, BitStream& stream) const {
    return lattice_.to_whole(add_noise(lattice_.nearest_to_whole(whole), stream));
  }

  [[nodiscard]] const DpStatement& statement() const { return statement_; }
  [[nodiscard]] const Lattice& lattice() const { return lattice_; }

 protected:
  NoiseOnLattice(Lattice lattice, Noise noise, Dimension dimension, DpStatement statement)
      : lattice_(lattice), noise_(std::move(noise)), dimension_(dimension), statement_(std::move(statement)) {}

  [[nodiscard]] const Noise& noise() const { return noise_; }

 private:
  [[nodiscard]] Int128 add_noise(Int128 point, BitStream& stream) const {
    return saturating_add(point, noise_.sample(stream));
  }

  Lattice lattice_;
  Noise noise_;
  Dimension dimension_;
  DpStatement statement_;
};

}  // namespace noisefloor
