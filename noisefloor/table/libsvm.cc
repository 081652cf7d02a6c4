#include "noisefloor/table/libsvm.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "noisefloor/table/text_index.h"

namespace noisefloor {
namespace {

using internal::TextIndex;

constexpr std::size_t kMaxDimension = std::size_t{1} << 24;

// Classes by their texts, and by their numbers if they are numbers.
class LabelIndex {
 public:
  static Result<LabelIndex> create(const std::vector<std::string>& classes) {
    if (classes.size() < 2 || classes.size() > std::numeric_limits<std::int32_t>::max()) {
      return invalid_argument("the labels of a LIBSVM file must be at least 2 classes");
    }
    LabelIndex index(classes);
    for (std::size_t i = 0; i < classes.size(); ++i) {
      const std::optional<double> number = parse_decimal(classes[i]);
      const bool is_new = number ? index.numbers_.emplace(*number, i).second : index.texts_.find(classes[i]) == i;
      if (!is_new)
        return invalid_argument(one_line(fmt::format("label '{}' is the same as one before it", classes[i])));
    }
    return index;
  }

  [[nodiscard]] std::optional<std::size_t> find(std::string_view text) const {
    if (const auto place = texts_.find(text)) return place;
    const std::optional<double> number = parse_decimal(text);
    if (!number) return std::nullopt;
    const auto found = numbers_.find(*number);
    if (found == numbers_.end()) return std::nullopt;
    return found->second;
  }

 private:
  explicit LabelIndex(const std::vector<std::string>& classes) : texts_(classes) {}

