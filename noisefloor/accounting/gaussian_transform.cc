#include "noisefloor/accounting/gaussian_transform.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace noisefloor {
namespace {

class OnLine final : public TransformOnLine {
 public:
  OnLine(double mu_squared, double c) : mu_squared_(mu_squared), c_(c) {}

  [[nodiscard]] double decay(double y) const override {
    return std::clamp(-std::expm1(-y * y * mu_squared_ / 2) * (1 - 1e-9), 0.0, 1 - 1e-9);
  }

  [[nodiscard]] double cost(double /*y*/) const override { return 10; }

  Values evaluate(double h, double /*tolerance*/, std::span<std::complex<double>> ratios,
                  std::span<double> errors) const override {
    for (std::size_t n = 0; n < ratios.size(); ++n) {
      const double y = h * static_cast<double>(n + 1);
      const double fall = -y * y * mu_squared_ / 2;
      const double turn = y * (2 * c_ + 1) * mu_squared_ / 2;
      const double half = std::sin(turn / 2);
      const double size = std::exp(fall);
      ratios[n] = {std::expm1(fall) - 2 * size * half * half, size * std::sin(turn)};
      // Roundings of `fall` and `turn` act on e^{fall + i turn}, those of expm1 on itself.
      errors[n] = 0x1p-49 * (size * (std::fabs(fall) + std::fabs(turn)) + std::min(1.0, std::fabs(fall)));
    }
    const double log_moment = c_ * (c_ + 1) * mu_squared_ / 2;
    return {log_moment, 0x1p-50 * log_moment};
  }

 private:
  double mu_squared_;
  double c_;
};

}  // namespace

MomentEstimate GaussianTransform::estimate(double c) const {
  return {c * (c + 1) * mu_squared_ / 2, (2 * c + 1) * mu_squared_ / 2, mu_squared_};
}

double GaussianTransform::max_loss() const { return std::numeric_limits<double>::infinity(); }

std::unique_ptr<LossTransform> GaussianTransform::truncated(double /*mass*/) const {
  return std::make_unique<GaussianTransform>(*this);
}

std::unique_ptr<TransformOnLine> GaussianTransform::on_line(double c) const {
  return std::make_unique<OnLine>(mu_squared_, c);
}

}  // namespace noisefloor
