#include "noisefloor/ledger/row_sketch.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/crypto/hkdf.h"

namespace noisefloor {
namespace {

// With fewer rows than this, only the fingerprint of all rows decides.
constexpr std::size_t kLeastRows = 16;
// A copy has at least this share of the rows of the smaller dataset, beyond chance.
constexpr double kSharedPart = 0.2;
// This many standard deviations are put down to chance.
constexpr double kChance = 4;
// A copy with columns added or dropped has this part of the columns of the table with fewer, and at least two. One
// uneven column is enough; then this is the part of the uneven columns.
constexpr double kSharedColumns = 0.75;
// The values of a column that are counted.
constexpr std::size_t kCountedValues = 64;
// Counts of an uneven column are at least 2 on average, and their variance is at least this part of their mean. In a
// sample of equally frequent values the variance is about the mean, in other samples it is more, and in a design far
// less.
constexpr double kUnevenVariance = 0.5;
// With fewer rows two samples could have equal counts by chance.
constexpr std::uint64_t kUnevenRows = 32;

constexpr std::string_view kMagic = "nfrows1\n";
constexpr std::size_t kHeaderBytes = kMagic.size() + 8 + kDigestBytes + 1 + 4 + 4;
constexpr std::size_t kRowBytes = 9;
constexpr std::size_t kColumnBytes = sizeof(ShortHash) + 1;
constexpr std::size_t kSketchBytes = kHeaderBytes + kSketchRows * kRowBytes + kSketchColumns * kColumnBytes;

template <std::size_t N>
Secret<N> part_of(const Secret32& key, std::string_view use) {
  return derive<N>(key.bytes(), bytes_of("noisefloor row sketch v1"), bytes_of(use));
}

Uint128 wide(const ShortHash& hash) {
  Uint128 value = 0;
  for (std::size_t i = hash.size(); i-- > 0;) value = value << 8 | hash[i];
  return value;
}

ShortHash narrow(Uint128 value) {
  ShortHash bytes;
  for (std::uint8_t& byte : bytes) {
    byte = static_cast<std::uint8_t>(value);
    value >>= 8;
  }
  return bytes;
}

std::string_view text_of(const ShortHash& hash) { return {reinterpret_cast<const char*>(hash.data()), hash.size()}; }

// A column's name without what another export of the same table might spell differently.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool kept = letter || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
    if (kept) plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return plain;
}

}  // namespace

RowSketcher::RowSketcher(const Secret32& key, std::size_t sample)
    : record_key_(part_of<16>(key, "records")),
      cell_key_(part_of<16>(key, "cells")),
      fingerprint_key_(part_of<32>(key, "fingerprints")),
      size_(sample) {
  NF_CHECK(sample > 0 && sample <= kSketchRows, "a sample holds 1 to kSketchRows rows");
  counts_.reserve(2 * sample);
}

void RowSketcher::add(const ShortHash& hash) {
  ++rows_;
  sum_ += wide(hash);
  std::uint64_t place = 0;
  std::memcpy(&place, hash.data(), sizeof place);
  if (counts_.size() == size_ && place > highest_.top()) {
    evicted_ = true;
    return;
  }
  const auto [found, is_new] = counts_.try_emplace(place, std::uint8_t{0});
  if (found->second < UINT8_MAX) ++found->second;
  if (!is_new) return;
  highest_.push(place);
  if (counts_.size() <= size_) return;
  counts_.erase(highest_.top());
  highest_.pop();
  evicted_ = true;
}

void RowSketcher::add_record(std::string_view record) { add(short_hash(record_key_, record)); }

void RowSketcher::set_columns(std::span<const std::string> names) {
  first_column_ = columns_.size();
  for (const std::string& name : names) {
    columns_.push_back({wide(short_hash(record_key_, "column " + plain_name(name))) | 1});
  }
}

Result<std::vector<std::size_t>> RowSketcher::places_of(std::span<const std::string> names) const {
  std::vector<std::size_t> places;
  const std::span<const Column> columns = std::span(columns_).subspan(first_column_);
  std::vector<bool> taken(columns.size());
  for (const std::string& name : names) {
    const Wide hash = wide(short_hash(record_key_, "column " + plain_name(name))) | 1;
    std::size_t place = 0;
    while (place < columns.size() && (taken[place] || columns[place].name != hash)) ++place;
    if (place == columns.size() || names.size() != columns.size()) {
      return input_data_error("a file of the dataset has other columns than the one before it: give all the same");
    }
    taken[place] = true;
    places.push_back(place);
  }
  return places;
}

