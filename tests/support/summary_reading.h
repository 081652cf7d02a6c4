// Summaries as their two kinds of readers see them: fields for programs, text for people.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/summary/summary.h"

namespace noisefloor::testing {

inline nlohmann::ordered_json fields_of(const Summary& summary) {
  return nlohmann::ordered_json::parse(summary.as_json());
}

// The names of the fields, in their order.
inline std::vector<std::string> names_of(const nlohmann::ordered_json& json) {
  std::vector<std::string> names;
  for (const auto& [name, value] : json.items()) names.push_back(name);
  return names;
}

inline bool says(const Summary& summary, std::string_view part) {
  return summary.as_text().find(part) != std::string::npos;
}

inline void expect_says(const Summary& summary, std::string_view part) {
  EXPECT_TRUE(says(summary, part)) << "'" << part << "' was due in:\n" << summary.as_text();
}

}  // namespace noisefloor::testing
