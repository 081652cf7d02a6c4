// What a job has to say: one JSON object for programs, a short table for people. Every front end shows the same: the
// command line prints it, and a server would send it.
//
// Thread safety: one summary is for one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/event/dp_event.h"

namespace noisefloor {

// Defined in summary_json.h, for summaries whose fields are more than numbers, texts and truths.
struct SummaryFields;

class Summary {
 public:
  explicit Summary(std::string title);
  // A table of data, such as CSV, that as_text() gives as it is: it is for programs, which need every byte.
  [[nodiscard]] static Summary of_data(std::string data);
  Summary(const Summary& other);
  Summary(Summary&& other) noexcept;
  Summary& operator=(const Summary& other);
  Summary& operator=(Summary&& other) noexcept;
  ~Summary();

  // A field of the JSON object: a number, a text or a truth; anything else that JSON can hold needs summary_json.h.
  template <class T>
  void set(const char* key, const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      set_truth(key, value);
    } else if constexpr (std::is_floating_point_v<T>) {
      set_number(key, static_cast<double>(value));
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      set_integer(key, static_cast<std::int64_t>(value));
    } else if constexpr (std::is_integral_v<T>) {
      set_count(key, static_cast<std::uint64_t>(value));
    } else if constexpr (is_text<T>) {
      set_text(key, std::string_view(value));
    } else {
      set_json(*this, key, value);
    }
  }
  // A line of the table.
  void line(std::string label, std::string text) { lines_.emplace_back(std::move(label), std::move(text)); }
  void retitle(std::string title) { title_ = std::move(title); }
  // Text above the title, with line breaks of its own.
  void above(const std::string& text) { above_ += text; }
  // The job was done, and this is what went wrong with what it looked at: a budget without room, a false certificate.
  void fail_with(ErrorCode code) { failure_ = code; }
  [[nodiscard]] std::optional<ErrorCode> failure() const { return failure_; }
  // A sentence below the table.
  void remark(std::string text) { remarks_.push_back(std::move(text)); }

  // The statement of what was done, with adjacency and unit, in both forms.
  void state(const DpStatement& statement);

  // Both forms can be shown on a terminal whatever the names and files say that they quote: characters that are not
  // printable (base/printable.h) are written out, in JSON by its own escapes, which leave the data as they are.
  [[nodiscard]] std::string as_json() const;
  [[nodiscard]] std::string as_text() const;

  // For summary_json.h.
  [[nodiscard]] SummaryFields& fields() { return *fields_; }
  [[nodiscard]] const SummaryFields& fields() const { return *fields_; }

 private:
  template <class T>
  static constexpr bool is_text = std::is_array_v<T> || std::is_same_v<T, const char*> || std::is_same_v<T, char*> ||
                                  std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>;

  void set_truth(const char* key, bool value);
  void set_number(const char* key, double value);
  void set_integer(const char* key, std::int64_t value);
  void set_count(const char* key, std::uint64_t value);
  void set_text(const char* key, std::string_view value);

  std::string title_;
  std::string above_;
  std::optional<std::string> data_;
  std::optional<ErrorCode> failure_;
  std::unique_ptr<SummaryFields> fields_;
  std::vector<std::pair<std::string, std::string>> lines_;
  std::vector<std::string> remarks_;
};

// A number for people: at most 10 significant digits.
[[nodiscard]] std::string shown(double value);

}  // namespace noisefloor
