#include "noisefloor/config/finding.h"

#include <algorithm>

namespace noisefloor {

std::string_view name_of(Severity severity) { return severity == Severity::kError ? "error" : "warning"; }

std::vector<Finding> Findings::sorted() const {
  std::vector<Finding> sorted = list_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Finding& a, const Finding& b) { return a.place < b.place; });
  return sorted;
}

bool has_errors(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.severity == Severity::kError; });
}

}  // namespace noisefloor
