// What an analyst states beside a query, as texts: from a command line, a form or a file.
//
// Errors:        name the field: "epsilon must be …".
// Thread safety: pure functions; plain data.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/query/ask.h"

namespace noisefloor::query {

struct TermsText {
  std::string epsilon;
  std::string delta = "0";
  std::string noise = "auto";
  std::string confidence = "0.95";
  std::string weights = {};  // "1,5"
  std::string key_share = {};
  std::string max_groups = {};
  std::string max_rows_per_group = {};
  std::string max_rows_per_unit = {};
  std::vector<std::string> bounds = {};  // "cost=0..500"
};

[[nodiscard]] Result<AskTerms> terms_of(const TermsText& text);

}  // namespace noisefloor::query
