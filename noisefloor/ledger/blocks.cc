#include "noisefloor/ledger/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;
constexpr int kFirstYear = 1;
constexpr int kLastYear = 9999;
constexpr std::size_t kMaxBatchName = 64;

std::int64_t floor_of(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

struct CivilDate {
  std::int64_t year;
  unsigned month;
  unsigned day;
};

// Days since 1970 in the proleptic Gregorian calendar, and back (Howard Hinnant's algorithms).
std::int64_t days_of(const CivilDate& date) {
  const std::int64_t y = date.year - (date.month <= 2 ? 1 : 0);
  const std::int64_t era = floor_of(y, 400);
  const std::int64_t year_of_era = y - era * 400;
  const std::int64_t from_march = date.month > 2 ? std::int64_t{date.month} - 3 : std::int64_t{date.month} + 9;
  const std::int64_t day_of_year = (153 * from_march + 2) / 5 + date.day - 1;
  return era * 146'097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719'468;
}

CivilDate date_of(std::int64_t days) {
  const std::int64_t z = days + 719'468;
  const std::int64_t era = floor_of(z, 146'097);
  const std::int64_t doe = z - era * 146'097;
  const std::int64_t yoe = (doe - doe / 1460 + doe / 36'524 - doe / 146'096) / 365;
  const std::int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const std::int64_t mp = (5 * doy + 2) / 153;
  const auto day = static_cast<unsigned>(doy - (153 * mp + 2) / 5 + 1);
  const auto month = static_cast<unsigned>(mp < 10 ? mp + 3 : mp - 9);
  return {yoe + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

unsigned days_in(std::int64_t year, unsigned month) {
  constexpr std::array<unsigned, 12> usual{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : usual[month - 1];
}

// Blocks by date are numbered without gaps.
std::int64_t index_of(BlockPeriod period, std::int64_t days) {
  const CivilDate date = date_of(days);
  switch (period) {
    case BlockPeriod::kDay:
      return days;
    case BlockPeriod::kWeek:
      return floor_of(days + 3, 7);  // weeks begin on Mondays; day 0 was a Thursday
    case BlockPeriod::kMonth:
      return date.year * 12 + date.month - 1;
    case BlockPeriod::kQuarter:
      return date.year * 4 + (date.month - 1) / 3;
    case BlockPeriod::kYear:
      return date.year;
  }
  NF_UNREACHABLE("a period outside the closed list");
}

std::int64_t first_day_of(BlockPeriod period, std::int64_t index) {
  switch (period) {
    case BlockPeriod::kDay:
      return index;
    case BlockPeriod::kWeek:
      return index * 7 - 3;
    case BlockPeriod::kMonth:
      return days_of({floor_of(index, 12), static_cast<unsigned>(index - floor_of(index, 12) * 12) + 1, 1});
    case BlockPeriod::kQuarter:
      return days_of({floor_of(index, 4), static_cast<unsigned>(index - floor_of(index, 4) * 4) * 3 + 1, 1});
    case BlockPeriod::kYear:
      return days_of({index, 1, 1});
  }
  NF_UNREACHABLE("a period outside the closed list");
}

std::string name_of_index(BlockPeriod period, std::int64_t index) {
  const std::int64_t days = first_day_of(period, index);
  const CivilDate date = date_of(days);
  switch (period) {
    case BlockPeriod::kDay:
      return fmt::format("{:04}-{:02}-{:02}", date.year, date.month, date.day);
    case BlockPeriod::kWeek: {
      // The week belongs to the year that its Thursday is in.
      const std::int64_t year = date_of(days + 3).year;
      return fmt::format("{:04}-W{:02}", year, (days + 3 - days_of({year, 1, 1})) / 7 + 1);
    }
    case BlockPeriod::kMonth:
      return fmt::format("{:04}-{:02}", date.year, date.month);
    case BlockPeriod::kQuarter:
      return fmt::format("{:04}-Q{}", date.year, (date.month - 1) / 3 + 1);
    case BlockPeriod::kYear:
      return fmt::format("{:04}", date.year);
  }
  NF_UNREACHABLE("a period outside the closed list");
}

// Takes exactly `digits` digits from the beginning.
std::optional<unsigned> take_digits(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  unsigned value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + static_cast<unsigned>(text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take_char(std::string_view& text, std::string_view any) {
  if (text.empty() || any.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::int64_t> take_date(std::string_view& text) {
  const auto year = take_digits(text, 4);
  if (!year || !take_char(text, "-")) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take_char(text, "-")) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day || *year < kFirstYear || *month < 1 || *month > 12 || *day < 1 || *day > days_in(*year, *month)) {
    return std::nullopt;
  }
  return days_of({*year, *month, *day});
}

struct ClockTime {
  std::int64_t minutes;
};

std::optional<ClockTime> take_hours_and_minutes(std::string_view& text) {
  const auto hours = take_digits(text, 2);
  if (!hours || *hours > 23 || !take_char(text, ":")) return std::nullopt;
  const auto minutes = take_digits(text, 2);
  if (!minutes || *minutes > 59) return std::nullopt;
  return ClockTime{*hours * 60 + *minutes};
}

// The day, UTC, of a date or a date with a time.
std::optional<std::int64_t> day_of_cell(std::string_view text) {
  const auto days = take_date(text);
  if (!days || text.empty()) return days;
  if (!take_char(text, "T ")) return std::nullopt;
  auto clock = take_hours_and_minutes(text);
  if (!clock) return std::nullopt;
  if (take_char(text, ":")) {
    const auto seconds = take_digits(text, 2);
    if (!seconds || *seconds > 59) return std::nullopt;
    if (take_char(text, ".,")) {
      if (!take_digits(text, 1)) return std::nullopt;
      while (take_digits(text, 1)) {
      }
    }
  }
  if (text.empty() || text == "Z") return days;
  const bool behind = text.front() == '-';
  if (!take_char(text, "+-")) return std::nullopt;
  const auto offset = take_hours_and_minutes(text);
  if (!offset || !text.empty()) return std::nullopt;
  return *days + floor_of(clock->minutes + (behind ? offset->minutes : -offset->minutes), std::int64_t{24} * 60);
}

std::string_view example_of(BlockPeriod period) {
  constexpr std::array<std::string_view, 5> examples{"2026-03-05", "2026-W10", "2026-03", "2026-Q1", "2026"};
  return examples[static_cast<std::size_t>(period)];
}

bool is_year_known(BlockPeriod period, std::int64_t index) {
  return index >= index_of(period, days_of({kFirstYear, 1, 8})) &&
         index <= index_of(period, days_of({kLastYear, 12, 20}));
}

std::optional<std::int64_t> index_of_name(BlockPeriod period, std::string_view name) {
  std::string_view text = name;
  std::optional<std::int64_t> index;
  if (period == BlockPeriod::kDay) {
    index = take_date(text);
  } else if (const auto year = take_digits(text, 4); year && *year >= kFirstYear) {
    if (period == BlockPeriod::kYear) {
      index = *year;
    } else if (period == BlockPeriod::kMonth && take_char(text, "-")) {
      const auto month = take_digits(text, 2);
      if (month && *month >= 1 && *month <= 12) index = std::int64_t{*year} * 12 + *month - 1;
    } else if (period == BlockPeriod::kQuarter && text.starts_with("-Q")) {
      text.remove_prefix(2);
      const auto quarter = take_digits(text, 1);
      if (quarter && *quarter >= 1 && *quarter <= 4) index = std::int64_t{*year} * 4 + *quarter - 1;
    } else if (period == BlockPeriod::kWeek && text.starts_with("-W")) {
      text.remove_prefix(2);
      const auto week = take_digits(text, 2);
      if (week && *week >= 1) index = index_of(period, days_of({*year, 1, 4})) + *week - 1;
    }
  }
  if (!index || !text.empty() || !is_year_known(period, *index) || name_of_index(period, *index) != name) {
    return std::nullopt;
  }
  return index;
}

bool is_batch_name(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= kMaxBatchName && name.front() != '.' && name.front() != '-' &&
         name.find("..") == std::string_view::npos && std::all_of(name.begin(), name.end(), plain);
}

Error no_block(const BlockTerms& terms, std::string_view text) {
  if (terms.by == BlockKind::kBatch) {
    return invalid_argument(fmt::format(
        "{} is no name of a batch: use up to {} letters, digits, '.', '_' and '-', without '..', and beginning with a "
        "letter, a digit or '_'",
        shown(text), kMaxBatchName));
  }
  return invalid_argument(fmt::format("{} is no block: each is one {}, such as {}, or a range such as {}..{}",
                                      shown(text), name_of(terms.period), example_of(terms.period),
                                      example_of(terms.period), example_of(terms.period)));
}

Error too_many_blocks() {
  return invalid_argument(fmt::format("a use touches at most {} blocks: name fewer", kMaxBlocksOfUse));
}

struct IndexRange {
  std::int64_t first;
  std::int64_t last;
};

Result<IndexRange> range_of(const BlockTerms& terms, std::string_view text) {
  const std::size_t dots = text.find("..");
  const auto first = index_of_name(terms.period, text.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : index_of_name(terms.period, text.substr(dots + 2));
  if (!first || !last) return no_block(terms, text);
  if (*last < *first) {
    return invalid_argument(
        fmt::format("the range of blocks {} ends before it begins: exchange its ends", shown(text)));
  }
  return IndexRange{*first, *last};
}

// The united ranges, in order.
Result<std::vector<IndexRange>> united(const BlockTerms& terms, std::span<const std::string> texts) {
  std::vector<IndexRange> ranges;
  for (const std::string& text : texts) {
    NF_TRY(const IndexRange range, range_of(terms, text));
    ranges.push_back(range);
  }
  std::sort(ranges.begin(), ranges.end(), [](const IndexRange& a, const IndexRange& b) { return a.first < b.first; });
  std::vector<IndexRange> result;
  std::int64_t count = 0;
  for (const IndexRange& range : ranges) {
    if (!result.empty() && range.first <= result.back().last + 1) {
      count += std::max<std::int64_t>(0, range.last - result.back().last);
      result.back().last = std::max(result.back().last, range.last);
    } else {
      count += range.last - range.first + 1;
      result.push_back(range);
    }
    if (count > static_cast<std::int64_t>(kMaxBlocksOfUse)) return too_many_blocks();
  }
  return result;
}

// The time so many periods later, by the calendar; the last day of a month stands for days that it does not have.
std::int64_t later_by(BlockPeriod period, std::int64_t time, std::int64_t periods) {
  const std::int64_t days = floor_of(time, kDayMs);
  const std::int64_t rest = time - days * kDayMs;
  if (period == BlockPeriod::kDay) return time + periods * kDayMs;
  if (period == BlockPeriod::kWeek) return time + periods * 7 * kDayMs;
  const std::int64_t each = period == BlockPeriod::kMonth ? 1 : period == BlockPeriod::kQuarter ? 3 : 12;
  const CivilDate date = date_of(days);
  const std::int64_t month = date.year * 12 + date.month - 1 + periods * each;
  const std::int64_t year = floor_of(month, 12);
  const auto in_year = static_cast<unsigned>(month - year * 12) + 1;
  return days_of({year, in_year, std::min(date.day, days_in(year, in_year))}) * kDayMs + rest;
}

}  // namespace

std::string_view name_of(BlockKind kind) { return kind == BlockKind::kDate ? "date" : "batch"; }

std::string_view name_of(BlockPeriod period) {
  constexpr std::array<std::string_view, 5> names{"day", "week", "month", "quarter", "year"};
  return names[static_cast<std::size_t>(period)];
}

Result<BlockKind> parse_block_kind(std::string_view text) {
  for (const BlockKind kind : {BlockKind::kDate, BlockKind::kBatch}) {
    if (text == name_of(kind)) return kind;
  }
  return invalid_argument(fmt::format("blocks are by date or by batch; got {}", shown(text)));
}

Result<BlockPeriod> parse_block_period(std::string_view text) {
  for (const BlockPeriod period :
       {BlockPeriod::kDay, BlockPeriod::kWeek, BlockPeriod::kMonth, BlockPeriod::kQuarter, BlockPeriod::kYear}) {
    if (text == name_of(period)) return period;
  }
  return invalid_argument(fmt::format("a period is a day, week, month, quarter or year; got {}", shown(text)));
}

std::string in_words(const BlockTerms& terms) {
  if (terms.by == BlockKind::kDate) {
    return fmt::format("blocks by {} of the column {}{}", name_of(terms.period), shown(terms.column),
                       terms.unlock == 1 ? "" : fmt::format(", unlocked over {} of them", terms.unlock));
  }
  return terms.unlock == 1
             ? "blocks by batch"
             : fmt::format("blocks by batch, each unlocked in {} parts, one a {}", terms.unlock, name_of(terms.period));
}

Result<void> check_block_terms(const BlockTerms& terms) {
  if (terms.unlock < 1 || terms.unlock > kMaxUnlock) {
    return invalid_argument(
        fmt::format("a block's budget is unlocked in 1 to {} parts; got {}", kMaxUnlock, terms.unlock));
  }
  if ((terms.by == BlockKind::kDate) == terms.column.empty()) {
    return invalid_argument(terms.column.empty() ? "blocks by date need the name of the column with the dates"
                                                 : "blocks by batch have no column of dates: leave it out");
  }
  return success();
}

Result<void> check_block(const BlockTerms& terms, const std::string& name) {
  const bool good = terms.by == BlockKind::kBatch ? is_batch_name(name) : index_of_name(terms.period, name).has_value();
  return good ? success() : Result<void>(no_block(terms, name));
}

Result<std::vector<std::string>> canonical_blocks(const BlockTerms& terms, std::span<const std::string> ranges) {
  if (ranges.empty()) {
    return invalid_argument(
        fmt::format("name the blocks that the use touches, such as {}",
                    terms.by == BlockKind::kBatch ? std::string_view("a batch") : example_of(terms.period)));
  }
  std::vector<std::string> list;
  if (terms.by == BlockKind::kBatch) {
    for (const std::string& name : ranges) NF_TRY_VOID(check_block(terms, name));
    list.assign(ranges.begin(), ranges.end());
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    if (list.size() > kMaxBlocksOfUse) return too_many_blocks();
    return list;
  }
  NF_TRY(const std::vector<IndexRange> all, united(terms, ranges));
  for (const IndexRange& range : all) {
    list.push_back(name_of_index(terms.period, range.first));
    if (range.last > range.first) list.back() += ".." + name_of_index(terms.period, range.last);
  }
  return list;
}

Result<std::vector<std::string>> parse_blocks(const BlockTerms& terms, std::string_view text) {
  std::vector<std::string> ranges;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    ranges.emplace_back(text.substr(0, comma));
    if (comma + 1 == text.size()) ranges.emplace_back();  // nothing follows the last comma: refused below
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return canonical_blocks(terms, ranges);
}

Result<std::vector<std::string>> blocks_in(const BlockTerms& terms, std::span<const std::string> list) {
  NF_TRY(const std::vector<std::string> canonical, canonical_blocks(terms, list));
  if (!std::equal(canonical.begin(), canonical.end(), list.begin(), list.end())) {
    return invalid_argument(
        "a list of blocks is sorted, and names each block once: united ranges, such as a..c for "
        "a..b and b..c");
  }
  if (terms.by == BlockKind::kBatch) return canonical;
  NF_TRY(const std::vector<IndexRange> ranges, united(terms, list));
  std::vector<std::string> names;
  for (const IndexRange& range : ranges) {
    for (std::int64_t i = range.first; i <= range.last; ++i) names.push_back(name_of_index(terms.period, i));
  }
  return names;
}

Result<std::int64_t> begin_of_block(const BlockTerms& terms, const std::string& name) {
  NF_TRY_VOID(check_block(terms, name));
  if (terms.by == BlockKind::kBatch) return invalid_argument("a batch begins when it arrives");
  return first_day_of(terms.period, *index_of_name(terms.period, name)) * kDayMs;
}

std::optional<std::string> block_of_date(BlockPeriod period, std::string_view cell) {
  const auto day = day_of_cell(cell);
  if (!day) return std::nullopt;
  const std::int64_t index = index_of(period, *day);
  if (!is_year_known(period, index)) return std::nullopt;
  return name_of_index(period, index);
}

std::uint32_t unlocked_parts(const BlockTerms& terms, std::int64_t begin, std::int64_t now) {
  std::uint32_t parts = 0;
  while (parts < terms.unlock && later_by(terms.period, begin, parts) <= now) ++parts;
  return parts;
}

std::int64_t unlock_time(const BlockTerms& terms, std::int64_t begin, std::uint32_t parts) {
  return later_by(terms.period, begin, static_cast<std::int64_t>(parts) - 1);
}

std::optional<std::int64_t> next_unlock(const BlockTerms& terms, std::int64_t begin, std::int64_t now) {
  const std::uint32_t parts = unlocked_parts(terms, begin, now);
  if (parts == terms.unlock) return std::nullopt;
  return later_by(terms.period, begin, parts);
}

}  // namespace noisefloor
