// The options of queries: what is asked, of which dataset, and with which noise.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/cli/charge.h"
#include "noisefloor/query/terms_text.h"

namespace noisefloor::cli {

struct QueryOptions : ChargeOptions {
  std::string dataset;
  std::string statement;
  std::string file;
  query::TermsText text;
  bool explain = false;
  bool csv = false;
  bool create = false;

  void add_terms_to(CLI::App& command);
  [[nodiscard]] Result<query::AskTerms> terms() const;
};

// Asks, explains or forecasts these statements, as the options say.
[[nodiscard]] Result<Summary> run_statements(const QueryOptions& o, const DescribedRows& rows,
                                             const std::vector<std::string>& statements);

}  // namespace noisefloor::cli
