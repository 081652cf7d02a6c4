// "Averaging privacy": train as usual, add Gaussian noise to the final weights once, and call the whole training
// (epsilon, delta)-private. Attacked, and then done in the one way in which it holds.
//
// The noise is calibrated to a sensitivity that somebody believed: one step's clip norm. But without clipping, one row
// moves the weights of every step, and of the end, as far as it likes; noise that comes afterwards cannot take back
// what the steps have learned, and post-processing only protects what was private before. Output perturbation needs a
// proof of how far one row moves the *final* weights: with a strongly convex loss of bounded slope that is 2 L /
// (lambda n) (Chaudhuri, Monteleoni and Sarwate 2011).
#include <algorithm>
#include <cmath>
#include <vector>

#include "example.h"
#include "noisefloor/audit/mechanism_tester.h"
#include "noisefloor/numerics/gaussian_profile.h"
#include "noisefloor/random/gaussian_vector.h"

using namespace noisefloor;
using example::must;

namespace {

struct Row {
  double x;
  double y;
};

// Two hundred rows near a line; in the other world, one of them is elsewhere.
std::vector<Row> rows_of(audit::World world, double elsewhere) {
  std::vector<Row> rows;
  for (int i = 0; i < 200; ++i) {
    const double x = std::sin(i * 12.9898);
    rows.push_back({x, 0.5 * x + 0.1 * std::sin(i * 78.233)});
  }
  if (world == audit::World::kWith) rows.back() = {elsewhere, -elsewhere};
  return rows;
}

// Least squares by gradient descent, without clipping: the slope of the line.
double plain_training(const std::vector<Row>& rows) {
  double weight = 0;
  for (int step = 0; step < 200; ++step) {
    double gradient = 0;
    for (const Row& row : rows) gradient += (weight * row.x - row.y) * row.x / static_cast<double>(rows.size());
    weight -= 0.1 * gradient;
  }
  return weight;
}

// The minimum of a Huber loss with slope at most 1, on rows of length at most 1, and lambda/2 of the squared weight.
double convex_training(const std::vector<Row>& rows, double lambda) {
  double weight = 0;
  for (int step = 0; step < 2000; ++step) {
    double gradient = lambda * weight;
    for (const Row& row : rows) {
      const double x = std::clamp(row.x, -1.0, 1.0);
      gradient += std::clamp(weight * x - row.y, -1.0, 1.0) * x / static_cast<double>(rows.size());
    }
    weight -= 0.5 * gradient;
  }
  return weight;
}

// The weight with noise, as a black box. It is rounded, because the last bits of floating-point noise are an attack of
// their own, which the tester would find in both. Trains once for each world: the descent itself is not random.
audit::BlackBox with_noise(double without, double with, double sigma) {
  return [=](audit::World world, BitStream& stream) -> Result<std::vector<double>> {
    std::vector<float> noise(1);
    fill_gaussian(stream, noise, static_cast<float>(sigma));
    const double noisy = (world == audit::World::kWith ? with : without) + static_cast<double>(noise[0]);
    return std::vector<double>{std::round(noisy * 16384) / 16384};
  };
}

}  // namespace

int main() {
  example::heading("Averaging privacy, attacked",
                   "Noise on the final weight alone, for (2, 1e-5). One of 200 rows is exchanged.");
  example::Expectations expect;
  const Delta delta = Delta::of(1e-5);
  const audit::MechanismClaim claim{PrivacyLoss::of(2), delta};
  const double multiplier = must(analytic_gaussian_multiplier(Epsilon::of(2), delta)).value();
  SecureRandom random = must(SecureRandom::create());
  const auto test = [&](const char* name, double without, double with, double sigma) {
    const audit::TestedMechanism tested =
        must(audit::test_mechanism(with_noise(without, with, sigma), claim, {}, random));
    fmt::print("  {:<28}  weight {:>7.4f} or {:>7.4f}, noise {:.4f}: epsilon at least {:.2f}{}\n", name, without, with,
               sigma, tested.at_least, tested.refuted ? ": REFUTED" : "");
    return tested;
  };

  // What somebody believed: steps of 0.1 times a mean over 200 rows of gradients of "about 1".
  const double believed = 0.1 / 200;
  const auto plain = [&](audit::World world) { return plain_training(rows_of(world, 3)); };
  const audit::TestedMechanism wrong =
      test("believed sensitivity", plain(audit::World::kWithout), plain(audit::World::kWith), multiplier * believed);
  expect.between("epsilon of averaging privacy", wrong.at_least, 4, 1e9);

  const double lambda = 0.1;
  const double proved = 2 / (lambda * 200);
  const auto convex = [&](audit::World world) { return convex_training(rows_of(world, 3), lambda); };
  const audit::TestedMechanism right =
      test("proved sensitivity", convex(audit::World::kWithout), convex(audit::World::kWith), multiplier * proved);
  expect.between("epsilon of output perturbation", right.at_least, 0, 2);
  fmt::print("\nNoise on the result hides one row only as far as somebody has proved that one row moves the result.\n");
  return expect.exit_code();
}
