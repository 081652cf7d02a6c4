#include "noisefloor/audit/inversion.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "noisefloor/random/gaussian_vector.h"

namespace noisefloor::audit {
namespace {

constexpr double kBestPsnr = 150;
constexpr std::size_t kWindow = 7;
constexpr std::size_t kMemory = 20;  // of L-BFGS

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double uniform(BitStream& stream) { return static_cast<double>(stream.next_u64() >> 11) * 0x1p-53; }

// All pictures one after the other.
struct Guess {
  std::vector<double> pixels;
  [[nodiscard]] std::span<const double> at(std::size_t i, std::size_t size) const {
    return std::span(pixels).subspan(i * size, size);
  }
};

Guess first_guess(std::size_t size, std::uint64_t seed) {
  Guess guess{std::vector<double>(size)};
  ReplayRandom random = ReplayRandom::create(seed).value();
  for (double& pixel : guess.pixels) pixel = uniform(random);
  return guess;
}

std::vector<double> gradient_at(const SmallNetwork& network, std::span<const double> weights, const Update& update,
                                const Guess& guess) {
  std::vector<double> sum(network.parameters());
  for (std::size_t i = 0; i < update.labels.size(); ++i) {
    (void)network.gradients(weights, guess.at(i, network.inputs()), update.labels[i], sum, {});
  }
  return sum;
}

// The gradient by the pixels of ⟨gradient of the guess, direction⟩.
std::vector<double> by_pixels(const SmallNetwork& network, std::span<const double> weights, const Update& update,
                              const Guess& guess, std::span<const double> direction) {
  std::vector<double> all;
  for (std::size_t i = 0; i < update.labels.size(); ++i) {
    const std::vector<double> one =
        network.match_gradient(weights, guess.at(i, network.inputs()), update.labels[i], direction);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

// Adds weight · the gradient of the mean absolute difference of neighbouring pixels.
void smooth(const Guess& guess, const Picture& shape, double weight, std::vector<double>& slope) {
  const double each = weight / static_cast<double>(shape.size());
  const auto pull = [&](std::size_t a, std::size_t b) {
    const double off = guess.pixels[a] - guess.pixels[b];
    const double sign = off > 0 ? each : off < 0 ? -each : 0;
    slope[a] += sign;
    slope[b] -= sign;
  };
  for (std::size_t at = 0; at < guess.pixels.size(); ++at) {
    const std::size_t in_plane = at % (shape.height * shape.width);
    if (in_plane % shape.width + 1 < shape.width) pull(at, at + 1);
    if (in_plane / shape.width + 1 < shape.height) pull(at, at + shape.width);
  }
}

std::vector<Pixels> pictures_of(const Guess& guess, std::size_t size) {
  std::vector<Pixels> pictures;
  for (std::size_t at = 0; at < guess.pixels.size(); at += size) {
    Pixels one(guess.pixels.begin() + static_cast<std::ptrdiff_t>(at),
               guess.pixels.begin() + static_cast<std::ptrdiff_t>(at + size));
    for (double& pixel : one) pixel = std::clamp(pixel, 0.0, 1.0);
    pictures.push_back(std::move(one));
  }
  return pictures;
}

// A first dense layer: ∂L/∂W_j = δ_j x and ∂L/∂b_j = δ_j. With several pictures the rows are mixtures, and those with
// the largest δ are shown.
Result<Reconstruction> analytic(const SmallNetwork& network, const Update& update) {
  const SmallNetwork::Place weights = network.first_weights();
  const SmallNetwork::Place biases = network.first_biases();
  const std::size_t size = network.inputs();
  std::vector<std::size_t> order(biases.size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto slope = [&](std::size_t row) { return update.gradient[biases.at + row]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return std::fabs(slope(a)) > std::fabs(slope(b)); });
  Reconstruction found;
  for (std::size_t i = 0; i < order.size() && found.pictures.size() < update.labels.size(); ++i) {
    Pixels picture(size);
    const std::size_t row = order[i];
    for (std::size_t k = 0; k < size; ++k) {
      const double pixel = slope(row) != 0 ? update.gradient[weights.at + row * size + k] / slope(row) : 0;
      picture[k] = std::clamp(std::isfinite(pixel) ? pixel : 0.0, 0.0, 1.0);
    }
    found.pictures.push_back(std::move(picture));
  }
  return found;
}

struct Cosine {
  double distance;
  std::vector<double> direction;  // its gradient by the gradient
};
Cosine cosine_of(std::span<const double> gradient, std::span<const double> wanted) {
  const double a = std::sqrt(dot(gradient, gradient));
  const double b = std::sqrt(dot(wanted, wanted));
  if (!(a > 0) || !(b > 0)) return {1, std::vector<double>(gradient.size())};
  const double cosine = dot(gradient, wanted) / (a * b);
  std::vector<double> direction(gradient.size());
  for (std::size_t i = 0; i < direction.size(); ++i) {
    direction[i] = cosine * gradient[i] / (a * a) - wanted[i] / (a * b);
  }
  return {1 - cosine, std::move(direction)};
}

Reconstruction by_cosine(const SmallNetwork& network, std::span<const double> weights, const Update& update,
                         const Picture& shape, const InversionOptions& options) {
  Guess guess = first_guess(update.labels.size() * network.inputs(), options.seed);
  std::vector<double> first(guess.pixels.size());
  std::vector<double> second(guess.pixels.size());
  Guess best = guess;
  double least = std::numeric_limits<double>::infinity();
  for (int step = 0; step < options.iterations; ++step) {
    const Cosine at = cosine_of(gradient_at(network, weights, update, guess), update.gradient);
    if (at.distance < least) {
      least = at.distance;
      best = guess;
    }
    std::vector<double> slope = by_pixels(network, weights, update, guess, at.direction);
    smooth(guess, shape, options.total_variation, slope);
    double rate = 0.1;
    for (const double turn : {0.375, 0.625, 0.875}) {
      if (step >= turn * options.iterations) rate /= 10;
    }
    for (std::size_t i = 0; i < slope.size(); ++i) {
      const double sign = slope[i] > 0 ? 1 : slope[i] < 0 ? -1 : 0;
      first[i] = 0.9 * first[i] + 0.1 * sign;
      second[i] = 0.999 * second[i] + 0.001 * sign * sign;
      const double m = first[i] / (1 - std::pow(0.9, step + 1));
      const double v = second[i] / (1 - std::pow(0.999, step + 1));
      guess.pixels[i] = std::clamp(guess.pixels[i] - rate * m / (std::sqrt(v) + 1e-8), 0.0, 1.0);
    }
  }
  return {pictures_of(best, network.inputs()), least};
}

// Makes f small from `at` on by L-BFGS with halved steps. `f` also gives its gradient.
using Objective = std::function<double(const std::vector<double>& at, std::vector<double>& slope)>;
double minimise(const Objective& f, std::vector<double>& at, int iterations) {
  std::vector<double> slope;
  double value = f(at, slope);
  std::deque<std::pair<std::vector<double>, std::vector<double>>> memory;  // moves, and changes of the slope
  for (int step = 0; step < iterations; ++step) {
    std::vector<double> direction = slope;
    std::vector<double> scales;
    for (std::size_t k = memory.size(); k-- > 0;) {
      const auto& [moved, changed] = memory[k];
      scales.push_back(dot(moved, direction) / dot(moved, changed));
      for (std::size_t i = 0; i < direction.size(); ++i) direction[i] -= scales.back() * changed[i];
    }
    if (!memory.empty()) {
      const auto& [moved, changed] = memory.back();
      const double scale = dot(moved, changed) / dot(changed, changed);
      for (double& x : direction) x *= scale;
    }
    for (std::size_t k = 0; k < memory.size(); ++k) {
      const auto& [moved, changed] = memory[k];
      const double back = dot(changed, direction) / dot(moved, changed);
      const double by = scales[memory.size() - 1 - k] - back;
      for (std::size_t i = 0; i < direction.size(); ++i) direction[i] += by * moved[i];
    }
    const double falls = dot(slope, direction);
    if (!(falls > 0)) break;
    double length = memory.empty() ? 1 / std::max(1.0, std::sqrt(dot(direction, direction))) : 1;
    bool better = false;
    std::vector<double> next(at.size());
    std::vector<double> next_slope;
    double next_value = value;
    for (int halving = 0; halving < 20 && !better; ++halving, length /= 2) {
      for (std::size_t i = 0; i < at.size(); ++i) next[i] = at[i] - length * direction[i];
      next_value = f(next, next_slope);
      better = next_value < value - 1e-4 * length * falls;
    }
    if (!better) break;
    std::vector<double> moved(at.size());
    std::vector<double> changed(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) {
      moved[i] = next[i] - at[i];
      changed[i] = next_slope[i] - slope[i];
    }
    at = std::move(next);
    slope = std::move(next_slope);
    value = next_value;
    if (dot(moved, changed) > 1e-12 * dot(changed, changed)) memory.emplace_back(std::move(moved), std::move(changed));
    if (memory.size() > kMemory) memory.pop_front();
  }
  return value;
}

Reconstruction by_distance(const SmallNetwork& network, std::span<const double> weights, const Update& update,
                           const InversionOptions& options) {
  Reconstruction best{{}, std::numeric_limits<double>::infinity()};
  const Objective distance = [&](const std::vector<double>& at, std::vector<double>& slope) {
    const Guess guess{at};
    std::vector<double> off = gradient_at(network, weights, update, guess);
    for (std::size_t i = 0; i < off.size(); ++i) off[i] -= update.gradient[i];
    const double value = dot(off, off);
    for (double& x : off) x *= 2;
    slope = by_pixels(network, weights, update, guess, off);
    return value;
  };
  for (int restart = 0; restart < std::max(1, options.restarts); ++restart) {
    Guess guess = first_guess(update.labels.size() * network.inputs(), options.seed + static_cast<unsigned>(restart));
    const double value = minimise(distance, guess.pixels, options.iterations);
    if (value < best.distance) best = {pictures_of(guess, network.inputs()), value};
  }
  return best;
}

}  // namespace

std::string_view name_of(Inversion method) {
  switch (method) {
    case Inversion::kAnalytic:
      return "analytic";
    case Inversion::kDlg:
      return "dlg";
    case Inversion::kCosine:
      break;
  }
  return "cosine";
}

Result<Update> update_of(const SmallNetwork& network, std::span<const double> weights, std::span<const Pixels> pictures,
                         std::span<const std::size_t> labels) {
  if (pictures.empty() || pictures.size() != labels.size() || weights.size() != network.parameters()) {
    return invalid_argument("an update is made of pictures with a label each, at weights of the network");
  }
  Update update{std::vector<double>(network.parameters()), std::vector<std::size_t>(labels.begin(), labels.end())};
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    if (pictures[i].size() != network.inputs() || labels[i] >= network.outputs()) {
      return invalid_argument("the network does not read such a picture, or does not know its class");
    }
    (void)network.gradients(weights, pictures[i], labels[i], update.gradient, {});
  }
  return update;
}

void make_private(Update& update, ClipNorm clip, NoiseMultiplier noise, BitStream& stream) {
  const double norm = std::sqrt(dot(update.gradient, update.gradient));
  const double factor = norm > clip.value() ? clip.value() / norm : 1;
  std::vector<float> drawn(update.gradient.size());
  fill_gaussian(stream, drawn, static_cast<float>(noise.value() * clip.value()));
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    update.gradient[i] = factor * update.gradient[i] + static_cast<double>(drawn[i]);
  }
}

std::size_t label_of(const SmallNetwork& network, const Update& update) {
  const SmallNetwork::Place biases = network.last_biases();
  const auto begin = update.gradient.begin() + static_cast<std::ptrdiff_t>(biases.at);
  return static_cast<std::size_t>(std::min_element(begin, begin + static_cast<std::ptrdiff_t>(biases.size)) - begin);
}

Result<Reconstruction> invert(const SmallNetwork& network, std::span<const double> weights, const Update& update,
                              const Picture& shape, const InversionOptions& options) {
  if (shape.size() != network.inputs() || update.gradient.size() != network.parameters() || update.labels.empty() ||
      options.iterations < 1) {
    return invalid_argument("an update is inverted for the network and the shape of picture that made it");
  }
  switch (options.method) {
    case Inversion::kAnalytic:
      if (!network.reads_densely()) {
        return invalid_argument("the analytic attack reads a first layer that is dense: take dlg or cosine");
      }
      return analytic(network, update);
    case Inversion::kDlg:
      return by_distance(network, weights, update, options);
    case Inversion::kCosine:
      break;
  }
  return by_cosine(network, weights, update, shape, options);
}

double psnr(std::span<const double> a, std::span<const double> b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  const double mean = squares / static_cast<double>(std::max<std::size_t>(1, a.size()));
  return mean > 0 ? std::min(kBestPsnr, -10 * std::log10(mean)) : kBestPsnr;
}

double ssim(std::span<const double> a, std::span<const double> b, const Picture& shape) {
  const double c1 = 0.01 * 0.01;
  const double c2 = 0.03 * 0.03;
  double sum = 0;
  double windows = 0;
  for (std::size_t c = 0; c < shape.channels; ++c) {
    for (std::size_t y = 0; y + kWindow <= shape.height; ++y) {
      for (std::size_t x = 0; x + kWindow <= shape.width; ++x) {
        double sa = 0;
        double sb = 0;
        double saa = 0;
        double sbb = 0;
        double sab = 0;
        for (std::size_t i = 0; i < kWindow; ++i) {
          for (std::size_t j = 0; j < kWindow; ++j) {
            const std::size_t at = (c * shape.height + y + i) * shape.width + x + j;
            sa += a[at];
            sb += b[at];
            saa += a[at] * a[at];
            sbb += b[at] * b[at];
            sab += a[at] * b[at];
          }
        }
        const double n = kWindow * kWindow;
        const double ma = sa / n;
        const double mb = sb / n;
        // Sample variances, as most programs have them.
        const double va = (saa - n * ma * ma) / (n - 1);
        const double vb = (sbb - n * mb * mb) / (n - 1);
        const double cov = (sab - n * ma * mb) / (n - 1);
        sum += (2 * ma * mb + c1) * (2 * cov + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2));
        ++windows;
      }
    }
  }
  return windows > 0 ? sum / windows : 0;
}

std::vector<std::size_t> matched(std::span<const Pixels> truth, std::span<const Pixels> found) {
  struct Pair {
    double likeness;
    std::size_t truth;
    std::size_t found;
  };
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    for (std::size_t k = 0; k < found.size(); ++k) pairs.push_back({psnr(truth[i], found[k]), i, k});
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.likeness > b.likeness; });
  std::vector<std::size_t> place(truth.size(), 0);
  std::vector<std::uint8_t> has(truth.size(), 0);
  std::vector<std::uint8_t> used(found.size(), 0);
  for (const Pair& pair : pairs) {
    if (has[pair.truth] != 0 || used[pair.found] != 0) continue;
    place[pair.truth] = pair.found;
    has[pair.truth] = 1;
    used[pair.found] = 1;
  }
  return place;
}

}  // namespace noisefloor::audit
