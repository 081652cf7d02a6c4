#include "noisefloor/engine/kernel.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/engine/codes.h"
#include "noisefloor/engine/keyed_order.h"
#include "noisefloor/engine/partials.h"
#include "noisefloor/engine/sql_dialect.h"

namespace noisefloor::engine {
namespace {

using Kind = Aggregate::Kind;

constexpr unsigned kBucketBits = 10;
constexpr std::size_t kBuckets = std::size_t{1} << kBucketBits;

// Values of one column as 64-bit words: integers are themselves, texts are codes.
class Words {
 public:
  explicit Words(Type type) : type_(type) {}
  [[nodiscard]] std::uint64_t word(const BatchColumn& column, std::size_t row) {
    if (type_ == Type::kText) return texts_.code(column.texts[row]);
    return static_cast<std::uint64_t>(column.whole[row]);
  }
  [[nodiscard]] Cell cell(std::uint64_t word) const {
    if (type_ == Type::kText) return texts_.texts()[word];
    return static_cast<std::int64_t>(word);
  }
  void append(std::string& text, std::uint64_t word) const {
    if (type_ == Type::kText) return append_text(text, texts_.texts()[word]);
    append_integer(text, static_cast<std::int64_t>(word));
  }
  [[nodiscard]] Type type() const { return type_; }
  [[nodiscard]] const std::deque<std::string>& texts() const { return texts_.texts(); }

 private:
  Type type_;
  TextCodes texts_;
};

// Groups as codes. The code of one key is 0 for NULL, or 1 and the code of its cell. With more keys each step is a code
// of the code before and the next cell.
class Groups {
 public:
  explicit Groups(std::span<const Type> types) {
    for (const Type type : types) columns_.emplace_back(type);
  }

  // The codes of all rows of a batch.
  void add_codes(const Batch& batch, std::size_t first, std::vector<std::uint32_t>& codes) {
    codes.assign(batch.rows, 0);
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      const BatchColumn& cells = batch.columns[first + k];
      Column& column = columns_[k];
      for (std::size_t row = 0; row < batch.rows; ++row) {
        const std::uint32_t cell = cells.has(row) ? 1 + column.cells.code(column.words.word(cells, row)) : 0;
        codes[row] = k == 0 ? cell : column.steps.code(static_cast<std::uint64_t>(codes[row]) << 32U | cell);
      }
    }
  }
  [[nodiscard]] std::vector<Cell> keys(std::uint32_t code) const {
    std::vector<Cell> keys(columns_.size());
    for (std::size_t k = columns_.size(); k-- > 0;) {
      const std::uint64_t step = k == 0 ? code : columns_[k].steps.values()[code];
      const auto cell = static_cast<std::uint32_t>(step);
      if (cell != 0) keys[k] = columns_[k].words.cell(columns_[k].cells.values()[cell - 1]);
      code = static_cast<std::uint32_t>(step >> 32U);
    }
    return keys;
  }
  // Above all codes. A code below need not have a row.
  [[nodiscard]] std::size_t size() const {
    if (columns_.empty()) return 1;
    return columns_.size() == 1 ? 1 + columns_[0].cells.values().size() : columns_.back().steps.values().size();
  }

 private:
  struct Column {
    explicit Column(Type type) : words(type) {}
    Words words;
    Codes cells;
    Codes steps;
  };
  std::vector<Column> columns_;
};

// Records of one width in buckets, appended one by one. The chunks of all buckets are cut from large pieces of memory.
class Buckets {
 public:
  Buckets(std::size_t buckets, std::size_t width) : width_(width), next_(buckets), chunks_(buckets) {}

  [[nodiscard]] std::uint64_t* append(std::size_t bucket) {
    Next& next = next_[bucket];
    if (next.left == 0) {
      next = {new_chunk(), kChunk};
      chunks_[bucket].push_back(next.record);
    }
    std::uint64_t* record = next.record;
    next.record += width_;
    --next.left;
    return record;
  }
  [[nodiscard]] std::size_t size() const { return next_.size(); }
  [[nodiscard]] std::size_t size_of(std::size_t bucket) const {
    return chunks_[bucket].size() * kChunk - next_[bucket].left;
  }
  // Every record of a bucket.
  template <class Take>
  void for_each(std::size_t bucket, const Take& take) const {
    std::size_t left = size_of(bucket);
    for (const std::uint64_t* chunk : chunks_[bucket]) {
      const std::size_t here = std::min(left, kChunk);
      for (std::size_t i = 0; i < here; ++i) take(chunk + i * width_);
      left -= here;
    }
  }