// A row is Σ name · value modulo 2¹²⁸ over the keyed hashes of its cells, and then hashed. Without that last step, rows
// that exchange their cells of one column would leave the sum of all rows as it was.
void RowSketcher::add_row(std::span<const std::string_view> cells) {
  NF_CHECK(cells.size() == columns_.size() - first_column_, "a row has a cell for each column");
  Wide row = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    Column& column = columns_[first_column_ + i];
    const Wide value = wide(short_hash(cell_key_, cells[i]));
    row += column.name * value;
    column.sum += value;
    count_value(column, static_cast<std::uint64_t>(value));
  }
  add(short_hash(record_key_, text_of(narrow(row))));
}

void RowSketcher::count_value(Column& column, std::uint64_t hash) {
  std::vector<CountedValue>& values = column.values;
  if (values.size() == kCountedValues && hash > values.back().hash) return;
  const auto at = std::lower_bound(values.begin(), values.end(), hash,
                                   [](const CountedValue& value, std::uint64_t h) { return value.hash < h; });
  if (at != values.end() && at->hash == hash) {
    ++at->count;
    return;
  }
  values.insert(at, {hash, 1});
  if (values.size() > kCountedValues) values.pop_back();
}

bool RowSketcher::is_uneven(const Column& column) {
  const auto size = static_cast<double>(column.values.size());
  double sum = 0;
  double squares = 0;
  for (const CountedValue& value : column.values) {
    const auto count = static_cast<double>(value.count);
    sum += count;
    squares += count * count;
  }
  const double mean = sum / size;
  return mean >= 2 && squares / size - mean * mean >= kUnevenVariance * mean;
}

RowSketch RowSketcher::finish() && {
  RowSketch sketch;
  sketch.rows = rows_;
  sketch.whole = !evicted_;
  std::string all(reinterpret_cast<const char*>(fingerprint_key_.bytes().data()), fingerprint_key_.bytes().size());
  all += text_of(narrow(sum_));
  all += text_of(narrow(rows_));
  sketch.fingerprint = blake2b(all);
  wipe({reinterpret_cast<std::uint8_t*>(all.data()), all.size()});
  for (const auto& [hash, count] : counts_) sketch.sample.push_back({hash, count});
  std::sort(sketch.sample.begin(), sketch.sample.end(),
            [](const SampledRow& a, const SampledRow& b) { return a.hash < b.hash; });
  for (const Column& column : columns_) {
    if (column.values.size() < kColumnValues) continue;
    sketch.columns.push_back({narrow(column.sum), rows_ >= kUnevenRows && is_uneven(column)});
  }
  std::sort(sketch.columns.begin(), sketch.columns.end());
  if (sketch.columns.size() > kSketchColumns) sketch.columns.resize(kSketchColumns);
  return sketch;
}

double Similarity::share() const {
  if (same) return 1;
  const std::size_t judged = std::min(first, second);
  if (judged < kLeastRows) return 0;
  const double beyond = static_cast<double>(both) - by_chance - kChance * std::sqrt(by_chance + 1);
  return std::max(0.0, beyond / static_cast<double>(judged));
}

bool Similarity::is_shared() const {
  const auto most = [](std::size_t common, std::size_t all) {
    return static_cast<double>(common) >= kSharedColumns * static_cast<double>(all);
  };
  const bool columns_alike = (common_columns >= 2 && most(common_columns, columns)) ||
                             (common_uneven_columns >= 1 && most(common_uneven_columns, uneven_columns));
  return same || columns_alike || share() >= kSharedPart;
}

