// The answers of accountants, for people and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "noisefloor/accounting/accounting_question.h"
#include "noisefloor/base/result.h"
#include "noisefloor/cli/report.h"

namespace noisefloor::cli {

// A question with the numbers that it was asked in.
struct Asked {
  AccountQuestion question;
  nlohmann::ordered_json parameters;
};

// By whom it is answered, and which curve is written beside the answer.
struct AnswerForm {
  std::string accountant = "pld";
  std::string curve;   // "epsilon", "tradeoff", or none
  std::string output;  // PREFIX.csv and PREFIX.svg; KIND-curve if empty
};

[[nodiscard]] Result<Report> epsilon_report(const Asked& asked, Delta delta, const AnswerForm& form);
[[nodiscard]] Result<Report> delta_report(const Asked& asked, PrivacyLoss epsilon, const AnswerForm& form);

// Adds what stands at the end of every answer.
[[nodiscard]] Result<Report> finished_report(Report report, const Asked& asked, double epsilon, double seconds,
                                             const AnswerForm& form);

}  // namespace noisefloor::cli
