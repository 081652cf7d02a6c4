// Any bytes as a pipeline: reading and checking never crash, and what passes keeps its budget. And as a training: what
// passes is whole.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "noisefloor/base/check.h"
#include "noisefloor/config/pipeline_check.h"
#include "noisefloor/config/training.h"

namespace {

using namespace noisefloor;

void expect_complete(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    NF_CHECK(finding.place.line > 0 && !finding.message.empty() && !finding.remedy.empty(), "an incomplete finding");
  }
}

void read_as_training(std::string_view text) {
  const TrainingText read = read_training(text);
  expect_complete(read.findings);
  NF_CHECK(read.training.has_value() != has_errors(read.findings), "a training, or an error");
  if (!read.training) return;
  const TrainingPrivacy& privacy = read.training->privacy;
  NF_CHECK(!privacy.private_training || read.training->descent.clip.has_value(), "private without clipping");
  NF_CHECK(privacy.private_training == (privacy.target_epsilon.has_value() != privacy.noise_multiplier.has_value()),
           "private without one statement of noise");
  NF_CHECK(!privacy.target_epsilon || *privacy.target_epsilon <= privacy.epsilon, "above the total");
  if (const auto* table = std::get_if<CsvTable>(&read.training->data.format)) {
    NF_CHECK(check_schema(table->schema).has_value(), "a schema that has no meaning");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Long documents only cost time.
  if (size > 2000) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_as_training(text);
  const PipelineText read = read_pipeline(text);
  expect_complete(read.findings);
  // Many runs of many kinds compose slowly.
  if (read.pipeline.runs.size() > 3) return 0;
  const Assessment assessment = assess(read.pipeline);
  expect_complete(assessment.findings);
  if (has_errors(read.findings) || has_errors(assessment.findings)) return 0;
  NF_CHECK(assessment.composed.has_value(), "passed without a bound");
  NF_CHECK(assessment.composed->upper <= read.pipeline.budget.epsilon.value->value() * (1 + 1e-12), "above the total");
  return 0;
}
