// Observes a job while it runs, and may stop it. Observers are told only what is public.
//
// Thread safety: called from the thread that runs the job.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "noisefloor/ledger/dataset_outcome.h"
#include "noisefloor/model/quality.h"
#include "noisefloor/training/training_run.h"

namespace noisefloor {

// How good the model is at present, on examples that are declared public.
struct PublicQuality {
  const char* examples;  // "validation" or "test"
  Quality quality;
};

class TrainingObserver {
 public:
  TrainingObserver() = default;
  TrainingObserver(const TrainingObserver&) = delete;
  TrainingObserver& operator=(const TrainingObserver&) = delete;
  virtual ~TrainingObserver() = default;

  // A run begins; `title` distinguishes the runs of one job, and is empty if there is only one.
  virtual void begin(const std::string& title) { (void)title; }
  // Called about once a second, and after the last step.
  virtual void progress(const TrainingProgress& progress, const std::optional<PublicQuality>& quality) {
    (void)progress;
    (void)quality;
  }
  // One line of information.
  virtual void note(const std::string& text) { (void)text; }
  // A problem that does not end the job: one line.
  virtual void warning(const std::string& text) { (void)text; }
  // A checkpoint was written to this file.
  virtual void checkpoint(const std::string& path) { (void)path; }
  // The run was refused or failed before its first step, and an earlier run that was cut short has left this
  // checkpoint.
  virtual void earlier_checkpoint(const std::string& path) { (void)path; }
  // The run was refused because the rows do not belong to this dataset.
  virtual void conflict(const DatasetConflict& conflict) { (void)conflict; }
};

// Lets the caller observe and stop a job. A job that is stopped ends after its present step, with what it has so far.
struct JobControl {
  TrainingObserver* observer = nullptr;  // none: nobody observes
  std::function<bool()> stop = {};       // none: nobody stops it

  [[nodiscard]] bool stop_asked() const { return stop && stop(); }
  void warn(const std::string& text) const {
    if (observer != nullptr) observer->warning(text);
  }
};

}  // namespace noisefloor
