// Checks of one run: what its keys say, before and after its cost is known. Internal to config/.
#pragma once

#include "noisefloor/config/pipeline_check.h"

namespace noisefloor::internal {

// The findings about one run: each says which one it is, and points at the run where it points at nothing else.
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

// Warns if a total promises little.
void check_size(const Located<Epsilon>& total, Findings& findings);

// What is wrong with batches of fixed size under add-remove, and what to do.
inline constexpr const char* kFixedSizeAddRemove =
    "batches of fixed size under add-remove: neighbours have different numbers of rows, and no common law of batches";
inline constexpr const char* kNotFixedSize = R"(sampler = "poisson", or adjacency = "replace-one" in [budget])";

// Whether ε is above a limit, by more than what decimal fractions lose as doubles.
[[nodiscard]] inline bool exceeds(double epsilon, double limit) { return !(epsilon <= limit * (1 + 1e-12)); }

// Two numbers for people, with as many digits as it takes to tell them apart.
[[nodiscard]] std::string shown_number(double value, double beside);
// A noise multiplier to write into a file: four decimals, rounded up.
[[nodiscard]] std::string shown_noise(double noise);

// What is wrong with a run as it is stated. After an error it has no bound.
void check_statement(const Pipeline& pipeline, const Run& run, Findings& findings);

// What its numbers say, and its cost if that is known.
void check_cost(const Pipeline& pipeline, const Run& run, const RunAssessment& assessment, Findings& findings);

}  // namespace noisefloor::internal