 private:
  static constexpr std::size_t kChunk = 64;
  static constexpr std::size_t kLargestPiece = std::size_t{1} << 14;  // in chunks: some 25 MB
  using Piece = std::unique_ptr<std::uint64_t, decltype([](std::uint64_t* piece) { std::free(piece); })>;
  struct Next {
    std::uint64_t* record = nullptr;
    std::size_t left = 0;  // records that fit into the chunk
  };

  // Large pieces are backed by large pages, which are found faster.
  std::uint64_t* new_chunk() {
    if (cut_ == piece_) {
      piece_ = std::min(2 * piece_, kLargestPiece);
      pieces_.push_back(new_piece(piece_ * kChunk * width_ * sizeof(std::uint64_t)));
      cut_ = 0;
    }
    return pieces_.back().get() + cut_++ * kChunk * width_;
  }
  static Piece new_piece(std::size_t bytes) {
    constexpr std::size_t kLargePage = std::size_t{1} << 21U;
    const std::size_t alignment = bytes >= kLargePage ? kLargePage : 64;
    void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc();
    if (alignment == kLargePage) static_cast<void>(::madvise(memory, bytes, MADV_HUGEPAGE));  // a wish
    return Piece(static_cast<std::uint64_t*>(memory));
  }

  std::size_t width_;
  std::vector<Next> next_;  // of each bucket
  std::vector<std::vector<std::uint64_t*>> chunks_;
  std::vector<Piece> pieces_;
  std::size_t piece_ = 64;  // chunks of the last piece
  std::size_t cut_ = 64;    // those that are in use
};

}  // namespace

class Kernel::Work {
 public:
  Work(const Measurement& m, const std::vector<Type>& types)
      : m_(m),
        order_(m.order_key),
        first_key_(m.unit ? 1 : 0),
        first_argument_(first_key_ + m.keys.size()),
        units_(m.unit ? types[0] : Type::kInteger),
        groups_(std::span(types).subspan(first_key_, m.keys.size())) {
    std::size_t next = 0;
    for (const Aggregate& aggregate : m.aggregates) {
      place_.push_back(aggregate.argument ? next++ : kNone);
      if (aggregate.argument) {
        arguments_.emplace_back(types[first_argument_ + next - 1]);
        clamps_.push_back(clamp_of(*aggregate.argument));
      }
      sets_.emplace_back();
    }
    NF_CHECK(arguments_.size() <= 31, "a measurement has at most 31 arguments");
    width_ = 2 + arguments_.size();
    if (m.listed) listed_.insert(m.listed->begin(), m.listed->end());
    if (m.unit && !m.one_row_per_unit) buckets_.emplace(kBuckets, width_);
  }

  void add(const Batch& batch) {
    groups_.add_codes(batch, first_key_, codes_);
    if (m_.listed) look_up_listed();
    std::array<std::uint64_t, 2 + 31> single{};
    for (std::size_t row = 0; row < batch.rows; ++row) {
      std::uint64_t unit = 0;
      if (m_.unit) {
        const BatchColumn& column = batch.columns[0];
        if (!column.has(row)) continue;
        unit = units_.word(column, row);
      }
      const std::uint32_t group = codes_[row];
      if (m_.listed && allowed_[group] == 0) continue;
      std::uint64_t* record = buckets_ ? buckets_->append(mixed(unit) >> (64 - kBucketBits)) : single.data();
      record[0] = unit;
      std::uint64_t missing = 0;
      for (std::size_t i = 0; i < arguments_.size(); ++i) {
        const BatchColumn& column = batch.columns[first_argument_ + i];
        const bool has = column.has(row);
        record[2 + i] = has ? argument(i, column, row) : 0;
        if (!has) missing |= std::uint64_t{1} << i;
      }
      record[1] = static_cast<std::uint64_t>(group) << 32U | missing;
      if (!buckets_) {  // the unit has no other row
        const std::uint64_t* one = record;
        add_unit({&one, 1});
      }
    }
  }

