#include "noisefloor/cli/model_report.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace noisefloor::cli {

nlohmann::ordered_json as_json(const Quality& quality) {
  nlohmann::ordered_json json{{"examples", quality.examples}, {"loss", quality.loss}};
  if (quality.accuracy) json["accuracy"] = *quality.accuracy;
  if (quality.f1) json["f1"] = *quality.f1;
  if (quality.recall_at_20) json["recall_at_20"] = *quality.recall_at_20;
  if (quality.positions > 0) json["perplexity"] = std::exp(quality.loss);
  return json;
}

void report_quality(Report& report, const char* which, TrainableModel& model, std::span<const float> weights,
                    const Dataset& data) {
  const Quality quality = model.quality(weights, data);
  std::string text;
  if (quality.positions > 0) text += fmt::format("perplexity {:.3f}, next character: ", std::exp(quality.loss));
  if (quality.accuracy) text += fmt::format("accuracy {:.2f} %, ", 100 * *quality.accuracy);
  if (quality.f1) text += fmt::format("F1 {:.4f}, ", *quality.f1);
  if (quality.recall_at_20) text += fmt::format("recall@20 {:.4f}, ", *quality.recall_at_20);
  report.set(which, as_json(quality));
  report.line(which, fmt::format("{}loss {:.4f} ({} examples, taken as public)", text, quality.loss, quality.examples));
}

}  // namespace noisefloor::cli