  TextIndex texts_;
  std::map<double, std::size_t> numbers_;
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Cuts the next word off `text`; empty at its end.
std::string_view next_word(std::string_view& text) {
  std::size_t begin = 0;
  while (begin < text.size() && is_blank(text[begin])) ++begin;
  std::size_t end = begin;
  while (end < text.size() && !is_blank(text[end])) ++end;
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

void normalise(std::span<float> example) {
  double square = 0;
  for (float value : example) square += static_cast<double>(value) * value;
  if (square == 0) return;
  const double norm = std::sqrt(square);
  for (float& value : example) value = static_cast<float>(value / norm);
}

class LibsvmReader {
 public:
  LibsvmReader(ByteSource source, const LibsvmOptions& options, LabelIndex labels, const OddRecords& odd)
      : window_(std::move(source)), options_(options), labels_(std::move(labels)), odd_(odd), absent_(scaled(0)) {
    data_.shape = {options.dimension};
    data_.classes = static_cast<std::int32_t>(options.classes.size());
  }

  Result<Dataset> read() {
    while (true) {
      NF_TRY(const std::optional<std::string_view> line, next_line());
      if (!line) break;
      const std::size_t begin = data_.features.size();
      const Result<void> added = too_long_ ? Result<void>(long_line()) : add_line(*line);
      if (added.has_value()) continue;
      NF_TRY_VOID(odd_.meet(added.error()));
      data_.features.resize(begin);
      add_null();
    }
    if (data_.rows == 0 && odd_.precise()) return error("the file holds no examples");
    return std::move(data_);
  }

 private:
  [[nodiscard]] Error long_line() const {
    return error(fmt::format("a line of more than {} bytes", options_.max_line_bytes));
  }

  void add_null() {
    if (data_.nulls.empty()) data_.nulls.resize(data_.rows);
    data_.features.resize(data_.features.size() + options_.dimension);
    add_example(0, true);
  }

  void add_example(std::int32_t label, bool null) {
    if (!data_.nulls.empty() || null) data_.nulls.push_back(null ? 1 : 0);
    data_.labels.push_back(label);
    ++data_.rows;
  }

  // The next line, valid until the one after it: of a line that is too long, its end. Nothing at the end.
  Result<std::optional<std::string_view>> next_line() {
    window_.drop(length_);
    length_ = 0;
    ++line_;
    too_long_ = false;
    std::size_t looked_at = 0;
    while (true) {
      const std::string_view text = window_.text();
      const std::size_t end = text.find('\n', looked_at);
      looked_at = std::min(end, text.size());
      if (looked_at > options_.max_line_bytes) too_long_ = true;
      if (end != std::string_view::npos) {
        length_ = end + 1;
        return text.substr(0, end);
      }
      if (too_long_) {
        window_.drop(looked_at);
        looked_at = 0;
      }
      NF_TRY(const bool more, window_.more());
      if (more) continue;
      length_ = looked_at;
      if (length_ == 0 && !too_long_) return std::optional<std::string_view>();
      return window_.text();
    }
  }

  Result<void> add_line(std::string_view line) {
    const std::size_t comment = line.find('#');
    line = line.substr(0, comment);
    const std::string_view label_text = next_word(line);
    if (label_text.empty()) {
      if (comment != std::string_view::npos) return success();
      return error("expected a label; leave no line empty");
    }
    const std::optional<std::size_t> label = labels_.find(label_text);
    if (!label) return error(fmt::format("the label must be one of the {} declared classes", data_.classes));
    const std::size_t begin = data_.features.size();
    data_.features.resize(begin + options_.dimension, absent_);
    const std::span<float> example = std::span(data_.features).subspan(begin);
    NF_TRY_VOID(fill(example, line));
    if (options_.normalise) normalise(example);
    add_example(static_cast<std::int32_t>(*label), false);
    return success();
  }

  [[nodiscard]] Result<void> fill(std::span<float> example, std::string_view line) const {
    std::size_t last = 0;
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
      const char* const end = word.data() + word.size();
      std::size_t index = 0;
      const auto [colon, wrong] = std::from_chars(word.data(), end, index);
      const bool huge = wrong == std::errc::result_out_of_range;
      if ((wrong != std::errc{} && !huge) || colon == end || *colon != ':') {
        return error("expected pairs of the form index:value, such as 3:0.5");
      }
      if (index == 0 && !huge) return error("an index of 0; indices count from 1");
      if (huge || index > example.size()) {
        return error(fmt::format("an index above the declared dimension, {}", example.size()));
      }
      if (index <= last) return error("indices must increase along a line");
      last = index;
      const std::optional<double> value =
          parse_decimal(std::string_view(colon + 1, static_cast<std::size_t>(end - colon - 1)));
      if (!value) return error("a value must be a decimal number, such as -1.5");
      example[index - 1] = scaled(*value);
    }
    return success();
  }

  [[nodiscard]] float scaled(double value) const {
    return clamp_and_scale(value, options_.lower, options_.upper, options_.scaling);
  }

  [[nodiscard]] Error error(std::string_view what) const { return error_at_line(window_.name(), line_, what); }

  Window window_;
  const LibsvmOptions& options_;
  LabelIndex labels_;
  const OddRecords& odd_;
  float absent_;
  bool too_long_ = false;  // the line
  std::size_t length_ = 0;
  std::uint64_t line_ = 0;
  Dataset data_;
};

Result<LabelIndex> check_options(const LibsvmOptions& options) {
  if (options.dimension == 0 || options.dimension > kMaxDimension) {
    return invalid_argument(fmt::format("the dimension of a LIBSVM file must be a whole number from 1 to {}; got {}",
                                        kMaxDimension, options.dimension));
  }
  NF_TRY_VOID(check_bounds("a LIBSVM file", options.lower, options.upper));
  return LabelIndex::create(options.classes);
}

}  // namespace

Result<Dataset> read_libsvm(const std::string& path, const LibsvmOptions& options, const OddRecords& odd) {
  NF_TRY_VOID(check_options(options));
  NF_TRY(ByteSource source, ByteSource::open(path));
  return read_libsvm(std::move(source), options, odd);
}

Result<Dataset> read_libsvm(ByteSource source, const LibsvmOptions& options, const OddRecords& odd) {
  NF_TRY(LabelIndex labels, check_options(options));
  return LibsvmReader(std::move(source), options, std::move(labels), odd).read();
}

}  // namespace noisefloor
