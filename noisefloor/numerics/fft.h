// The discrete Fourier transform of complex vectors whose length is a power of two, in place.
//
// Guarantee:     every output is within fft_error(n) · Σ|x| of the exact one, where x is the input: each of the log₂ n
//                levels multiplies by a rounded root of unity (wrong by up to 5 · 2^-53, for its angle is rounded too)
//                and adds, which costs at most 9 · 2^-53 relatively.
// Thread safety: pure functions.
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <vector>

namespace noisefloor {

[[nodiscard]] double fft_error(std::size_t n);

// X[k] = Σ x[j] e^{−2πijk/n}. Requires a power of two.
void fft(std::span<std::complex<double>> x);

// x[j] = (1/n) Σ X[k] e^{2πijk/n}. Requires a power of two. Its error is that of the guarantee, divided by n.
void inverse_fft(std::span<std::complex<double>> x);

// X[k] = Σ x[j] e^{−2πijk/n} of real numbers, for k ≤ n/2, in half of the time. Requires a power of two that is at
// least 2. Every output is within 2 fft_error(n) · Σ|x| of the exact one.
[[nodiscard]] std::vector<std::complex<double>> fft_of_real(std::span<const double> x);

}  // namespace noisefloor
