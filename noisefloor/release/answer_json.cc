// Answers as JSON, in one text: docs/formats/answer.md.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "noisefloor/event/json.h"
#include "noisefloor/release/answer.h"
#include "noisefloor/release/json_depth.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kVersionKey = "noisefloor_answer";
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// --- Writing ---------------------------------------------------------------------------------------------------------

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

struct TypeName {
  const char* operator()(double) const { return "number"; }
  const char* operator()(std::int64_t) const { return "integer"; }
  const char* operator()(const std::string&) const { return "text"; }
  const char* operator()(bool) const { return "truth"; }
};

Json column_json(const AnswerColumn& column) {
  Json json{{"name", column.name}};
  std::visit(
      [&](const auto& cells) {
        using Cell = typename std::decay_t<decltype(cells)>::value_type;
        json["type"] = TypeName{}(Cell{});
        Json list = Json::array();
        for (const auto& cell : cells) list.push_back(static_cast<Cell>(cell));
        for (const std::size_t row : column.missing) list[row] = nullptr;
        json["cells"] = std::move(list);
      },
      column.cells);
  if (column.grid) json["grid"] = *column.grid;
  if (column.confidence) {
    json["confidence"] = column.confidence->value();
    Json lower = Json::array();
    Json upper = Json::array();
    for (const Interval& range : column.ranges) {
      lower.push_back(number_or_null(range.lower));
      upper.push_back(number_or_null(range.upper));
    }
    json["lower"] = std::move(lower);
    json["upper"] = std::move(upper);
  }
  return json;
}

Json value_json(const AnswerValue& value) {
  Json json{{"name", value.name}};
  if (const auto* table = std::get_if<AnswerTable>(&value.value)) {
    json["type"] = "table";
    json["columns"] = Json::array();
    for (const AnswerColumn& column : table->columns) json["columns"].push_back(column_json(column));
    return json;
  }
  std::visit(
      [&](const auto& datum) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(datum)>, AnswerTable>) {
          json["type"] = TypeName{}(datum);
          json["value"] = datum;
        }
      },
      value.value);
  if (value.grid) json["grid"] = *value.grid;
  if (value.error_bars) {
    json["interval"] = {{"confidence", value.error_bars->confidence.value()},
                        {"lower", number_or_null(value.error_bars->range.lower)},
                        {"upper", number_or_null(value.error_bars->range.upper)}};
  }
  return json;
}

Json fact_json(const AnswerFact& fact) {
  Json json{{"name", fact.name}};
  std::visit(
      [&](const auto& datum) {
        json["type"] = TypeName{}(datum);
        json["value"] = datum;
      },
      fact.value);
  if (!fact.meaning.empty()) json["meaning"] = fact.meaning;
  return json;
}

// --- Reading: throws what nlohmann throws; parse_answer catches it ---------------------------------------------------

double lower_of(const Json& json) { return json.is_null() ? -kInfinite : json.get<double>(); }
double upper_of(const Json& json) { return json.is_null() ? kInfinite : json.get<double>(); }

template <class Cell>
void read_cells(const Json& list, AnswerColumn& column) {
  std::vector<Cell> cells;
  for (const Json& cell : list) {
    if (cell.is_null()) column.missing.push_back(cells.size());
    cells.push_back(cell.is_null() ? Cell{} : cell.get<Cell>());
  }
  column.cells = std::move(cells);
}

Error unknown_type() { return input_data_error("the answer holds a type that this version does not know"); }

Result<AnswerColumn> read_column(const Json& json) {
  AnswerColumn column{json.at("name").get<std::string>(), AnswerColumn::Numbers{}};
  const std::string type = json.at("type");
  const Json& cells = json.at("cells");
  if (type == "number") {
    read_cells<double>(cells, column);
  } else if (type == "integer") {
    read_cells<std::int64_t>(cells, column);
  } else if (type == "text") {
    read_cells<std::string>(cells, column);
  } else if (type == "truth") {
    read_cells<bool>(cells, column);
  } else {
    return unknown_type();
  }
  if (json.contains("grid")) column.grid = json["grid"].get<double>();
  if (json.contains("confidence")) {
    NF_TRY(column.confidence, Confidence::make(json["confidence"].get<double>()));
    const Json& lower = json.at("lower");
    const Json& upper = json.at("upper");
    if (lower.size() != upper.size()) return input_data_error("the answer has ranges with only one end");
    for (std::size_t i = 0; i < lower.size(); ++i) column.ranges.push_back({lower_of(lower[i]), upper_of(upper[i])});
  }
  return column;
}

template <class Variant>
Result<Variant> read_datum(const Json& json) {
  const std::string type = json.at("type");
  const Json& value = json.at("value");
  if (type == "number") return Variant(value.get<double>());
  if (type == "integer") return Variant(value.get<std::int64_t>());
  if (type == "text") return Variant(value.get<std::string>());
  if (type == "truth") return Variant(value.get<bool>());
  return unknown_type();
}

