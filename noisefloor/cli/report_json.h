// Reports with fields of any shape, for commands that write objects and lists. The only header of cli/ that brings in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "noisefloor/cli/report.h"

namespace noisefloor::cli {

struct ReportFields {
  nlohmann::ordered_json json;
};

// What Report::set calls for anything that is no number, text or truth.
template <class T>
void set_json(Report& report, const char* key, const T& value) {
  report.fields().json[key] = value;
}

// In place of all fields.
inline void replace_json(Report& report, nlohmann::ordered_json json) { report.fields().json = std::move(json); }

// A report with a line for each field but a certificate, and no fields of its own.
[[nodiscard]] Report report_of_fields(std::string title, const nlohmann::ordered_json& json);

// A certified interval; JSON has no infinities.
[[nodiscard]] nlohmann::ordered_json interval_json(double lower, double upper);

}  // namespace noisefloor::cli
