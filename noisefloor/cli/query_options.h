// The options of queries: what is asked, of which dataset, and with which noise.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/cli/charge.h"
#include "noisefloor/query/ask.h"

namespace noisefloor::cli {

struct QueryOptions : ChargeOptions {
  std::string dataset;
  std::string statement;
  std::string file;
  std::string epsilon;
  std::string delta = "0";
  std::string noise = "auto";
  std::string confidence = "0.95";
  std::string weights;
  std::string key_share;
  std::string max_groups;
  std::string max_rows_per_group;
  std::string max_rows_per_unit;
  std::vector<std::string> bounds;
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
