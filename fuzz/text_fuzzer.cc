// Any bytes as numbers and as lists of named numbers: never a crash, and never anything but finite numbers.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "noisefloor/base/check.h"
#include "noisefloor/base/text.h"
#include "noisefloor/statistics/private_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace noisefloor;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto value = parse_number("--x", text); value.has_value())
    NF_CHECK(std::isfinite(value.value()), "not finite");
  static_cast<void>(parse_integer("--x", text));
  static_cast<void>(parse_count("--x", text));
  if (const auto list = parse_named_numbers("--x", text); list.has_value()) {
    NF_CHECK(list.value().names.size() == list.value().numbers.size(), "a name for every number");
    for (double number : list.value().numbers) NF_CHECK(std::isfinite(number), "not finite");
  }
  return 0;
}
