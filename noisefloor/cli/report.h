// What a command has to say: one JSON object for programs, a short table for people. Nothing is printed before a
// command succeeds, so that standard output stays empty on every error.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/event/dp_event.h"

namespace noisefloor::cli {

class Report {
 public:
  explicit Report(std::string title) : title_(std::move(title)) {}
  // A line for each field but a certificate.
  [[nodiscard]] static Report of_fields(std::string title, const nlohmann::ordered_json& json);

  // A field of the JSON object.
  template <class T>
  void set(const char* key, T&& value) {
    json_[key] = std::forward<T>(value);
  }
  // A line of the table.
  void line(std::string label, std::string text) { lines_.emplace_back(std::move(label), std::move(text)); }
  // Text above the title, as it is.
  void above(const std::string& text) { above_ += text; }
  // The exit code with which the program ends after this report; 0 unless it reports a failure.
  void exit_with(int code) { exit_code_ = code; }
  [[nodiscard]] int exit_code() const { return exit_code_; }
  // A sentence below the table.
  void remark(std::string text) { remarks_.push_back(std::move(text)); }

  // The statement of what was done, with adjacency and unit, in both forms.
  void state(const DpStatement& statement);

  [[nodiscard]] const nlohmann::ordered_json& json() const { return json_; }
  void replace_json(nlohmann::ordered_json json) { json_ = std::move(json); }

  [[nodiscard]] std::string as_json() const;
  [[nodiscard]] std::string as_text() const;

 private:
  std::string title_;
  std::string above_;
  int exit_code_ = 0;
  nlohmann::ordered_json json_;
  std::vector<std::pair<std::string, std::string>> lines_;
  std::vector<std::string> remarks_;
};

// A number for people: at most 10 significant digits.
[[nodiscard]] std::string shown(double value);

// A certified interval, for people and in JSON, where JSON has no infinities.
[[nodiscard]] std::string shown_interval(double lower, double upper);
[[nodiscard]] nlohmann::ordered_json interval_json(double lower, double upper);

}  // namespace noisefloor::cli
