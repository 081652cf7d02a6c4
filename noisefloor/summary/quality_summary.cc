#include "noisefloor/summary/quality_summary.h"

#include <fmt/format.h>

#include <cmath>

#include "noisefloor/summary/summary_json.h"
#include "noisefloor/training/run_notes.h"

namespace noisefloor {

nlohmann::ordered_json quality_json(const Quality& quality, bool private_rows) {
  return nlohmann::ordered_json::parse(to_json(quality, private_rows));
}

std::string in_words(const Quality& quality, bool private_rows) {
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
  return text + fmt::format("loss {:.4f} ({} examples, {})", quality.loss, quality.examples,
                            private_rows ? "kept from private rows: measured without noise" : "taken as public");
}

void add_quality(Summary& summary, const char* which, const Quality& quality, bool private_rows) {
  summary.set(which, quality_json(quality, private_rows));
  summary.line(which, in_words(quality, private_rows));
}

Summary evaluation_summary(const std::string& model, const Quality& quality, bool private_rows) {
  Summary summary(fmt::format("{} on its test data", model));
  summary.set("model", model);
  add_quality(summary, "test", quality, private_rows);
  return summary;
}

Summary summary_of(const Predictions& predictions, const std::string& model, const std::string& output) {
  Summary summary(fmt::format("Predictions of {}", model));
  summary.set("model", model);
  summary.set("predictions", output);
  summary.set("examples", predictions.examples);
  summary.line("predictions", fmt::format("{} ({} examples)", output, predictions.examples));
  return summary;
}

}  // namespace noisefloor
