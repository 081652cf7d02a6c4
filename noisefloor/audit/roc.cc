#include "noisefloor/audit/roc.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace noisefloor::audit {
namespace {

std::vector<double> descending(std::span<const double> scores) {
  std::vector<double> sorted(scores.begin(), scores.end());
  for (double& score : sorted) {
    if (std::isnan(score)) score = -std::numeric_limits<double>::infinity();
  }
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  return sorted;
}

}  // namespace

Result<Roc> Roc::make(std::span<const double> members, std::span<const double> others) {
  if (members.empty() || others.empty()) {
    return invalid_argument(
        fmt::format("an attack is judged by members and others; got {} and {} scores", members.size(), others.size()));
  }
  Roc roc;
  roc.members_ = members.size();
  roc.others_ = others.size();
  const std::vector<double> in = descending(members);
  const std::vector<double> out = descending(others);
  const auto all_in = static_cast<double>(in.size());
  const auto all_out = static_cast<double>(out.size());
  roc.curve_.push_back({0, 0});
  std::size_t i = 0;
  std::size_t j = 0;
  double area = 0;  // in pairs
  while (i < in.size() || j < out.size()) {
    double threshold = -std::numeric_limits<double>::infinity();
    if (i < in.size()) threshold = in[i];
    if (j < out.size()) threshold = std::max(threshold, out[j]);
    const std::size_t i_before = i;
    const std::size_t j_before = j;
    while (i < in.size() && in[i] == threshold) ++i;
    while (j < out.size() && out[j] == threshold) ++j;
    area += static_cast<double>(j - j_before) * (static_cast<double>(i_before) + static_cast<double>(i - i_before) / 2);
    const RocPoint point{static_cast<double>(j) / all_out, static_cast<double>(i) / all_in};
    roc.balanced_accuracy_ = std::max(roc.balanced_accuracy_, (point.found + 1 - point.false_alarms) / 2);
    roc.curve_.push_back(point);
  }
  roc.auc_ = area / (all_in * all_out);
  return roc;
}

Result<FoundAt> Roc::found_at(double false_alarms, Confidence confidence) const {
  const double least = 10 / static_cast<double>(others_);
  if (!(false_alarms >= least && false_alarms <= 1)) {
    return invalid_argument(
        fmt::format("a rate of {:g} false alarms needs at least {:.0f} others to be measured by; "
                    "there are {}",
                    false_alarms, std::ceil(10 / std::max(false_alarms, 1e-12)), others_));
  }
  const auto after = std::upper_bound(curve_.begin(), curve_.end(), false_alarms,
                                      [](double rate, const RocPoint& point) { return rate < point.false_alarms; });
  const double found = std::prev(after)->found;
  const auto hits = static_cast<std::uint64_t>(std::llround(found * static_cast<double>(members_)));
  NF_TRY(const Significance each, Significance::make((1 - confidence.value()) / 2));
  return FoundAt{false_alarms, found, clopper_pearson(hits, members_, each)};
}

}  // namespace noisefloor::audit
