#include "noisefloor/secagg/share_decoder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "noisefloor/crypto/field61.h"

namespace noisefloor::secagg {
namespace {

using field61::add;
using field61::inverse;
using field61::multiply;
using field61::subtract;

// Combinations of shares that are tried one by one when equations do not tell which ones are wrong.
constexpr std::size_t kCombinations = 4096;

// The inverses of all, with one inversion. None may be 0.
void invert(std::vector<std::uint64_t>& values) {
  std::vector<std::uint64_t> before(values.size());
  std::uint64_t product = 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    before[i] = product;
    product = multiply(product, values[i]);
  }
  std::uint64_t rest = inverse(product);
  for (std::size_t i = values.size(); i-- > 0;) {
    const std::uint64_t value = values[i];
    values[i] = multiply(rest, before[i]);
    rest = multiply(rest, value);
  }
}

using Values = std::array<std::uint64_t, kShareParts>;
using Row = std::vector<std::uint64_t>;

Values values_of(const HeldShare& share) {
  Values values{};
  std::memcpy(values.data(), share.bytes.data(), kShareBytes);
  return values;
}

// w_i = 1/Π_{j≠i} (x_i − x_j)
Row weights_of(const std::vector<std::uint32_t>& points) {
  Row weights(points.size(), 1);
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = 0; j < points.size(); ++j) {
      if (j != i) weights[i] = multiply(weights[i], subtract(points[i], points[j]));
    }
  }
  invert(weights);
  return weights;
}

// S_k = Σ_i w_i y_i x_i^k for k = 0, …, shares − threshold − 1: all are 0 exactly if the values y_i lie on a polynomial
// of degree threshold − 1. One row for each of the parts.
std::vector<Row> syndromes_of(const std::vector<std::uint32_t>& points, std::span<const Row> parts, std::size_t count) {
  const Row weights = weights_of(points);
  std::vector<Row> syndromes(parts.size(), Row(count));
  for (std::size_t part = 0; part < parts.size(); ++part) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      std::uint64_t term = multiply(weights[i], parts[part][i]);
      for (std::size_t k = 0; k < count; ++k) {
        syndromes[part][k] = add(syndromes[part][k], term);
        term = multiply(term, points[i]);
      }
    }
  }
  return syndromes;
}

bool are_zero(const std::vector<Row>& rows) {
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) {
    return std::all_of(row.begin(), row.end(), [](std::uint64_t value) { return value == 0; });
  });
}

std::vector<std::uint32_t> points_of(std::span<const HeldShare> shares) {
  std::vector<std::uint32_t> points;
  points.reserve(shares.size());
  for (const HeldShare& share : shares) points.push_back(share.point);
  return points;
}

std::vector<Row> syndromes_of(std::span<const HeldShare> shares, std::size_t count) {
  std::vector<Row> parts(kShareParts, Row(shares.size()));
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const Values values = values_of(shares[i]);
    for (std::size_t part = 0; part < kShareParts; ++part) parts[part][i] = values[part];
  }
  return syndromes_of(points_of(shares), parts, count);
}

// The one solution of rows · (unknowns, 1) = 0; nothing if there is none or more than one.
std::optional<Row> solve(std::vector<Row> rows, std::size_t unknowns) {
  std::size_t done = 0;
  for (std::size_t column = 0; column < unknowns; ++column) {
    std::size_t pivot = done;
    while (pivot < rows.size() && rows[pivot][column] == 0) ++pivot;
    if (pivot == rows.size()) return std::nullopt;
    std::swap(rows[pivot], rows[done]);
    const std::uint64_t factor = inverse(rows[done][column]);
    for (std::uint64_t& value : rows[done]) value = multiply(value, factor);
    for (std::size_t other = 0; other < rows.size(); ++other) {
      const std::uint64_t times = rows[other][column];
      if (other == done || times == 0) continue;
      for (std::size_t k = column; k <= unknowns; ++k) {
        rows[other][k] = subtract(rows[other][k], multiply(times, rows[done][k]));
      }
    }
    ++done;
  }
  for (std::size_t other = done; other < rows.size(); ++other) {
    if (rows[other][unknowns] != 0) return std::nullopt;
  }
  Row solution(unknowns);
  for (std::size_t i = 0; i < unknowns; ++i) solution[i] = subtract(0, rows[i][unknowns]);
  return solution;
}

// The indices of `errors` wrong shares, if that many explain all syndromes: the coefficients of the polynomial Λ whose
// roots are their points solve Σ_j Λ_j S_{k+j} = 0.
std::optional<std::vector<std::size_t>> locate(const std::vector<std::uint32_t>& points,
                                               const std::vector<Row>& syndromes, std::size_t errors) {
  std::vector<Row> equations;
  for (const Row& row : syndromes) {
    for (std::size_t k = 0; k + errors < row.size(); ++k) {
      equations.emplace_back(row.begin() + static_cast<std::ptrdiff_t>(k),
                             row.begin() + static_cast<std::ptrdiff_t>(k + errors + 1));
    }
  }
  const std::optional<Row> locator = solve(std::move(equations), errors);
  if (!locator.has_value()) return std::nullopt;
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::uint64_t value = 1;
    for (std::size_t k = errors; k-- > 0;) value = add(multiply(value, points[i]), (*locator)[k]);
    if (value == 0) wrong.push_back(i);
  }
  return wrong.size() == errors ? std::optional(std::move(wrong)) : std::nullopt;
}

