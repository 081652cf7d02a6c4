// An answer: a result computed from private data, with a statement of what was done to the data, how far it may be from
// the truth, and where it comes from. One type serves numbers, choices, tables of a query, synthetic rows, votes and
// collected reports.
//
// Guarantee:     parse_answer(to_json(x)) is x for every x that check_answer accepts, and one answer has one text.
//                Reading is strict: a field that is unknown, missing or of another type is refused.
// Format:        docs/formats/answer.md.
// Privacy:       every field is meant for the public. `content` is the mechanism's output, or follows from public
//                parameters; `configuration` and `data` never hold anything that was read from the data.
// Thread safety: plain data; pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"
#include "noisefloor/numerics/interval.h"

namespace noisefloor {

inline constexpr int kAnswerVersion = 1;

// A range that holds the true value with this probability.
struct ErrorBars {
  Confidence confidence;
  Interval range;  // an end may be infinite
};

// A column of a table. All columns have as many cells.
struct AnswerColumn {
  using Numbers = std::vector<double>;
  using Integers = std::vector<std::int64_t>;
  using Texts = std::vector<std::string>;
  using Truths = std::vector<bool>;

  std::string name;
  std::variant<Numbers, Integers, Texts, Truths> cells;
  std::vector<std::size_t> missing = {};      // rows without a value, ascending; their cells are 0, "" or false
  std::optional<double> grid = {};            // every number is a multiple of it
  std::optional<Confidence> confidence = {};  // the confidence of each range
  std::vector<Interval> ranges = {};          // one for each row, or none; they need a confidence

  [[nodiscard]] std::size_t rows() const;
};

struct AnswerTable {
  std::vector<AnswerColumn> columns;  // at least one

  [[nodiscard]] std::size_t rows() const { return columns.empty() ? 0 : columns.front().rows(); }
  // Null if no column has this name.
  [[nodiscard]] const AnswerColumn* find(std::string_view name) const;
};

// A result with its name.
struct AnswerValue {
  std::string name;
  std::variant<double, std::int64_t, std::string, bool, AnswerTable> value;
  std::optional<double> grid = {};           // a number is a multiple of it
  std::optional<ErrorBars> error_bars = {};  // for a number; columns have their own
};

// An error that is not measured in the units of a value: with this probability, "rank_error" is at most 33.
struct AnswerBound {
  std::string name;
  Confidence confidence;
  double at_most;
};

// A public figure that a reader needs: "scale" 2, which is "sensitivity / epsilon".
struct AnswerFact {
  std::string name;
  std::variant<double, std::int64_t, std::string, bool> value;
  std::string meaning = {};
};

struct AnswerContent {
  std::vector<AnswerValue> values;
  std::vector<AnswerBound> bounds = {};
  std::vector<AnswerFact> facts = {};
};

// The ε that the mechanism was asked to keep, at the answer's δ. If it is not `proved`, the noise may be worth less
// than that, and only the statement counts.
struct AskedFor {
  Epsilon epsilon;
  bool proved = true;
};

// The data set that the question was about, if it has a name.
struct AnswerDataset {
  std::string name;
  std::string digest = {};  // digest of its description, never of its rows; or empty
};

struct Answer {
  std::string mechanism;  // "laplace"; later "query", "synthesis", "votes"
  AnswerContent content;
  DpStatement statement;  // all that was done for the whole answer
  Delta delta;            // the δ at which ε is certified
  std::optional<AskedFor> asked = {};
  bool replayed = false;             // noise that can be repeated: no privacy, and the statement says so
  std::string configuration = "{}";  // a JSON object without spaces: the question, in public terms
  std::string data = {};             // facts about the data that were taken as public, in words
  std::optional<AnswerDataset> dataset = {};
  std::string program_version = {};
};

// Null if there is no value of this name.
[[nodiscard]] const AnswerValue* find_value(const Answer& answer, std::string_view name);
[[nodiscard]] const AnswerFact* find_fact(const Answer& answer, std::string_view name);

// kInvalidArgument, naming the place, for a name that is empty, repeated or not UTF-8, a number that is not finite, an
// end of a range on the wrong side, columns of different lengths, or replayed noise whose statement does not say so.
// Messages hold names, not values.
[[nodiscard]] Result<void> check_answer(const Answer& answer);

// One JSON object without spaces. Requires that check_answer accepts the answer.
[[nodiscard]] std::string to_json(const Answer& answer);
// Spacing does not matter. kInputData if the text is not an answer of a version known here.
[[nodiscard]] Result<Answer> parse_answer(std::string_view text);
// Whether the text is a JSON object that says it is an answer, of this version or another.
[[nodiscard]] bool is_typed_answer(std::string_view text);

}  // namespace noisefloor
