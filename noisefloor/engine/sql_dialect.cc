#include "noisefloor/engine/sql_dialect.h"

#include <fmt/format.h>

#include <cmath>

namespace noisefloor::engine {
namespace {

std::string quoted(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    if (c == quote) out += quote;
    out += c;
  }
  return out + quote;
}

bool is_whole_bound(const Expression& e) {
  const double value = std::get<double>(e.value);
  return std::floor(value) == value && std::fabs(value) <= 4503599627370496.0;  // 2^52: x + 1/2 is exact
}

}  // namespace

std::string SqlDialect::minimum(Type type, const std::string& column) const {
  return fmt::format("min({})", type == Type::kText ? by_bytes(column) : column);
}
std::string SqlDialect::maximum(Type type, const std::string& column) const {
  return fmt::format("max({})", type == Type::kText ? by_bytes(column) : column);
}

std::string quoted_name(std::string_view name) { return quoted(name, '"'); }
std::string quoted_text(std::string_view text) { return quoted(text, '\''); }
std::string decimal_of(double value) { return fmt::format("{}", value); }

bool is_whole_clamp(const Expression& steps) {
  const std::vector<Expression>& a = steps.arguments;
  return steps.function == Function::kSteps && a[0].type == Type::kInteger && std::get<double>(a[3].value) == 1 &&
         is_whole_bound(a[1]) && is_whole_bound(a[2]);
}

std::optional<WholeClamp> clamp_of(const Expression& expression) {
  if (!is_whole_clamp(expression)) return std::nullopt;
  const auto whole = [&](std::size_t i) {
    return static_cast<std::int64_t>(std::get<double>(expression.arguments[i].value));
  };
  return WholeClamp{whole(1), whole(2)};
}

}  // namespace noisefloor::engine
