// What people ask an accountant: a training or repeated queries in the numbers that they have, and the value that they
// look for. The events are built here, so that every front end asks the same question for the same numbers.
//
// Guarantee:     a training's event is that of event/dp_sgd_event.h: the noise multiplier is σ divided by the clip
//                norm, for every draw. What is solved for keeps the target by the certified accountant (calibrate.h).
// Refused:       numbers that contradict each other or do not say enough, and draws that have no bound.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "noisefloor/accounting/calibrate.h"
#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/event/dp_sgd_event.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {

// "poisson" or "fixed-size". "shuffled" is refused with the reason why it has no bound.
[[nodiscard]] Result<Draw> parse_draw(std::string_view text);

// The parts of a training that do not depend on its noise.
struct PlannedRun {
  BatchLaw law;
  Steps steps;

  [[nodiscard]] DpEvent event(NoiseMultiplier noise) const { return law.run(noise, steps); }
};

// A training as people state it.
struct StatedTraining {
  Draw draw = Draw::kPoisson;
  std::optional<SamplingRate> rate;  // or the two below; batches of fixed size need the two
  std::optional<Rows> batch;
  std::optional<Rows> rows;
  std::optional<Steps> steps;  // or epochs
  std::optional<double> epochs;

  // Whether anything says how batches are drawn.
  [[nodiscard]] bool samples() const { return rate || batch || rows || draw == Draw::kFixedSize; }
  [[nodiscard]] Result<BatchLaw> law(Adjacency adjacency) const;
  [[nodiscard]] Result<PlannedRun> run(Adjacency adjacency) const;
};

// Repeated noise of one kind.
enum class QueryNoise : std::uint8_t { kGaussian, kLaplace };
[[nodiscard]] DpEvent repeated_noise(QueryNoise kind, NoiseMultiplier noise, Steps count);

// A number that a question was asked in.
struct QuestionNumber {
  std::string name;
  std::variant<double, std::uint64_t> value;
};

// An event with what is to be said about it.
struct AccountQuestion {
  DpStatement statement;
  std::string sampling = "none";      // or the name of the draw
  std::vector<std::string> warnings;  // what looks mis-stated
  std::vector<std::string> remarks;   // what the answer does and does not cover
  std::vector<QuestionNumber> parameters = {};
};

[[nodiscard]] AccountQuestion question_about(const PlannedRun& run, NoiseMultiplier noise, PrivacyUnit unit);
[[nodiscard]] AccountQuestion question_about(QueryNoise kind, NoiseMultiplier noise, Steps count, Adjacency adjacency,
                                             PrivacyUnit unit);
// `count` randomized responses of one person.
[[nodiscard]] AccountQuestion question_about(RandomizedResponseEvent response, Steps count, Adjacency adjacency,
                                             PrivacyUnit unit);
// Events that were recorded elsewhere.
[[nodiscard]] AccountQuestion question_about(DpStatement recorded);

// What ε says about these neighbours, in a sentence.
[[nodiscard]] std::string meaning_of(const DpStatement& statement, double epsilon);

// --- What fits a target ----------------------------------------------------------------------------------------------

enum class SolveFor : std::uint8_t { kNoise, kSteps, kRate, kBatch };

// How good a solution is (calibrate.h): beyond `limit` nothing reaches the target.
struct SolutionLimit {
  double limit;
  bool is_best;
};

struct SolvedTraining {
  PlannedRun run;
  NoiseMultiplier noise;
  Interval epsilon;  // certified; at most the target
  SolutionLimit limit;
};

// The least noise, the most steps, the largest rate or the largest batch. Needs all but the unknown; a rate is found
// for Poisson batches only, and rates and batches for a number of steps.
[[nodiscard]] Result<SolvedTraining> solve_training(const Target& target, const StatedTraining& stated,
                                                    std::optional<NoiseMultiplier> noise, SolveFor unknown);

struct SolvedQueries {
  NoiseMultiplier noise;
  Steps count;
  Interval epsilon;
  SolutionLimit limit;
};

// The least noise for `count` queries, or the most queries with this noise.
[[nodiscard]] Result<SolvedQueries> solve_noise(const Target& target, QueryNoise kind, Steps count);
[[nodiscard]] Result<SolvedQueries> solve_count(const Target& target, QueryNoise kind, NoiseMultiplier noise);

// --- Curves ----------------------------------------------------------------------------------------------------------

struct EpsilonPoint {
  double delta;
  Interval epsilon;
};

// Certified ε at 61 values of δ from 1e-12 to 0.1, evenly in ratio. Points without a finite ε are left out.
[[nodiscard]] std::vector<EpsilonPoint> epsilon_curve(const DpEvent& event, Adjacency adjacency);

}  // namespace noisefloor
