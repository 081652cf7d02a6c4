#include "noisefloor/query/terms_text.h"

#include <fmt/format.h>

#include "noisefloor/base/text.h"

namespace noisefloor::query {
namespace {

Result<void> read_limit(const char* name, const std::string& text, std::optional<std::uint64_t>& limit) {
  if (text.empty()) return success();
  NF_TRY(limit, parse_count(name, text));
  if (*limit > 0) return success();
  return invalid_argument(fmt::format("{} must be at least 1", name));
}

// A bound of a column: "cost=0..500".
Result<void> add_bound(std::string_view text, PlanOptions& limits) {
  const std::size_t equals = text.find('=');
  const std::size_t dots = text.find("..");
  if (equals == 0 || equals == std::string_view::npos || dots == std::string_view::npos || dots < equals) {
    return invalid_argument(fmt::format("a bound is COLUMN=LOWER..UPPER, as in cost=0..500; got {}", shown(text)));
  }
  NF_TRY(const double lower, parse_number("the lower bound", text.substr(equals + 1, dots - equals - 1)));
  NF_TRY(const double upper, parse_number("the upper bound", text.substr(dots + 2)));
  if (!(lower < upper)) return invalid_argument(fmt::format("the bounds {} must be in order", shown(text)));
  limits.bounds[std::string(text.substr(0, equals))] = {lower, upper};
  return success();
}

}  // namespace

Result<AskTerms> terms_of(const TermsText& text) {
  NF_TRY(const double most, parse_number("epsilon", text.epsilon));
  NF_TRY(const Epsilon epsilon, Epsilon::make(most));
  AskTerms terms{.noise = {epsilon}};
  NF_TRY(const double failure, parse_number("delta", text.delta));
  NF_TRY(terms.noise.delta, Delta::make(failure));
  NF_TRY(terms.noise.noise, parse_noise_kind(text.noise));
  NF_TRY(const double probability, parse_number("confidence", text.confidence));
  NF_TRY(terms.noise.confidence, Confidence::make(probability));
  if (!text.weights.empty()) {
    for (const std::string_view part : split_list(text.weights)) {
      NF_TRY(const double weight, parse_number("a weight", part));
      terms.noise.weights.push_back(weight);
    }
  }
  if (!text.key_share.empty()) {
    NF_TRY(terms.noise.key_share, parse_number("the share for keys", text.key_share));
  }
  NF_TRY_VOID(read_limit("the number of groups", text.max_groups, terms.limits.max_groups));
  NF_TRY_VOID(read_limit("the number of rows in a group", text.max_rows_per_group, terms.limits.max_rows_per_group));
  NF_TRY_VOID(read_limit("the number of rows", text.max_rows_per_unit, terms.limits.max_rows_per_unit));
  for (const std::string& bound : text.bounds) {
    NF_TRY_VOID(add_bound(bound, terms.limits));
  }
  return terms;
}

}  // namespace noisefloor::query
