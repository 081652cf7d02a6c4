#include "noisefloor/sgd/quality.h"

#include <algorithm>
#include <cmath>

#include "noisefloor/base/check.h"

namespace noisefloor {
namespace {

double loss_of(std::span<const float> outputs, const Dataset& data, std::size_t row) {
  if (data.classes == 0) {
    const double off = static_cast<double>(outputs[0]) - static_cast<double>(data.targets[row]);
    return 0.5 * off * off;
  }
  if (outputs.size() == 1) {
    const double wrong = data.labels[row] == 1 ? -static_cast<double>(outputs[0]) : static_cast<double>(outputs[0]);
    return std::max(wrong, 0.0) + std::log1p(std::exp(-std::abs(wrong)));
  }
  const double most = *std::max_element(outputs.begin(), outputs.end());
  double sum = 0;
  for (const float output : outputs) sum += std::exp(static_cast<double>(output) - most);
  return std::log(sum) + most - static_cast<double>(outputs[static_cast<std::size_t>(data.labels[row])]);
}

}  // namespace

Quality quality_of(std::span<const float> outputs, const Dataset& data) {
  if (data.rows == 0) return {};
  NF_CHECK(outputs.size() % data.rows == 0 && !outputs.empty(), "as many outputs for each example");
  const std::size_t each = outputs.size() / data.rows;
  Quality quality{.examples = data.rows};
  struct Counts {
    double right = 0;
    double guessed = 0;
    double there = 0;
  };
  std::vector<Counts> counts(std::max(each, static_cast<std::size_t>(data.classes)));
  for (std::size_t row = 0; row < data.rows; ++row) {
    const std::span<const float> own = outputs.subspan(row * each, each);
    quality.loss += loss_of(own, data, row);
    if (data.classes == 0) continue;
    const std::size_t guess = each == 1
                                  ? static_cast<std::size_t>(own[0] > 0)
                                  : static_cast<std::size_t>(std::max_element(own.begin(), own.end()) - own.begin());
    const auto label = static_cast<std::size_t>(data.labels[row]);
    ++counts[guess].guessed;
    ++counts[label].there;
    if (guess == label) ++counts[label].right;
  }
  const auto rows = static_cast<double>(data.rows);
  quality.loss /= rows;
  double occurring = 0;
  for (const Counts& count : counts) {
    quality.accuracy += count.right / rows;
    if (count.there == 0) continue;
    ++occurring;
    quality.f1 += 2 * count.right / (count.guessed + count.there);
  }
  if (occurring > 0) quality.f1 /= occurring;
  return quality;
}

}  // namespace noisefloor
