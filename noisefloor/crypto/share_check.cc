#include "noisefloor/crypto/share_check.h"

#include <cstring>

#include "noisefloor/base/check.h"
#include "noisefloor/crypto/field61.h"

namespace noisefloor {
namespace {

std::uint64_t word(Bytes bytes, std::size_t index) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + 8 * index, sizeof value);
  return value;
}

}  // namespace

CheckCoefficients check_coefficients(std::span<const std::uint8_t, 8 * kCheckParts> uniform) {
  CheckCoefficients coefficients{};
  for (std::size_t i = 0; i < kCheckParts; ++i) {
    coefficients[i] = field61::reduced_once(word(uniform, i) & field61::kPrime);
  }
  return coefficients;
}

Result<std::vector<Blinding>> draw_blinding(std::uint32_t threshold, std::span<const std::uint32_t> points,
                                            const FillUniform& uniform) {
  NF_TRY(std::vector<std::uint64_t> values, uniform_polynomial(threshold, points, uniform));
  std::vector<Blinding> blinding(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(blinding[i].bytes().data(), &values[i], kCheckBytes);
  wipe({reinterpret_cast<std::uint8_t*>(values.data()), 8 * values.size()});
  return blinding;
}

std::uint64_t check_value(Bytes first_share, Bytes second_share, Bytes blinding,
                          const CheckCoefficients& coefficients) {
  NF_CHECK(is_share(first_share) && is_share(second_share) && is_check_value(blinding), "shares of the right form");
  std::uint64_t sum = word(blinding, 0);
  for (std::size_t i = 0; i < kShareParts; ++i) {
    sum = field61::add(sum, field61::multiply(coefficients[i], word(first_share, i)));
    sum = field61::add(sum, field61::multiply(coefficients[kShareParts + i], word(second_share, i)));
  }
  return sum;
}

bool is_check_value(Bytes bytes) { return bytes.size() == kCheckBytes && word(bytes, 0) < field61::kPrime; }

}  // namespace noisefloor
