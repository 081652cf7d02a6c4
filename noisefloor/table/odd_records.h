// What becomes of a record that does not fit the public schema: a cell that is no number, a class that is not listed, a
// row of another length, quotes that do not match.
//
// Null records:  a record of private rows that does not fit is a null record. It is a record like any other: it is
//                counted, belongs to its person, and is drawn. It contributes nothing (Dataset::nulls).
// Guarantee:     with become_null(), whether reading succeeds, and every text that reading can return, is the same for
//                all records that a file may hold. Errors are about the file as a whole: it is not there, is not
//                readable, is damaged, or its first line does not name the columns. They show no line, no byte and no
//                count. (An error that named the first record that does not fit would be an exact and free answer: a
//                schema with missing = ["57"] would ask in which line the first person of 57 stands.)
// Requires:      are_errors() is for rows that are declared public: test files, tables that are shown to everybody.
//                are_shown() is for the custodian of the rows alone, and its caller says so to the user.
// Thread safety: const after creation, as far as the function is that are_shown() takes.
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "noisefloor/base/result.h"

namespace noisefloor {

class OddRecords {
 public:
  using Show = std::function<void(const Error&)>;

  // The rule for private rows.
  [[nodiscard]] static OddRecords become_null() { return {false, {}}; }
  // For public rows: the first one ends the reading, with its line and the remedy.
  [[nodiscard]] static OddRecords are_errors() { return {true, {}}; }
  // For the custodian: they become null, and `show` gets what are_errors() would have returned.
  [[nodiscard]] static OddRecords are_shown(Show show) { return {false, std::move(show)}; }

  // For readers. A record does not fit, for this reason: success if it becomes null.
  [[nodiscard]] Result<void> meet(const Error& error) const {
    if (errors_) return error;
    if (show_) show_(error);
    return success();
  }

  // For readers. The error about a file: `precise` where rows may be shown, or else "NAME: what".
  [[nodiscard]] Error about_file(const Error& precise, std::string_view name, std::string_view what) const;

  // Whether lines and counts may be shown.
  [[nodiscard]] bool precise() const { return errors_ || show_ != nullptr; }

 private:
  OddRecords(bool errors, Show show) : errors_(errors), show_(std::move(show)) {}

  bool errors_;
  Show show_;
};

}  // namespace noisefloor
