// Watches a run while it goes on: its progress, and how good the model is on public examples.
//
// Guarantee:     this code looks only at examples that are declared public: those for validation, or else those for
//                tests.
// Thread safety: none.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/sgd/trainable_model.h"
#include "noisefloor/training/examples.h"
#include "noisefloor/training/observer.h"

namespace noisefloor {

// Public examples on which the model is measured now and then.
struct Watched {
  const char* name;  // "validation" or "test"
  Dataset examples;
};

// Enough to see where a training goes, and few enough not to slow it down.
inline constexpr std::size_t kMostWatched = 1000;

// All public examples, or kMostWatched of them drawn at random, the same ones each time. Nothing if none are public.
[[nodiscard]] Result<std::optional<Watched>> watched_of(const TrainingExamples& examples);

// One line of metrics.jsonl.
[[nodiscard]] std::string metrics_line(const TrainingProgress& progress, const std::optional<PublicQuality>& quality);

class RunWatch {
 public:
  // All arguments must outlive the watch.
  RunWatch(TrainableModel& model, const DpSgd& sgd, const JobControl& control, std::optional<Watched> watched)
      : model_(&model), sgd_(&sgd), control_(&control), watched_(std::move(watched)) {}

  // From now on, appends metrics to this file.
  void write_to(const std::string& path);
  void show(const TrainingProgress& progress);
  [[nodiscard]] const TrainingProgress& last() const { return last_; }

 private:
  // Measures the model, in at most a twentieth of the time.
  [[nodiscard]] std::optional<PublicQuality> look(const TrainingProgress& progress);

  TrainableModel* model_;
  const DpSgd* sgd_;
  const JobControl* control_;
  std::optional<Watched> watched_;
  double next_ = 0;  // the second at which to measure next
  std::ofstream metrics_;
  TrainingProgress last_;
};

}  // namespace noisefloor
