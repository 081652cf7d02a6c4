// Summaries with fields of any shape: objects and lists. Internal to this folder, so that no front end has to read
// JSON's header.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "noisefloor/ledger/state.h"
#include "noisefloor/model/quality.h"
#include "noisefloor/summary/summary.h"

namespace noisefloor {

struct SummaryFields {
  nlohmann::ordered_json json;
};

// What Summary::set calls for anything that is no number, text or truth.
template <class T>
void set_json(Summary& summary, const char* key, const T& value) {
  summary.fields().json[key] = value;
}

// In place of all fields.
inline void replace_json(Summary& summary, nlohmann::ordered_json json) { summary.fields().json = std::move(json); }

// A summary with a line for each field but a certificate, and no fields of its own.
[[nodiscard]] Summary summary_of_fields(std::string title, const nlohmann::ordered_json& json);

// A certified interval; JSON has no infinities.
[[nodiscard]] nlohmann::ordered_json interval_json(double lower, double upper);

// The terms of a budget, and what is spent and left of it.
[[nodiscard]] nlohmann::ordered_json budget_json(const LedgerState::Budget& budget);

[[nodiscard]] nlohmann::ordered_json quality_json(const Quality& quality, bool private_rows = false);

}  // namespace noisefloor
