// Checks what the keys of one run say, before and after its cost is known. Internal to config/.
#pragma once

#include "noisefloor/config/pipeline_check.h"

namespace noisefloor::internal {

// Adds findings about one run. Each names the run, and points at the run if it points at nothing else.
class RunChecker {
 public:
  RunChecker(const Pipeline& pipeline, const Run& run, Findings& findings)
      : pipeline_(pipeline), run_(run), schedule_(schedule_of(pipeline, run)), findings_(findings) {}

 protected:
  void error(const char* code, Place place, const std::string& message, std::string remedy);
  void warning(const char* code, Place place, const std::string& message, std::string remedy);

  const Pipeline& pipeline_;
  const Run& run_;
  const Schedule schedule_;

 private:
  Findings& findings_;
};

// Warns if the total is so large that it promises little.
void check_size(const Located<Epsilon>& total, Findings& findings);

// The message and the remedy for batches of fixed size under add-remove.
inline constexpr const char* kFixedSizeAddRemove =
    "batches of fixed size do not work under add-remove: neighbours have different numbers of rows, and no common law "
    "of batches";
inline constexpr const char* kNotFixedSize = R"(sampler = "poisson", or adjacency = "replace-one" in [budget])";

// Whether ε is above a limit by more than decimal fractions lose as doubles.
[[nodiscard]] inline bool exceeds(double epsilon, double limit) { return !(epsilon <= limit * (1 + 1e-12)); }

// `value` as text for people, with enough digits to tell it from `beside`.
[[nodiscard]] std::string shown_number(double value, double beside);
// A noise multiplier to write into a file: four decimals, rounded up.
[[nodiscard]] std::string shown_noise(double noise);

// Checks a run as it is stated. After an error it has no bound.
void check_statement(const Pipeline& pipeline, const Run& run, Findings& findings);

// Checks the numbers of a run, and its cost if that is known.
void check_cost(const Pipeline& pipeline, const Run& run, const RunAssessment& assessment, Findings& findings);

}  // namespace noisefloor::internal
