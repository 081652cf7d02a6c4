// Cases of queries from text files: a policy, queries, and what must become of them. noisefloor/query/cases/README.md
// describes the format. Tests of planning and tests against engines read the same files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/engine/days.h"
#include "noisefloor/query/planner.h"

namespace noisefloor::testing {

struct QueryCase {
  std::string file;
  int line = 0;
  std::string name;
  std::string text;
  query::PlanOptions options;
  query::DescribedTables policy;
  std::vector<std::pair<std::string, std::string>> facts;  // "keys", "dept public"
};

namespace query_cases {

inline std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

[[noreturn]] inline void bad(const std::string& file, int line, const std::string& what) {
  throw std::runtime_error(file + ":" + std::to_string(line) + ": " + what);
}

inline double number_or_date(const std::string& text) {
  if (const auto days = engine::parse_date(text); days.has_value()) return static_cast<double>(*days);
  return std::stod(text);
}

inline engine::Type type_of(const std::string& word) {
  for (const auto type :
       {engine::Type::kInteger, engine::Type::kNumber, engine::Type::kText, engine::Type::kDate, engine::Type::kTruth})
    if (engine::name_of(type) == word) return type;
  throw std::runtime_error("there is no type " + word);
}

// column NAME TYPE [LOWER..UPPER] [step X] [missing X] [length N] [public] [values A B …]
inline DescribedColumn column_of(const std::vector<std::string>& words) {
  DescribedColumn column;
  column.name = words.at(1);
  column.type = type_of(words.at(2));
  for (std::size_t i = 3; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (const auto dots = word.find(".."); dots != std::string::npos) {
      column.lower = number_or_date(word.substr(0, dots));
      column.upper = number_or_date(word.substr(dots + 2));
    } else if (word == "step") {
      column.step = std::stod(words.at(++i));
    } else if (word == "missing") {
      column.missing = std::stod(words.at(++i));
    } else if (word == "length") {
      column.max_length = std::stoull(words.at(++i));
    } else if (word == "public") {
      column.public_range = true;
    } else if (word == "values") {
      column.values.emplace(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    } else {
      throw std::runtime_error("a column has no '" + word + "'");
    }
  }
  return column;
}

inline void read_policy_line(const std::vector<std::string>& words, query::DescribedTables& policy) {
  std::vector<DescribedTable>& tables = policy.tables.tables;
  const std::string& first = words[0];
  if (first == "adjacency") {
    policy.adjacency = words.at(1) == "replace-one" ? Adjacency::kReplaceOne : Adjacency::kAddRemove;
  } else if (first == "protects") {
    policy.unit = words.at(1) == "rows" ? PrivacyUnit::kRow : PrivacyUnit::kPerson;
  } else if (first == "table" || first == "public-table") {
    DescribedTable table;
    table.name = words.at(1);
    table.is_public = first == "public-table";
    tables.push_back(std::move(table));
  } else if (tables.empty()) {
    throw std::runtime_error("a table must come first");
  } else if (first == "unit") {  // unit COLUMN [TABLE COLUMN]
    UnitPath path;
    path.column = words.at(1);
    if (words.size() > 2) {
      path.table = words.at(2);
      path.refers = words.at(3);
    }
    tables.back().unit = path;
  } else if (first == "once") {
    tables.back().one_row_per_unit = true;
  } else if (first == "unique") {
    tables.back().unique.push_back(words.at(1));
  } else if (first == "groups") {
    tables.back().max_groups = std::stoull(words.at(1));
  } else if (first == "rows") {
    tables.back().max_rows_per_group = std::stoull(words.at(1));
  } else if (first == "unit-rows") {
    tables.back().max_rows_per_unit = std::stoull(words.at(1));
  } else if (first == "most-rows") {
    tables.back().max_rows = std::stoull(words.at(1));
  } else if (first == "column") {
    tables.back().columns.push_back(column_of(words));
  } else {
    throw std::runtime_error("a policy has no '" + first + "'");
  }
}

inline void read_option(const std::vector<std::string>& words, query::PlanOptions& options) {
  const std::string& name = words.at(0);
  if (name == "max-groups")
    options.max_groups = std::stoull(words.at(1));
  else if (name == "max-rows-per-group")
    options.max_rows_per_group = std::stoull(words.at(1));
  else if (name == "max-rows-per-unit")
    options.max_rows_per_unit = std::stoull(words.at(1));
  else if (name == "bounds")
    options.bounds[words.at(1)] = {std::stod(words.at(2)), std::stod(words.at(3))};
  else
    throw std::runtime_error("there is no option '" + name + "'");
}

}  // namespace query_cases

inline std::vector<QueryCase> read_query_cases(const std::filesystem::path& path) {
  std::ifstream file(path);
  const std::string name = path.filename().string();
  std::vector<QueryCase> cases;
  query::DescribedTables policy;
  policy.dataset = "example";
  enum class At { kNowhere, kPolicy, kText, kFacts } at = At::kNowhere;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const std::vector<std::string> words = query_cases::words_of(line);
    if (words.empty() || words[0].starts_with("#")) continue;
    try {
      if (words[0] == "policy" && words.size() == 1) {
        policy = {};
        policy.dataset = "example";
        at = At::kPolicy;
      } else if (words[0] == "case") {
        at = At::kText;
        QueryCase one;
        one.file = name;
        one.line = number;
        const auto start = line.find("case") + 5;
        one.name = line.substr(std::min(start, line.size()));
        one.policy = policy;
        cases.push_back(std::move(one));
      } else if (at == At::kPolicy) {
        query_cases::read_policy_line(words, policy);
      } else if (words[0] == "option" && at == At::kText) {
        query_cases::read_option({words.begin() + 1, words.end()}, cases.back().options);
      } else if ((words[0] == "plan:" || words[0] == "refused:") && (at == At::kText || at == At::kFacts)) {
        at = At::kFacts;
        const auto colon = line.find(':');
        const auto begin = line.find_first_not_of(' ', colon + 1);
        cases.back().facts.emplace_back(words[0].substr(0, words[0].size() - 1),
                                        begin == std::string::npos ? "" : line.substr(begin));
      } else if (at == At::kText) {
        cases.back().text += (cases.back().text.empty() ? "" : "\n") + line;
      } else if (at == At::kFacts) {
        const auto colon = line.find(':');
        if (colon == std::string::npos) query_cases::bad(name, number, "a fact is written as name: value");
        const auto first = line.find_first_not_of(' ');
        const auto begin = line.find_first_not_of(' ', colon + 1);
        cases.back().facts.emplace_back(line.substr(first, colon - first),
                                        begin == std::string::npos ? "" : line.substr(begin));
      } else {
        query_cases::bad(name, number, "this line belongs to nothing");
      }
    } catch (const std::exception& e) {
      query_cases::bad(name, number, e.what());
    }
  }
  return cases;
}

inline std::vector<QueryCase> read_all_query_cases(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".test") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<QueryCase> all;
  for (const auto& file : files)
    for (QueryCase& each : read_query_cases(file)) all.push_back(std::move(each));
  return all;
}

}  // namespace noisefloor::testing