  Measured finish() {
    for (std::size_t bucket = 0; buckets_ && bucket < buckets_->size(); ++bucket) {
      sort(bucket);
      for (std::size_t begin = 0; begin < sorted_.size();) {
        std::size_t end = begin;
        rows_.clear();
        do {
          rows_.push_back(records_.data() + sorted_[end].record * width_);
        } while (++end < sorted_.size() && sorted_[end].unit == sorted_[begin].unit);
        add_unit(rows_);
        begin = end;
      }
    }
    return measured();
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;
  using Row = const std::uint64_t*;  // unit, group and bits of missing arguments, arguments
  using UnitRows = std::span<const Row>;

  // A record of a bucket, and what it is sorted by.
  struct Place {
    std::uint64_t unit;
    std::uint32_t group;
    std::uint32_t record;
    friend bool operator<(const Place& a, const Place& b) {
      return a.unit != b.unit ? a.unit < b.unit : a.group < b.group;
    }
  };

  // The records of a bucket by unit and group: copied into small heaps by the unit's hash, and then sorted in each
  // heap.
  void sort(std::size_t bucket) {
    const std::size_t size = buckets_->size_of(bucket);
    NF_CHECK(size < kNoCode, "a bucket has fewer than 2^32 rows");
    constexpr std::size_t kHeap = 16;
    const auto bits = static_cast<unsigned>(std::bit_width(size / kHeap));
    const auto heap_of = [&](std::uint64_t unit) -> std::size_t {  // the bits of the hash below those of the bucket
      return bits == 0 ? 0 : mixed(unit) << kBucketBits >> (64 - bits);
    };
    heaps_.assign((std::size_t{1} << bits) + 1, 0);
    heap_.clear();
    buckets_->for_each(bucket, [&](const std::uint64_t* record) {
      heap_.push_back(static_cast<std::uint32_t>(heap_of(*record)));
      ++heaps_[heap_.back() + 1];
    });
    for (std::size_t h = 1; h < heaps_.size(); ++h) heaps_[h] += heaps_[h - 1];
    sorted_.resize(size);
    records_.resize(size * width_);
    const std::uint32_t* heap = heap_.data();
    buckets_->for_each(bucket, [&](const std::uint64_t* record) {
      const std::uint32_t at = heaps_[*heap++]++;
      std::copy_n(record, width_, records_.data() + at * width_);
      sorted_[at] = {record[0], group_of(record), at};
    });
    std::size_t begin = 0;  // heaps_[h] is now the end of heap h
    for (std::size_t h = 0; h + 1 < heaps_.size(); ++h) {
      std::sort(sorted_.begin() + static_cast<std::ptrdiff_t>(begin),
                sorted_.begin() + static_cast<std::ptrdiff_t>(heaps_[h]));
      begin = heaps_[h];
    }
  }

  static std::uint32_t group_of(Row row) { return static_cast<std::uint32_t>(row[1] >> 32U); }
  static bool has(Row row, std::size_t argument) { return (row[1] >> argument & 1U) == 0; }

  std::uint64_t argument(std::size_t i, const BatchColumn& column, std::size_t row) {
    const std::uint64_t word = arguments_[i].word(column, row);
    if (!clamps_[i]) return word;
    return static_cast<std::uint64_t>(
        std::clamp(static_cast<std::int64_t>(word), clamps_[i]->lower, clamps_[i]->upper));
  }

  // Whether each group that is known so far is listed.
  void look_up_listed() {
    while (allowed_.size() < groups_.size()) {
      allowed_.push_back(listed_.count(groups_.keys(static_cast<std::uint32_t>(allowed_.size()))) > 0 ? 1 : 0);
    }
  }

  KeyedOrder::Tag unit_tag(Row row) const {
    return units_.type() == Type::kText ? order_.unit_tag(units_.texts()[row[0]])
                                        : KeyedOrder::unit_tag(static_cast<std::int64_t>(row[0]));
  }
  const KeyedOrder::Tag& group_tag(std::uint32_t group) {
    while (tags_.size() <= group) {
      std::string text;
      for (const Cell& cell : groups_.keys(static_cast<std::uint32_t>(tags_.size()))) append_cell(text, cell);
      tags_.push_back(order_.tag(text));
    }
    return tags_[group];
  }

  // The contents of a row, as keyed order takes them.
  std::string content(Row row) const {
    std::string text;
    for (const std::size_t place : place_) {
      if (place == kNone || !has(row, place)) {
        append_null(text);
      } else {
        arguments_[place].append(text, row[2 + place]);
      }
    }
    return text;
  }

  // Keeps the rows with the lowest ranks, in the order of groups.
  void keep_rows(std::vector<Row>& rows, std::uint64_t most) {
    if (rows.size() <= most) return;
    std::map<std::pair<std::uint32_t, std::string>, std::uint64_t> seen;
    std::vector<std::pair<KeyedOrder::Rank, Row>> ranked;
    const KeyedOrder::Tag unit = unit_tag(rows.front());
    for (const Row row : rows) {
      std::string text = content(row);
      const KeyedOrder::Tag tag = order_.tag(text);
      const std::uint64_t number = seen[{group_of(row), std::move(text)}]++;
      ranked.emplace_back(order_.of_row(unit, group_tag(group_of(row)), tag, number), row);
    }
    const auto end = ranked.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(ranked.begin(), end, ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    rows.clear();
    for (auto at = ranked.begin(); at != end; ++at) rows.push_back(at->second);
    std::stable_sort(rows.begin(), rows.end(), [](Row a, Row b) { return group_of(a) < group_of(b); });
  }

  struct Part {
    UnitRows rows;  // of one group
    std::uint32_t group = 0;
  };

  // Keeps the parts with the lowest ranks.
  void keep_groups(std::uint64_t most) {
    const KeyedOrder::Tag unit = unit_tag(parts_.front().rows.front());
    ranks_.clear();
    for (const Part& part : parts_) ranks_.push_back(order_.of_group(unit, group_tag(part.group)));
    kept_parts_.clear();
    if (!keep_few(most)) keep_ranked(most);
    parts_.swap(kept_parts_);
  }

  // For few parts: those that have fewer than `most` before them, by the upper bits of their ranks. False if these bits
  // do not decide.
  bool keep_few(std::uint64_t most) {
    constexpr std::size_t kFew = 96;
    const std::size_t parts = parts_.size();
    if (parts > kFew) return false;
    std::array<std::int32_t, kFew> upper{};
    for (std::size_t i = 0; i < parts; ++i) upper[i] = static_cast<std::int32_t>(ranks_[i] >> 97U);
    for (std::size_t i = 0; i < parts; ++i) {
      std::int32_t before = 0;
      for (std::size_t j = 0; j < parts; ++j) before += upper[j] < upper[i] ? 1 : 0;
      if (static_cast<std::uint64_t>(before) < most) kept_parts_.push_back(parts_[i]);
    }
    if (kept_parts_.size() == most) return true;
    kept_parts_.clear();
    return false;
  }

  void keep_ranked(std::uint64_t most) {
    ranked_.clear();
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) ranked_.push_back(i);
    const auto end = ranked_.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(ranked_.begin(), end, ranked_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return ranks_[a] < ranks_[b]; });
    for (auto at = ranked_.begin(); at != end; ++at) kept_parts_.push_back(parts_[*at]);
  }

