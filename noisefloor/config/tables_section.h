// [data] and [[table]] of a description of tables. Internal to config/.
#pragma once

#include <string>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/config/toml_reader.h"
#include "noisefloor/dataset/tables.h"

namespace noisefloor::internal {

// Whose rows the tables hold, as [unit] says it.
struct TablesUnit {
  PrivacyUnit unit = PrivacyUnit::kRow;
  std::string column = {};  // of all tables that name no other
  bool public_data = false;
};

// Whether [data] of the document says format = "tables".
[[nodiscard]] bool holds_tables(const toml::table& document);
[[nodiscard]] TablesFormat read_tables(const toml::table& data, const std::vector<const toml::table*>& tables,
                                       const TablesUnit& unit, Findings& findings);

}  // namespace noisefloor::internal