Similarity compare(const RowSketch& a, const RowSketch& b) {
  Similarity result;
  result.same = a.fingerprint == b.fingerprint;
  result.columns = std::min(a.columns.size(), b.columns.size());
  std::vector<ColumnPrint> common;
  std::set_intersection(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
                        std::back_inserter(common));
  const auto uneven = [](const std::vector<ColumnPrint>& columns) {
    return static_cast<std::size_t>(
        std::count_if(columns.begin(), columns.end(), [](const ColumnPrint& column) { return column.uneven; }));
  };
  result.common_columns = common.size();
  result.uneven_columns = std::min(uneven(a.columns), uneven(b.columns));
  result.common_uneven_columns = uneven(common);
  // Up to `limit`, both samples hold every row of their datasets.
  const auto last = [](const RowSketch& s) { return s.whole ? UINT64_MAX : s.sample.back().hash; };
  const std::uint64_t limit = std::min(last(a), last(b));
  std::size_t twice = 0;  // rows that occur twice in one dataset and not in the other
  const auto alone = [&](const SampledRow& row, std::size_t& once) {
    if (row.count == 1) ++once;
    if (row.count == 2) ++twice;
  };
  auto in_a = a.sample.begin();
  auto in_b = b.sample.begin();
  while (true) {
    const bool more_a = in_a != a.sample.end() && in_a->hash <= limit;
    const bool more_b = in_b != b.sample.end() && in_b->hash <= limit;
    if (!more_a && !more_b) break;
    if (more_a && (!more_b || in_a->hash < in_b->hash)) {
      alone(*in_a++, result.first);
    } else if (more_b && (!more_a || in_b->hash < in_a->hash)) {
      alone(*in_b++, result.second);
    } else {
      if (in_a->count == 1) ++result.first;
      if (in_b->count == 1) ++result.second;
      if (in_a->count == 1 && in_b->count == 1) ++result.both;
      ++in_a;
      ++in_b;
    }
  }
  // If both were drawn from one population without a common record, a row that occurs twice in all has one occurrence
  // in each dataset with the odds 2·p·q to p² + q².
  const double all = static_cast<double>(a.rows) + static_cast<double>(b.rows);
  if (all > 0) {
    const double p = static_cast<double>(a.rows) / all;
    const double q = 1 - p;
    result.by_chance = static_cast<double>(twice) * 2 * p * q / (p * p + q * q);
  }
  return result;
}

std::string to_bytes(const RowSketch& sketch) {
  NF_CHECK(sketch.sample.size() <= kSketchRows && sketch.columns.size() <= kSketchColumns,
           "a sketch has a bounded size");
  std::string out(kMagic);
  out.reserve(kSketchBytes);
  const auto number = [&](std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) out += static_cast<char>(value >> (8 * i));
  };
  number(sketch.rows, 8);
  out.append(sketch.fingerprint.begin(), sketch.fingerprint.end());
  number(sketch.whole ? 1 : 0, 1);
  number(sketch.sample.size(), 4);
  number(sketch.columns.size(), 4);
  for (const SampledRow& row : sketch.sample) {
    number(row.hash, 8);
    number(row.count, 1);
  }
  for (const ColumnPrint& column : sketch.columns) {
    out += text_of(column.content);
    number(column.uneven ? 1 : 0, 1);
  }
  out.resize(kSketchBytes, '\0');
  return out;
}

std::optional<RowSketch> parse_sketch(std::string_view bytes) {
  if (bytes.size() != kSketchBytes || !bytes.starts_with(kMagic)) return std::nullopt;
  std::string_view rest = bytes.substr(kMagic.size());
  const auto number = [&](std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(rest[i]);
    rest.remove_prefix(size);
    return value;
  };
  RowSketch sketch;
  sketch.rows = number(8);
  std::copy_n(rest.begin(), kDigestBytes, sketch.fingerprint.begin());
  rest.remove_prefix(kDigestBytes);
  sketch.whole = number(1) == 1;
  const std::uint64_t rows = number(4);
  const std::uint64_t columns = number(4);
  if (rows > kSketchRows || columns > kSketchColumns || (!sketch.whole && rows == 0)) return std::nullopt;
  for (std::uint64_t i = 0; i < rows; ++i) {
    const std::uint64_t hash = number(8);
    sketch.sample.push_back({hash, static_cast<std::uint8_t>(number(1))});
  }
  for (std::uint64_t i = 0; i < columns; ++i) {
    ColumnPrint column{};
    std::copy_n(rest.begin(), column.content.size(), column.content.begin());
    rest.remove_prefix(column.content.size());
    column.uneven = number(1) == 1;
    sketch.columns.push_back(column);
  }
  const auto ordered = [](const SampledRow& a, const SampledRow& b) { return a.hash >= b.hash; };
  const bool sorted = std::adjacent_find(sketch.sample.begin(), sketch.sample.end(), ordered) == sketch.sample.end() &&
                      std::is_sorted(sketch.columns.begin(), sketch.columns.end());
  if (!sorted || to_bytes(sketch) != bytes) return std::nullopt;
  return sketch;
}

}  // namespace noisefloor
