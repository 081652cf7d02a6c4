// Questions whose answer is a choice, ready for release_answer (release/answer_road.h): parameters in, Question out.
//
// Guarantee:     that of number_questions.h. Names of candidates are taken as public; scores and answers are private.
// Thread safety: pure functions. A question may be drawn by several threads, each with a source of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/mechanisms/above_threshold.h"
#include "noisefloor/mechanisms/selection.h"
#include "noisefloor/mechanisms/sensitivity.h"
#include "noisefloor/release/question.h"

namespace noisefloor {

// Private numbers with public names: as many numbers as names.
struct NamedNumbers {
  std::vector<std::string> names;
  std::vector<double> numbers;
};

struct SelectionQuery {
  SelectionOptions options;
  Sensitivity sensitivity;  // sensitivity of any one score
  Epsilon epsilon;          // divided among the choices
  std::uint64_t top = 1;    // how many are chosen
  Confidence confidence = Confidence::of(0.95);
};

// The value "chosen" is a table of index and name, the best first; the bound is "score_gap", for each choice.
[[nodiscard]] Result<Question> selection_question(NamedNumbers candidates, const SelectionQuery& query);

// The value "replies" is a table of name and above, in order, up to the last reply that is given.
[[nodiscard]] Result<Question> threshold_question(NamedNumbers answers, const Sensitivity& sensitivity, Epsilon epsilon,
                                                  AboveThresholdOptions options);

// The value is a category, and "truth_probability" a fact. `truth` is private.
[[nodiscard]] Result<Question> response_question(std::uint64_t truth, Categories categories, PrivacyUnit unit,
                                                 Epsilon epsilon);

}  // namespace noisefloor
