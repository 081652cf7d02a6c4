// Internal to engine/: rows on their way from an engine, column by column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/engine/cell.h"

namespace noisefloor::engine {

// Valid while the batch is taken.
struct BatchColumn {
  Type type = Type::kInteger;
  const std::int64_t* whole = nullptr;      // of integers, dates and truth values
  const double* numbers = nullptr;          // of numbers
  const std::string_view* texts = nullptr;  // of texts
  const std::uint8_t* present = nullptr;    // 0 where a cell is NULL; none: all are there

  [[nodiscard]] bool has(std::size_t row) const { return present == nullptr || present[row] != 0; }
};

struct Batch {
  std::size_t rows = 0;
  std::vector<BatchColumn> columns;
};

using TakeBatch = std::function<Result<void>(const Batch&)>;

// Rows that are given cell by cell, as batches.
class BatchBuilder {
 public:
  static constexpr std::size_t kRows = 2048;

  explicit BatchBuilder(std::span<const Type> types) {
    for (const Type type : types) columns_.emplace_back().type = type;
  }

  void add_null() {
    Column& column = next();
    column.present.push_back(0);
    push(column, 0, 0, {});
  }
  void add(std::int64_t value) { push_present(value, 0, {}); }
  void add(double value) { push_present(0, value, {}); }
  // The text is copied.
  void add(std::string_view text) { push_present(0, 0, text); }

  [[nodiscard]] bool is_full() const { return !columns_.empty() && columns_.back().present.size() == kRows; }

  // Gives what is there, and begins anew.
  [[nodiscard]] Result<void> flush(const TakeBatch& take) {
    Batch batch{.rows = columns_.empty() ? 0 : columns_.back().present.size(), .columns = {}};
    if (batch.rows == 0) return success();
    for (Column& column : columns_) {
      column.views.clear();
      for (const auto& [begin, length] : column.places) column.views.emplace_back(column.text.data() + begin, length);
      batch.columns.push_back({.type = column.type,
                               .whole = column.whole.data(),
                               .numbers = column.numbers.data(),
                               .texts = column.views.data(),
                               .present = column.present.data()});
    }
    NF_TRY_VOID(take(batch));
    for (Column& column : columns_) {
      column.whole.clear();
      column.numbers.clear();
      column.places.clear();
      column.text.clear();
      column.present.clear();
    }
    return success();
  }

 private:
  struct Column {
    Type type = Type::kInteger;
    std::vector<std::int64_t> whole;
    std::vector<double> numbers;
    std::vector<std::pair<std::size_t, std::size_t>> places;
    std::string text;
    std::vector<std::uint8_t> present;
    std::vector<std::string_view> views;
  };

  Column& next() {
    Column& column = columns_[at_];
    at_ = at_ + 1 == columns_.size() ? 0 : at_ + 1;
    return column;
  }
  void push_present(std::int64_t whole, double number, std::string_view text) {
    Column& column = next();
    column.present.push_back(1);
    push(column, whole, number, text);
  }
  static void push(Column& column, std::int64_t whole, double number, std::string_view text) {
    if (column.type == Type::kText) {
      column.places.emplace_back(column.text.size(), text.size());
      column.text += text;
    } else if (column.type == Type::kNumber) {
      column.numbers.push_back(number);
    } else {
      column.whole.push_back(whole);
    }
  }

  std::vector<Column> columns_;
  std::size_t at_ = 0;
};

}  // namespace noisefloor::engine
