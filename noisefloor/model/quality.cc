#include "noisefloor/model/quality.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
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

// Ranks an example of two classes: the higher, the more likely class 1.
double score_of(std::span<const float> outputs, std::size_t each, std::size_t row) {
  if (each == 1) return static_cast<double>(outputs[row]);
  return static_cast<double>(outputs[each * row + 1]) - static_cast<double>(outputs[each * row]);
}

// Counts pairs in whole numbers, so that the only rounding is that of the last division.
std::optional<double> auc_of(std::span<const float> outputs, std::size_t each, const Dataset& data) {
  std::vector<std::pair<double, bool>> scores;
  scores.reserve(data.rows);
  for (std::size_t row = 0; row < data.rows; ++row) {
    const double score = score_of(outputs, each, row);
    if (std::isnan(score)) return std::nullopt;
    scores.emplace_back(score, data.labels[row] == 1);
  }
  std::sort(scores.begin(), scores.end());
  std::uint64_t below = 0;  // examples of class 0 with a lower score
  std::uint64_t positives = 0;
  std::uint64_t half_wins = 0;
  for (std::size_t first = 0; first < scores.size();) {
    std::uint64_t tied_positives = 0;
    std::size_t end = first;
    for (; end < scores.size() && scores[end].first == scores[first].first; ++end) {
      tied_positives += static_cast<std::uint64_t>(scores[end].second);
    }
    const std::uint64_t tied_negatives = end - first - tied_positives;
    half_wins += tied_positives * (2 * below + tied_negatives);
    below += tied_negatives;
    positives += tied_positives;
    first = end;
  }
  if (below == 0 || positives == 0) return std::nullopt;
  return static_cast<double>(half_wins) / (2.0 * static_cast<double>(below) * static_cast<double>(positives));
}

// The distance to the mean, which is the best single answer.
double deviation_of(const std::vector<float>& targets) {
  const auto count = static_cast<double>(targets.size());
  double mean = 0;
  for (const float target : targets) mean += static_cast<double>(target) / count;
  double variance = 0;
  for (const float target : targets) {
    const double off = static_cast<double>(target) - mean;
    variance += off * off / count;
  }
  return std::sqrt(variance);
}

// The mean recall of groups; nothing if there is nothing to find.
std::optional<double> recall_of_groups(std::span<const float> outputs, std::size_t each, const Dataset& data) {
  std::unordered_map<std::uint32_t, std::vector<std::pair<double, bool>>> groups;
  for (std::size_t row = 0; row < data.rows; ++row) {
    groups[data.groups[row]].emplace_back(score_of(outputs, each, row), data.labels[row] == 1);
  }
  double sum = 0;
  double count = 0;
  for (auto& [group, scores] : groups) {
    const auto is_positive = [](const auto& one) { return one.second; };
    const auto positive = std::count_if(scores.begin(), scores.end(), is_positive);
    if (positive == 0) continue;
    const auto shown = scores.begin() + static_cast<std::ptrdiff_t>(std::min(scores.size(), kSuggestions));
    // Among equal scores the misses come first: ties earn nothing.
    std::partial_sort(scores.begin(), shown, scores.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    sum += static_cast<double>(std::count_if(scores.begin(), shown, is_positive)) / static_cast<double>(positive);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

struct Counts {
  double right = 0;
  double guessed = 0;
  double there = 0;
  [[nodiscard]] double f1() const { return guessed + there == 0 ? 0 : 2 * right / (guessed + there); }
};

std::vector<Counts> counts_of(std::span<const float> outputs, std::size_t each, const Dataset& data) {
  std::vector<Counts> counts(std::max({each, static_cast<std::size_t>(data.classes), std::size_t{2}}));
  for (std::size_t row = 0; row < data.rows; ++row) {
    const std::span<const float> own = outputs.subspan(row * each, each);
    const std::size_t guess = each == 1
                                  ? static_cast<std::size_t>(own[0] > 0)
                                  : static_cast<std::size_t>(std::max_element(own.begin(), own.end()) - own.begin());
    const auto label = static_cast<std::size_t>(data.labels[row]);
    ++counts[guess].guessed;
    ++counts[label].there;
    if (guess == label) ++counts[label].right;
  }
  return counts;
}

void judge_classes(Quality& quality, std::span<const float> outputs, std::size_t each, const Dataset& data) {
  const std::vector<Counts> counts = counts_of(outputs, each, data);
  const auto rows = static_cast<double>(data.rows);
  double right = 0;
  double most = 0;
  double f1 = 0;
  double occurring = 0;
  for (const Counts& count : counts) {
    right += count.right;
    most = std::max(most, count.there);
    if (count.there == 0) continue;
    ++occurring;
    f1 += count.f1();
  }
  quality.accuracy = right / rows;
  quality.majority_accuracy = most / rows;
  quality.f1 = data.classes == 2 ? counts[1].f1() : f1 / occurring;
  if (each > kSuggestions) quality.recall_at_20 = recall_of_classes(outputs, each, data);
  if (data.classes != 2) return;
  quality.auc = auc_of(outputs, each, data);
  if (!data.groups.empty()) quality.recall_at_20 = recall_of_groups(outputs, each, data);
}

}  // namespace

std::vector<std::pair<const char*, double>> named_figures(const Quality& quality) {
  std::vector<std::pair<const char*, double>> figures{{"loss", quality.loss}};
  const auto add = [&](const char* name, const std::optional<double>& value) {
    if (value) figures.emplace_back(name, *value);
  };
  add("accuracy", quality.accuracy);
  add("majority_accuracy", quality.majority_accuracy);
  add("auc", quality.auc);
  add("f1", quality.f1);
  add("recall_at_20", quality.recall_at_20);
  add("rmse", quality.rmse);
  add("mean_rmse", quality.mean_rmse);
  if (quality.positions > 0) figures.emplace_back("perplexity", std::exp(quality.loss));
  return figures;
}

Quality quality_of(std::span<const float> outputs, const Dataset& data) {
  if (data.rows == 0) return {};
  NF_CHECK(outputs.size() % data.rows == 0 && !outputs.empty(), "as many outputs for each example");
  const std::size_t each = outputs.size() / data.rows;
  const auto rows = static_cast<double>(data.rows);
  Quality quality{.examples = data.rows};
  for (std::size_t row = 0; row < data.rows; ++row) {
    quality.loss += loss_of(outputs.subspan(row * each, each), data, row) / rows;
  }
  if (data.classes != 0) {
    judge_classes(quality, outputs, each, data);
  } else {
    quality.rmse = std::sqrt(2 * quality.loss);
    quality.mean_rmse = deviation_of(data.targets);
  }
  return quality;
}

}  // namespace noisefloor
