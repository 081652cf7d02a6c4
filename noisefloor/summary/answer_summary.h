// An answer for people and for programs: the same fields for every mechanism that has them.
#pragma once

#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/outlook.h"
#include "noisefloor/release/answer.h"
#include "noisefloor/release/answer_road.h"
#include "noisefloor/summary/summary.h"

namespace noisefloor {

// `guarantee` is what was asked for, in the words of whoever asked: "epsilon 1, delta 1e-6".
[[nodiscard]] Summary summary_of(const Answer& answer, const std::string& guarantee);

// An answer that was paid for: the certified document as JSON, and what was charged.
[[nodiscard]] Summary summary_of(const ReleasedAnswer& released, const std::string& guarantee);

// What asking would cost, and whether the budget allows for it; it fails with kBudgetExhausted if not.
[[nodiscard]] Result<Summary> outlook_summary(const Question& question, const AnswerRequest& request,
                                              const Outlook& outlook);

}  // namespace noisefloor
