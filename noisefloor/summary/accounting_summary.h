// What accountants answer, for people and as JSON: ε at a δ, δ at an ε, every accountant side by side, the parameter
// that keeps a budget, and curves.
//
// Guarantee:     an interval is the certified one of the accountant; an estimate is called an estimate.
// Thread safety: pure functions, except write_curve, which writes two files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "noisefloor/accounting/accounting_question.h"
#include "noisefloor/accounting/comparison.h"
#include "noisefloor/base/result.h"
#include "noisefloor/summary/summary.h"

namespace noisefloor {

// ε at this δ by one accountant, or by all of them side by side.
[[nodiscard]] Result<Summary> epsilon_summary(const AccountQuestion& question, Delta delta,
                                              std::optional<Accountant> accountant);
// δ at this ε, by privacy loss distributions.
[[nodiscard]] Result<Summary> delta_summary(const AccountQuestion& question, PrivacyLoss epsilon);

// Solves for what is unknown, and says what was found.
[[nodiscard]] Result<Summary> solution_summary(const Target& target, const StatedTraining& stated,
                                               std::optional<NoiseMultiplier> noise, SolveFor unknown,
                                               PrivacyUnit unit);
// The least noise for `count` queries if that is given; otherwise the most queries with this noise. Requires one of the
// two.
[[nodiscard]] Result<Summary> solution_summary(const Target& target, QueryNoise kind, std::optional<Steps> count,
                                               std::optional<NoiseMultiplier> noise, PrivacyUnit unit);

// ε over δ, or the error rates that a test of one record trades off.
enum class CurveKind : std::uint8_t { kEpsilon, kTradeoff };
[[nodiscard]] std::string_view name_of(CurveKind kind);

// Writes PREFIX.csv and PREFIX.svg, and names them in the summary. Refused for events without a finite ε.
[[nodiscard]] Result<void> write_curve(Summary& summary, CurveKind kind, const DpStatement& statement,
                                       const std::string& prefix);

}  // namespace noisefloor