Result<AnswerValue> read_value(const Json& json) {
  AnswerValue value{json.at("name").get<std::string>(), 0.0};
  if (json.at("type") == "table") {
    AnswerTable table;
    for (const Json& item : json.at("columns")) {
      NF_TRY(AnswerColumn column, read_column(item));
      table.columns.push_back(std::move(column));
    }
    value.value = std::move(table);
    return value;
  }
  NF_TRY(value.value, read_datum<decltype(value.value)>(json));
  if (json.contains("grid")) value.grid = json["grid"].get<double>();
  if (json.contains("interval")) {
    const Json& interval = json["interval"];
    NF_TRY(const Confidence confidence, Confidence::make(interval.at("confidence").get<double>()));
    value.error_bars = ErrorBars{confidence, {lower_of(interval.at("lower")), upper_of(interval.at("upper"))}};
  }
  return value;
}

Result<AnswerContent> read_content(const Json& json) {
  AnswerContent content;
  for (const Json& item : json.at("values")) {
    NF_TRY(AnswerValue value, read_value(item));
    content.values.push_back(std::move(value));
  }
  for (const Json& item : json.at("bounds")) {
    NF_TRY(const Confidence confidence, Confidence::make(item.at("confidence").get<double>()));
    content.bounds.push_back({item.at("name").get<std::string>(), confidence, item.at("at_most").get<double>()});
  }
  for (const Json& item : json.at("facts")) {
    AnswerFact fact{item.at("name").get<std::string>(), 0.0, item.value("meaning", "")};
    NF_TRY(fact.value, read_datum<decltype(fact.value)>(item));
    content.facts.push_back(std::move(fact));
  }
  return content;
}

Result<Answer> read_answer(const Json& json) {
  NF_TRY(AnswerContent content, read_content(json));
  NF_TRY(DpStatement statement, parse_statement(json.at("statement").dump()));
  NF_TRY(const Delta delta, Delta::make(json.at("delta").get<double>()));
  Answer answer{json.at("mechanism").get<std::string>(), std::move(content), std::move(statement), delta};
  if (json.contains("asked")) {
    NF_TRY(const Epsilon epsilon, Epsilon::make(json["asked"].at("epsilon").get<double>()));
    answer.asked = AskedFor{epsilon, json["asked"].at("proved").get<bool>()};
  }
  answer.replayed = json.at("random") == "repeatable";
  answer.configuration = json.at("configuration").dump();
  answer.data = json.at("data").get<std::string>();
  if (json.contains("dataset")) {
    answer.dataset = AnswerDataset{json["dataset"].at("name").get<std::string>(), json["dataset"].value("digest", "")};
  }
  answer.program_version = json.at("program").get<std::string>();
  return answer;
}

Json json_of(const Answer& answer) {
  Json json{{kVersionKey, kAnswerVersion}, {"mechanism", answer.mechanism}};
  if (answer.asked) json["asked"] = {{"epsilon", answer.asked->epsilon.value()}, {"proved", answer.asked->proved}};
  json["values"] = Json::array();
  for (const AnswerValue& value : answer.content.values) json["values"].push_back(value_json(value));
  json["bounds"] = Json::array();
  for (const AnswerBound& bound : answer.content.bounds) {
    json["bounds"].push_back(
        {{"name", bound.name}, {"confidence", bound.confidence.value()}, {"at_most", bound.at_most}});
  }
  json["facts"] = Json::array();
  for (const AnswerFact& fact : answer.content.facts) json["facts"].push_back(fact_json(fact));
  json["delta"] = answer.delta.value();
  json["statement"] = Json::parse(to_json(answer.statement));
  json["random"] = answer.replayed ? "repeatable" : "secure";
  json["configuration"] = Json::parse(answer.configuration);
  json["data"] = answer.data;
  if (answer.dataset) {
    json["dataset"] = {{"name", answer.dataset->name}};
    if (!answer.dataset->digest.empty()) json["dataset"]["digest"] = answer.dataset->digest;
  }
  json["program"] = answer.program_version;
  return json;
}

}  // namespace

std::string to_json(const Answer& answer) { return json_of(answer).dump(); }

bool is_typed_answer(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  return json.is_object() && json.contains(kVersionKey);
}

Result<Answer> parse_answer(std::string_view text) {
  if (internal::is_too_deep(text)) return input_data_error("the answer is nested too deeply");
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains(kVersionKey) || json[kVersionKey] != kAnswerVersion) {
    return input_data_error("this is not an answer, or its version is not known here");
  }
  try {
    NF_TRY(Answer answer, read_answer(json));
    if (const Result<void> good = check_answer(answer); !good.has_value()) {
      return input_data_error(good.error().message);
    }
    // A field that reading skipped would be missing here.
    if (json_of(answer).dump() != json.dump()) {
      return input_data_error(
          "the answer has a field, an order or a number that differs from how this version writes it");
    }
    return answer;
  } catch (const nlohmann::json::exception&) {
    return input_data_error("a field of the answer is missing or of another type");
  }
}

}  // namespace noisefloor
