// A finding says what is wrong with a configuration, where, and what would be right.
//
// Guarantee:     messages and remedies are one line each. Codes are stable: programs may rely on them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace noisefloor {

// A place in the text. Lines and columns count from 1, columns in characters. Line 0 means nowhere: the value is not
// given.
struct Place {
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  friend auto operator<=>(const Place&, const Place&) = default;  // NOLINT(modernize-use-nullptr)
};

enum class Severity : std::uint8_t {
  kError,    // the promise of the budget does not hold, or cannot be checked
  kWarning,  // the promise holds as stated, but the statement looks wrong or says less than it seems
};

[[nodiscard]] std::string_view name_of(Severity severity);  // "error", "warning"

struct Finding {
  Severity severity;
  std::string code;  // "target_above_total"
  Place place;
  std::string message;  // names the values
  std::string remedy;
};

// Collects findings as they come up.
class Findings {
 public:
  void error(std::string code, Place place, std::string message, std::string remedy) {
    list_.push_back({Severity::kError, std::move(code), place, std::move(message), std::move(remedy)});
  }
  void warning(std::string code, Place place, std::string message, std::string remedy) {
    list_.push_back({Severity::kWarning, std::move(code), place, std::move(message), std::move(remedy)});
  }

  void add(Finding finding) { list_.push_back(std::move(finding)); }

  [[nodiscard]] const std::vector<Finding>& list() const { return list_; }
  // The findings in the order of the file.
  [[nodiscard]] std::vector<Finding> sorted() const;

 private:
  std::vector<Finding> list_;
};

[[nodiscard]] bool has_errors(const std::vector<Finding>& findings);

}  // namespace noisefloor
