// Any bytes as a statement: accounting never crashes, and its answers are intervals of numbers that make sense.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/base/check.h"
#include "noisefloor/event/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace noisefloor;
  // Long documents only cost time.
  if (size > 600) return 0;
  const auto statement = parse_statement({reinterpret_cast<const char*>(data), size});
  if (!statement.has_value()) return 0;
  const auto epsilon = pld_epsilon(statement.value().event, statement.value().adjacency, Delta::of(1e-6));
  if (!epsilon.has_value()) {
    NF_CHECK(!epsilon.error().message.empty(), "a refusal without a reason");
    return 0;
  }
  const Interval found = epsilon.value();
  NF_CHECK(found.lower >= 0 && found.lower <= found.upper, "bounds that are not in order");
  NF_CHECK(std::isfinite(found.upper) || contains<NonPrivateEvent>(statement.value().event), "an infinite epsilon");
  return 0;
}
