#include "noisefloor/base/spelling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace noisefloor {
namespace {

constexpr std::size_t kLongestName = 64;

std::string folded(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c == '_' || c == ' ') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Optimal string alignment, by rows.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

bool same_spelling(std::string_view a, std::string_view b) { return folded(a) == folded(b); }

std::string_view nearest_name(std::string_view text, const std::vector<std::string_view>& known) {
  if (text.empty() || text.size() > kLongestName) return {};
  const std::string wanted = folded(text);
  std::string_view best;
  std::size_t least = std::max<std::size_t>(text.size() / 3, 1) + 1;
  for (std::string_view name : known) {
    const std::size_t distance = edit_distance(wanted, folded(name));
    if (distance < least) {
      least = distance;
      best = name;
    }
  }
  return best;
}

std::string suggestion(std::string_view text, const std::vector<std::string_view>& known) {
  const std::string_view nearest = nearest_name(text, known);
  if (!nearest.empty()) return fmt::format("did you mean '{}'?", nearest);
  return fmt::format("there are: {}", fmt::join(known, ", "));
}

}  // namespace noisefloor
