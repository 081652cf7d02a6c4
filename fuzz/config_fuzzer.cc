// Any bytes as a pipeline: reading and checking never crash, and what passes keeps its budget.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "noisefloor/base/check.h"
#include "noisefloor/config/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace noisefloor;
  // Long documents only cost time.
  if (size > 2000) return 0;
  const PipelineText read = read_pipeline({reinterpret_cast<const char*>(data), size});
  for (const Finding& finding : read.findings) {
    NF_CHECK(finding.place.line > 0 && !finding.message.empty() && !finding.remedy.empty(), "an incomplete finding");
  }
  // Many runs of many kinds compose slowly.
  if (read.pipeline.runs.size() > 3) return 0;
  const Assessment assessment = assess(read.pipeline);
  for (const Finding& finding : assessment.findings) {
    NF_CHECK(finding.place.line > 0 && !finding.message.empty() && !finding.remedy.empty(), "an incomplete finding");
  }
  if (has_errors(read.findings) || has_errors(assessment.findings)) return 0;
  NF_CHECK(assessment.composed.has_value(), "passed without a bound");
  NF_CHECK(assessment.composed->upper <= read.pipeline.budget.epsilon.value->value() * (1 + 1e-12), "above the total");
  return 0;
}