  void add_unit(UnitRows all) {
    const Bounding& bounding = m_.bounding;
    if (m_.unit && bounding.max_rows && all.size() > *bounding.max_rows) {
      kept_.assign(all.begin(), all.end());
      keep_rows(kept_, *bounding.max_rows);
      all = kept_;
    }
    parts_.clear();
    for (std::size_t begin = 0; begin < all.size();) {
      std::size_t end = begin + 1;
      const std::uint32_t group = group_of(all[begin]);
      while (end < all.size() && group_of(all[end]) == group) ++end;
      parts_.push_back({all.subspan(begin, end - begin), group});
      begin = end;
    }
    if (m_.unit && bounding.max_groups && parts_.size() > *bounding.max_groups) keep_groups(*bounding.max_groups);
    const std::size_t aggregates = m_.aggregates.size();
    if (counted_.size() < groups_.size()) {
      counted_.resize(groups_.size());
      totals_.resize(groups_.size() * aggregates);
    }
    const bool scaled = !bounding.l2_norms.empty();
    partials_.assign(scaled ? aggregates * parts_.size() : 0, 0);
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const UnitRows in = parts_[p].rows;
      const std::uint32_t group = parts_[p].group;
      UnitRows counted = in;
      if (m_.unit && bounding.max_rows_per_group && in.size() > *bounding.max_rows_per_group && needs_rows()) {
        kept_in_group_.assign(in.begin(), in.end());
        keep_rows(kept_in_group_, *bounding.max_rows_per_group);
        counted = kept_in_group_;
      }
      ++counted_[group];
      for (std::size_t i = 0; i < aggregates; ++i) {
        const Int128 partial = partial_of(i, in, counted);
        if (scaled && has_norm(m_.aggregates[i].kind)) {
          partials_[i * parts_.size() + p] = partial;
        } else {
          totals_[group * aggregates + i] += partial;
        }
        collect(i, group, in, counted);
      }
    }
    for (std::size_t i = 0; scaled && i < aggregates; ++i) {
      if (!has_norm(m_.aggregates[i].kind)) continue;
      const std::span<Int128> of_all(partials_.data() + i * parts_.size(), parts_.size());
      scale_to_norm(of_all, bounding.l2_norms[i]);
      for (std::size_t p = 0; p < parts_.size(); ++p) {
        totals_[parts_[p].group * aggregates + i] += of_all[p];
      }
    }
  }

  // Whether it matters which rows of a group are kept, or only how many.
  [[nodiscard]] bool needs_rows() const {
    return std::ranges::any_of(m_.aggregates, [](const Aggregate& aggregate) {
      return aggregate.kind != Kind::kUnits && aggregate.kind != Kind::kDistinct && aggregate.argument;
    });
  }

  Int128 partial_of(std::size_t i, UnitRows in, UnitRows counted) const {
    const Aggregate& aggregate = m_.aggregates[i];
    const std::size_t place = place_[i];
    const auto is_true = [&](Row row) { return place == kNone || (has(row, place) && row[2 + place] != 0); };
    switch (aggregate.kind) {
      case Kind::kUnits:
        return std::ranges::any_of(in, is_true) ? 1 : 0;
      case Kind::kRows: {
        if (place != kNone) return clamped(std::ranges::count_if(counted, is_true), aggregate);
        std::uint64_t rows = counted.size();
        if (m_.unit && m_.bounding.max_rows_per_group) rows = std::min(rows, *m_.bounding.max_rows_per_group);
        return clamped(static_cast<Int128>(rows), aggregate);
      }
      case Kind::kSum: {
        Int128 sum = 0;
        for (const Row row : counted) sum += static_cast<std::int64_t>(row[2 + place]);  // 0 where it is NULL
        return clamped(sum, aggregate);
      }
      default:
        return 0;
    }
  }

  // Values of kDistinct and kValues: codes, and how often each is in a group.
  struct Values {
    Codes values;
    Codes pairs;  // of group and value
    std::vector<std::uint64_t> counts;
  };

  void count_value(std::size_t i, std::uint32_t group, std::uint64_t word) {
    Values& set = sets_[i];
    const std::uint32_t pair = set.pairs.code(static_cast<std::uint64_t>(group) << 32U | set.values.code(word));
    if (set.counts.size() <= pair) set.counts.resize(pair + 1);
    ++set.counts[pair];
  }

  void collect(std::size_t i, std::uint32_t group, UnitRows in, UnitRows counted) {
    const Kind kind = m_.aggregates[i].kind;
    if (kind != Kind::kDistinct && kind != Kind::kValues) return;
    const std::size_t place = place_[i];
    if (kind == Kind::kValues) {
      for (const Row row : counted) {
        if (has(row, place)) count_value(i, group, row[2 + place]);
      }
      return;
    }
    different_.clear();
    for (const Row row : in) {
      if (has(row, place)) different_.push_back(row[2 + place]);
    }
    std::ranges::sort(different_);
    different_.erase(std::unique(different_.begin(), different_.end()), different_.end());
    const auto& most = m_.bounding.max_rows_per_group;
    if (m_.unit && most && different_.size() > *most) keep_values(i, group, in.front(), *most);
    for (const std::uint64_t word : different_) count_value(i, group, word);
  }

  void keep_values(std::size_t i, std::uint32_t group, Row row, std::uint64_t most) {
    const KeyedOrder::Tag unit = unit_tag(row);
    std::vector<std::pair<KeyedOrder::Rank, std::uint64_t>> ranked;
    for (const std::uint64_t word : different_) {
      std::string text;
      arguments_[place_[i]].append(text, word);
      ranked.emplace_back(order_.of_value(unit, group_tag(group), order_.tag(text)), word);
    }
    std::ranges::sort(ranked);
    different_.clear();
    for (std::size_t at = 0; at < most; ++at) different_.push_back(ranked[at].second);
  }

  Measured measured() {
    const std::size_t aggregates = m_.aggregates.size();
    counted_.resize(std::max(counted_.size(), groups_.size()));
    totals_.resize(counted_.size() * aggregates);
    if (m_.listed) look_up_listed();
    std::map<std::vector<Cell>, MeasuredGroup> found;
    for (std::uint32_t group = 0; group < groups_.size(); ++group) {
      if (m_.listed && allowed_[group] == 0) continue;
      if (counted_[group] == 0 && !m_.keys.empty()) continue;
      MeasuredGroup one{.keys = groups_.keys(group), .units = m_.unit ? counted_[group] : 0, .totals = {}};
      for (std::size_t i = 0; i < aggregates; ++i) one.totals.push_back(totals_[group * aggregates + i]);
      found.emplace(one.keys, std::move(one));
    }
    for (auto& [keys, one] : found) one.values.resize(kinds(Kind::kValues));
    add_values(found);
    Measured measured;
    if (!m_.listed) {
      for (auto& [keys, one] : found) measured.groups.push_back(std::move(one));
      return measured;
    }
    for (const std::vector<Cell>& keys : *m_.listed) {
      const auto at = found.find(keys);
      MeasuredGroup none{.keys = keys, .totals = std::vector<Int128>(aggregates)};
      none.values.resize(kinds(Kind::kValues));
      measured.groups.push_back(at != found.end() ? std::move(at->second) : std::move(none));
    }
    return measured;
  }

  [[nodiscard]] std::size_t kinds(Kind kind) const {
    return static_cast<std::size_t>(std::ranges::count(m_.aggregates, kind, &Aggregate::kind));
  }

  void add_values(std::map<std::vector<Cell>, MeasuredGroup>& found) const {
    std::size_t histogram = 0;
    for (std::size_t i = 0; i < m_.aggregates.size(); ++i) {
      const Kind kind = m_.aggregates[i].kind;
      const Values& set = sets_[i];
      for (std::size_t pair = 0; pair < set.counts.size(); ++pair) {
        const std::uint64_t code = set.pairs.values()[pair];
        MeasuredGroup& group = found.at(groups_.keys(static_cast<std::uint32_t>(code >> 32U)));
        if (kind == Kind::kDistinct) ++group.totals[i];
        if (kind != Kind::kValues) continue;
        const std::uint64_t value = set.values.values()[static_cast<std::uint32_t>(code)];
        group.values[histogram].emplace_back(static_cast<std::int64_t>(value), set.counts[pair]);
      }
      if (kind == Kind::kValues) ++histogram;
    }
    for (auto& [keys, group] : found) {
      for (auto& values : group.values) std::ranges::sort(values);
    }
  }

  const Measurement& m_;
  KeyedOrder order_;
  std::size_t first_key_;
  std::size_t first_argument_;
  std::size_t width_ = 2;
  Words units_;
  Groups groups_;
  std::vector<std::size_t> place_;  // of each aggregate among the arguments
  std::vector<Words> arguments_;
  std::vector<std::optional<WholeClamp>> clamps_;  // of the arguments
  std::vector<Values> sets_;                       // of each aggregate; empty for most kinds
  std::set<std::vector<Cell>> listed_;
  std::vector<std::uint8_t> allowed_;
  std::optional<Buckets> buckets_;
  std::vector<std::uint32_t> codes_;    // of the groups of a batch
  std::vector<std::uint32_t> heaps_;    // of a bucket: where each begins, or ends
  std::vector<std::uint32_t> heap_;     // of each record of a bucket
  std::vector<std::uint64_t> records_;  // of a bucket, in heaps
  std::vector<Place> sorted_;           // of a bucket
  std::vector<Row> rows_;               // of a unit
  std::vector<KeyedOrder::Tag> tags_;
  std::vector<std::uint64_t> counted_;  // units in each group
  std::vector<Int128> totals_;          // [group][aggregate]
  std::vector<Part> parts_;
  std::vector<Part> kept_parts_;
  std::vector<KeyedOrder::Rank> ranks_;  // of the parts of a unit
  std::vector<std::uint32_t> ranked_;
  std::vector<Row> kept_;
  std::vector<Row> kept_in_group_;
  std::vector<std::uint64_t> different_;
  std::vector<Int128> partials_;
};

Kernel::Kernel(const Measurement& m, std::vector<Type> types) : work_(std::make_unique<Work>(m, types)) {}
Kernel::~Kernel() = default;
void Kernel::add(const Batch& batch) { work_->add(batch); }
Measured Kernel::finish() { return work_->finish(); }

}  // namespace noisefloor::engine
