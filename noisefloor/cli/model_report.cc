#include "noisefloor/cli/model_report.h"

#include "noisefloor/cli/report_json.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "noisefloor/training/run_notes.h"

namespace noisefloor::cli {

nlohmann::ordered_json as_json(const Quality& quality) { return nlohmann::ordered_json::parse(to_json(quality)); }

std::string in_words(const Quality& quality) {
  std::string text;
  if (quality.positions > 0) text += fmt::format("perplexity {:.3f}, next character: ", std::exp(quality.loss));
  if (quality.accuracy) text += fmt::format("accuracy {:.2f} %", 100 * *quality.accuracy);
  if (quality.majority_accuracy) text += fmt::format(" (majority {:.2f} %)", 100 * *quality.majority_accuracy);
  if (quality.accuracy) text += ", ";
  if (quality.auc) text += fmt::format("AUC {:.4f}, ", *quality.auc);
  if (quality.f1) text += fmt::format("F1 {:.4f}, ", *quality.f1);
  if (quality.recall_at_20) text += fmt::format("recall@20 {:.4f}, ", *quality.recall_at_20);
  if (quality.rmse) text += fmt::format("RMSE {:.5g}", *quality.rmse);
  if (quality.mean_rmse) text += fmt::format(" (of the mean {:.5g})", *quality.mean_rmse);
  if (quality.rmse) text += ", ";
  return text + fmt::format("loss {:.4f} ({} examples, taken as public)", quality.loss, quality.examples);
}

void report_quality(Report& report, const char* which, const Quality& quality) {
  report.set(which, as_json(quality));
  report.line(which, in_words(quality));
}

}  // namespace noisefloor::cli
