#include "noisefloor/accounting/decimal_sum.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "noisefloor/base/rounding.h"

namespace noisefloor {
namespace {

constexpr int kDigits = 38;
constexpr int kMostExponent = 400;  // doubles have exponents between -340 and 308

constexpr std::array<Uint128, kDigits + 1> kPowersOfTen = [] {
  std::array<Uint128, kDigits + 1> powers{1};
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = 10 * powers[i - 1];
  return powers;
}();

// Requires a finite value ≥ 0.
DecimalSum shortest_decimal(double value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific);
  DecimalSum made;
  const char* c = text.data();
  for (; c != end && *c != 'e'; ++c) {
    if (*c == '.') continue;
    made.digits = 10 * made.digits + static_cast<unsigned>(*c - '0');
    made.exponent -= c > text.data() ? 1 : 0;
  }
  int exponent = 0;
  c += c != end ? 1 : 0;               // the e
  c += c != end && *c == '+' ? 1 : 0;  // from_chars takes no plus
  std::from_chars(c, end, exponent);
  made.exponent += exponent;
  return made;
}

bool has_bound(double value) { return value == 0 || value >= std::numeric_limits<double>::min(); }

DecimalSum decimal_of_charge(double value) { return shortest_decimal(has_bound(value) ? value : next_up(value)); }

DecimalSum decimal_of_budget(double value) {
  return shortest_decimal(has_bound(value) ? value : std::nextafter(value, 0.0));
}

// How often the digits can be multiplied by ten.
int room(Uint128 digits) {
  const auto* const above = std::upper_bound(kPowersOfTen.begin(), kPowersOfTen.end(), digits);
  return static_cast<int>(kPowersOfTen.end() - above) - 1;
}

enum class Side : std::uint8_t { kUp, kDown };

// The digits at another exponent. Requires that the number has room for a lower one.
Uint128 at(const DecimalSum& number, int exponent, Side side) {
  if (exponent <= number.exponent) {
    return number.digits * kPowersOfTen[static_cast<std::size_t>(number.exponent - exponent)];
  }
  const int less = exponent - number.exponent;
  if (less > kDigits) return side == Side::kUp && number.digits > 0 ? 1 : 0;
  const Uint128 unit = kPowersOfTen[static_cast<std::size_t>(less)];
  return number.digits / unit + (side == Side::kUp && number.digits % unit != 0 ? 1 : 0);
}

// The lowest exponent, down to that of either, at which both have fewer than 39 digits.
int common_exponent(const DecimalSum& a, const DecimalSum& b) {
  return std::max({std::min(a.exponent, b.exponent), a.exponent - room(a.digits), b.exponent - room(b.digits)});
}

bool is_at_most(const DecimalSum& a, const DecimalSum& b) {
  if (a.digits == 0 || b.digits == 0) return a.digits == 0;
  // A number that has no room for the exponent of the other has more digits than that one can have.
  if (a.exponent - b.exponent > room(a.digits)) return false;
  if (b.exponent - a.exponent > room(b.digits)) return true;
  const int exponent = std::min(a.exponent, b.exponent);
  return at(a, exponent, Side::kUp) <= at(b, exponent, Side::kDown);
}

double nearest_double(const DecimalSum& number) {
  std::string text;
  for (Uint128 rest = number.digits; rest > 0; rest /= 10) text += static_cast<char>('0' + static_cast<int>(rest % 10));
  if (text.empty()) return 0;
  std::reverse(text.begin(), text.end());
  text += "e" + std::to_string(number.exponent);
  double value = 0;  // stays 0 if the number is below all doubles
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

DecimalSum DecimalSum::plus(double term) const {
  const DecimalSum added = decimal_of_charge(term);
  if (added.digits == 0) return *this;
  if (digits == 0) return added;
  const int common = common_exponent(*this, added);
  const DecimalSum sum{at(*this, common, Side::kUp) + at(added, common, Side::kUp), common};
  if (sum.digits < kPowersOfTen.back()) return sum;
  return {at(sum, common + 1, Side::kUp), common + 1};
}

DecimalSum DecimalSum::minus(double term) const {
  const DecimalSum taken = decimal_of_charge(term);
  if (taken.digits == 0 || digits == 0) return *this;
  const int common = common_exponent(*this, taken);
  const Uint128 from = at(*this, common, Side::kUp);
  const Uint128 less = at(taken, common, Side::kDown);
  return from > less ? DecimalSum{from - less, common} : DecimalSum{};
}

bool DecimalSum::within(double budget) const { return is_at_most(*this, decimal_of_budget(budget)); }

double DecimalSum::remaining_of(double budget) const {
  const DecimalSum whole = decimal_of_budget(budget);
  if (!is_at_most(*this, whole)) return 0;
  DecimalSum rest = whole;
  if (digits > 0) {
    const int common = common_exponent(*this, whole);
    const Uint128 from = at(whole, common, Side::kDown);
    const Uint128 less = at(*this, common, Side::kUp);
    rest = {from > less ? from - less : 0, common};
  }
  double value = nearest_double(rest);
  while (value > 0 && !is_at_most(decimal_of_charge(value), rest)) value = std::nextafter(value, 0.0);
  return value;
}

bool DecimalSum::is_valid() const {
  return digits < kPowersOfTen.back() && exponent >= -kMostExponent && exponent <= kMostExponent;
}

}  // namespace noisefloor
