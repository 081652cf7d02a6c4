// Members of a ledger, for people and as JSON: who may do what, and until when.
//
// Thread safety: as Ledger.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/summary/summary.h"

namespace noisefloor {

// The words of an option of `role add`, as they were given; empty where nothing was.
struct RoleWords {
  std::string name;
  std::string role = "analyst";
  std::string public_key;  // 64 hexadecimal digits, or a file that holds them
  std::vector<std::string> budgets = {};
  std::vector<std::string> uses = {};
  std::string quota_epsilon = {};
  std::string quota_delta = {};
  std::string per = {};
  std::string until = {};
  std::string database_role = {};
};

// Reads the words. A quota needs an epsilon and a period.
[[nodiscard]] Result<NewRole> parse_role(const RoleWords& words);

// All members, those who were revoked included.
[[nodiscard]] Result<Summary> summary_of_roles(Ledger& ledger, const std::string& location);
// One member, who was just added or revoked.
[[nodiscard]] Result<Summary> summary_of_role(Ledger& ledger, const std::string& name);

// Makes a key in a file, unless there is one, and writes its public key to the same name with .pub.
[[nodiscard]] Result<Summary> make_key(const std::string& path);

}  // namespace noisefloor
