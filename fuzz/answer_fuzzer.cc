// Any bytes as an answer, a document or a certificate: never a crash, and what is accepted is written back as it was
// read.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "noisefloor/base/check.h"
#include "noisefloor/release/answer.h"
#include "noisefloor/release/verify_release.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace noisefloor;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto answer = parse_answer(text); answer.has_value()) {
    NF_CHECK(check_answer(answer.value()).has_value(), "what was read can be written");
    const auto again = parse_answer(to_json(answer.value()));
    NF_CHECK(again.has_value() && to_json(again.value()) == to_json(answer.value()), "an answer changed on its way");
  }
  if (const auto release = verify_release(text); !release.has_value()) {
    NF_CHECK(release.error().message.find('\n') == std::string::npos, "a refusal is one line");
  }
  return 0;
}
