// Any bytes as a statement or an event: never a crash; and what is accepted survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "noisefloor/base/check.h"
#include "noisefloor/event/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace noisefloor;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto event = parse_event(text); event.has_value()) {
    NF_CHECK(parse_event(to_json(event.value())).value() == event.value(), "an event changed on its way through JSON");
  }
  if (const auto statement = parse_statement(text); statement.has_value()) {
    NF_CHECK(parse_statement(to_json(statement.value())).value() == statement.value(),
             "a statement changed on its way through JSON");
  }
  return 0;
}