std::vector<HeldShare> without(std::span<const HeldShare> shares, const std::vector<std::size_t>& left_out) {
  std::vector<HeldShare> rest;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (!std::binary_search(left_out.begin(), left_out.end(), i)) rest.push_back(shares[i]);
  }
  return rest;
}

std::optional<Secret32> secret_of(std::span<const HeldShare> shares, std::uint32_t threshold,
                                  const std::function<bool(const Secret32&)>& is_right) {
  auto secret = recover_secret(shares.first(threshold), threshold);
  if (!secret.has_value() || !is_right(secret.value())) return std::nullopt;
  return std::move(secret).value();
}

// Which shares are not on the polynomials that the right ones, a threshold of them, span.
std::vector<std::size_t> off_the_polynomials(std::span<const HeldShare> shares, std::uint32_t threshold,
                                             const std::vector<std::size_t>& left_out) {
  std::vector<HeldShare> on = without(shares, left_out);
  on.resize(threshold);
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const bool chosen =
        std::any_of(on.begin(), on.end(), [&](const HeldShare& s) { return s.point == shares[i].point; });
    if (chosen) continue;
    on.push_back(shares[i]);
    if (!are_consistent(on, threshold)) wrong.push_back(i);
    on.pop_back();
  }
  return wrong;
}

// The next set of `left_out.size()` indices below `count`, in lexicographic order; false after the last one.
bool advance(std::vector<std::size_t>& left_out, std::size_t count) {
  for (std::size_t i = left_out.size(); i-- > 0;) {
    if (left_out[i] + left_out.size() - i >= count) continue;
    ++left_out[i];
    for (std::size_t k = i + 1; k < left_out.size(); ++k) left_out[k] = left_out[k - 1] + 1;
    return true;
  }
  return false;
}

}  // namespace

bool are_consistent(std::span<const HeldShare> shares, std::uint32_t threshold) {
  if (shares.size() <= threshold) return true;
  return are_zero(syndromes_of(shares, shares.size() - threshold));
}

std::optional<std::vector<std::size_t>> wrong_values(std::span<const std::uint32_t> points,
                                                     std::span<const std::uint64_t> values, std::uint32_t threshold) {
  if (threshold < 1 || points.size() != values.size() || values.size() < threshold) return std::nullopt;
  const std::vector<std::uint32_t> at(points.begin(), points.end());
  const std::size_t spare = values.size() - threshold;
  const std::vector<Row> parts(1, Row(values.begin(), values.end()));
  const std::vector<Row> syndromes = syndromes_of(at, parts, spare);
  if (are_zero(syndromes)) return std::vector<std::size_t>();
  // A recurrence with as many roots among the points as it has coefficients explains all syndromes by these points.
  for (std::size_t errors = 1; 2 * errors <= spare; ++errors) {
    if (auto wrong = locate(at, syndromes, errors)) return wrong;
  }
  return std::nullopt;
}

std::optional<DecodedSecret> decode_shares(std::span<const HeldShare> shares, std::uint32_t threshold,
                                           const std::function<bool(const Secret32&)>& is_right) {
  if (threshold < 1 || shares.size() < threshold) return std::nullopt;
  const std::size_t spare = shares.size() - threshold;
  const std::vector<std::uint32_t> points = points_of(shares);
  const auto syndromes = syndromes_of(shares, spare);
  for (std::size_t errors = 0; errors == 0 || errors < spare; ++errors) {
    const auto wrong =
        errors == 0 ? std::optional<std::vector<std::size_t>>(std::in_place) : locate(points, syndromes, errors);
    if (!wrong.has_value()) continue;
    if (errors == 0 && !are_zero(syndromes)) continue;
    const std::vector<HeldShare> rest = without(shares, *wrong);
    auto secret = secret_of(rest, threshold, is_right);
    if (secret.has_value()) return DecodedSecret{std::move(*secret), *wrong};
    if (errors == 0) return std::nullopt;  // all shares agree on another secret
  }
  // More are wrong than equations can tell. Leaves out as many as there are to spare, in every way, if these are few.
  std::size_t combinations = 1;
  for (std::size_t i = 0; i < spare && combinations <= kCombinations; ++i) {
    combinations = combinations * (shares.size() - i) / (i + 1);
  }
  if (combinations > kCombinations) return std::nullopt;
  std::vector<std::size_t> left_out(spare);
  for (std::size_t i = 0; i < spare; ++i) left_out[i] = i;
  do {
    auto secret = secret_of(without(shares, left_out), threshold, is_right);
    if (secret.has_value()) return DecodedSecret{std::move(*secret), off_the_polynomials(shares, threshold, left_out)};
  } while (advance(left_out, shares.size()));
  return std::nullopt;
}

}  // namespace noisefloor::secagg
