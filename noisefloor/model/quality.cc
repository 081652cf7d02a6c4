#include "noisefloor/model/quality.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

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

constexpr std::size_t kSuggestions = 20;

double recall_of_classes(std::span<const float> outputs, std::size_t each, const Dataset& data) {
  double found = 0;
  for (std::size_t row = 0; row < data.rows; ++row) {
    const std::span<const float> own = outputs.subspan(row * each, each);
    const float score = own[static_cast<std::size_t>(data.labels[row])];
    const auto better = std::count_if(own.begin(), own.end(), [&](float other) { return other > score; });
    if (static_cast<std::size_t>(better) < kSuggestions) ++found;
  }
  return found / static_cast<double>(data.rows);
}

// Nothing if there is nothing to find.
std::optional<double> recall_of_groups(std::span<const float> outputs, std::size_t each, const Dataset& data) {
  std::unordered_map<std::uint32_t, std::vector<std::pair<float, bool>>> groups;
  for (std::size_t row = 0; row < data.rows; ++row) {
    const float score = each == 1 ? outputs[row] : outputs[2 * row + 1] - outputs[2 * row];
    groups[data.groups[row]].emplace_back(score, data.labels[row] == 1);
  }
  double sum = 0;
  double count = 0;
  for (auto& [group, scores] : groups) {
    const auto is_positive = [](const auto& one) { return one.second; };
    const auto positive = std::count_if(scores.begin(), scores.end(), is_positive);
    if (positive == 0) continue;
    const auto shown = scores.begin() + static_cast<std::ptrdiff_t>(std::min(scores.size(), kSuggestions));
    // Of equal scores those that miss come first: ties are no merit.
    std::partial_sort(scores.begin(), shown, scores.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    sum += static_cast<double>(std::count_if(scores.begin(), shown, is_positive)) / static_cast<double>(positive);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

}  // namespace

Quality quality_of(std::span<const float> outputs, const Dataset& data) {
  if (data.rows == 0) return {};
  NF_CHECK(outputs.size() % data.rows == 0 && !outputs.empty(), "as many outputs for each example");
  const std::size_t each = outputs.size() / data.rows;
  const auto rows = static_cast<double>(data.rows);
  Quality quality{.examples = data.rows};
  for (std::size_t row = 0; row < data.rows; ++row) {
    quality.loss += loss_of(outputs.subspan(row * each, each), data, row) / rows;
  }
  if (data.classes == 0) return quality;
  struct Counts {
    double right = 0;
    double guessed = 0;
    double there = 0;
    [[nodiscard]] double f1() const { return guessed + there == 0 ? 0 : 2 * right / (guessed + there); }
  };
  std::vector<Counts> counts(std::max(each, static_cast<std::size_t>(data.classes)));
  double right = 0;
  for (std::size_t row = 0; row < data.rows; ++row) {
    const std::span<const float> own = outputs.subspan(row * each, each);
    const std::size_t guess = each == 1
                                  ? static_cast<std::size_t>(own[0] > 0)
                                  : static_cast<std::size_t>(std::max_element(own.begin(), own.end()) - own.begin());
    const auto label = static_cast<std::size_t>(data.labels[row]);
    ++counts[guess].guessed;
    ++counts[label].there;
    if (guess != label) continue;
    ++counts[label].right;
    ++right;
  }
  quality.accuracy = right / rows;
  double f1 = 0;
  double occurring = 0;
  for (const Counts& count : counts) {
    if (count.there == 0) continue;
    ++occurring;
    f1 += count.f1();
  }
  quality.f1 = data.classes == 2 ? counts[1].f1() : f1 / occurring;
  if (each > kSuggestions) quality.recall_at_20 = recall_of_classes(outputs, each, data);
  if (data.classes == 2 && !data.groups.empty()) quality.recall_at_20 = recall_of_groups(outputs, each, data);
  return quality;
}

}  // namespace noisefloor
