#include "noisefloor/dataset/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "noisefloor/base/text.h"
#include "noisefloor/engine/source.h"
#include "noisefloor/table/byte_source.h"

namespace noisefloor {
namespace {

constexpr std::size_t kMaxLine = std::size_t{16} << 20;
// Whole numbers of up to so many digits have the same text as doubles.
constexpr std::size_t kExactDigits = 15;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Whether the cell is a whole number in its shortest form already, as most are.
bool is_plain_count(std::string_view text) {
  return text.size() <= kExactDigits && (text.front() != '0' || text.size() == 1) &&
         std::all_of(text.begin(), text.end(), is_digit);
}

// Calls `take` with each line that is not blank, without its line ending. Lines longer than kMaxLine come in pieces.
Result<void> for_each_line(ByteSource source, const std::function<void(std::string_view)>& take) {
  Window window(std::move(source));
  std::size_t searched = 0;
  const auto give = [&](std::string_view line) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!trimmed(line).empty()) take(line);
  };
  while (true) {
    const std::string_view text = window.text();
    const std::size_t end = text.find('\n', searched);
    if (end != std::string_view::npos) {
      give(text.substr(0, end));
      window.drop(end + 1);
      searched = 0;
      continue;
    }
    searched = text.size();
    if (searched >= kMaxLine) {
      give(text);
      window.drop(searched);
      searched = 0;
    }
    NF_TRY(const bool more, window.more());
    if (more) continue;
    give(window.text());
    return success();
  }
}

// Reads the bytes of an IDX file after its header.
class IdxBytes {
 public:
  static Result<IdxBytes> open(const std::string& path) {
    NF_TRY(ByteSource source, ByteSource::open(path));
    IdxBytes file(std::move(source));
    std::array<char, 4> word{};
    NF_TRY_VOID(file.fill(word));
    const auto sizes = static_cast<unsigned char>(word[3]);
    if (word[0] != 0 || word[1] != 0 || word[2] != 8 || sizes == 0 || sizes > 4) {
      return error_at_byte(file.source_.name(), 0, "this is no IDX file of unsigned bytes with 1 to 4 sizes");
    }
    for (unsigned i = 0; i < sizes; ++i) {
      NF_TRY_VOID(file.fill(word));
      std::uint64_t size = 0;
      for (const char byte : word) size = size << 8 | static_cast<unsigned char>(byte);
      if (i == 0) {
        file.count_ = size;
      } else {
        file.size_ *= size;
      }
      if (file.size_ > kMaxLine) return error_at_byte(file.source_.name(), 4, "an element is larger than 16 MB");
    }
    return file;
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  Result<void> fill(std::span<char> into) {
    while (!into.empty()) {
      NF_TRY(const std::size_t got, source_.read(into));
      if (got == 0) {
        return input_data_error(
            fmt::format("{}: the file ends before what its header declares; copy it again", source_.name()));
      }
      into = into.subspan(got);
    }
    return success();
  }

 private:
  explicit IdxBytes(ByteSource source) : source_(std::move(source)) {}

  ByteSource source_;
  std::uint64_t count_ = 0;
  std::size_t size_ = 1;
};

class Records {
 public:
  // `first`: these are the first files of the sketch.
  Records(RowSketcher& sketcher, const ExampleFiles& files, const std::string& folder, bool first)
      : sketcher_(sketcher), files_(files), folder_(folder), first_(first) {}

  Result<void> read(const CsvTable& table) { return read_csv_file(open_text(), table.format, first_); }

  Result<void> read(const TablesFormat& format) {
    std::unique_ptr<engine::Engine> engine;
    std::vector<engine::CatalogueTable> catalogue;
    for (const DescribedTable& table : format.tables) {
      if (is_csv_file(format, table)) {
        CsvFormat written;
        written.separator = table.separator;
        written.trim = table.trim;
        NF_TRY_VOID(read_csv_file(ByteSource::open(resolved(folder_, table.place)), written, true));
        continue;
      }
      if (engine == nullptr) {
        NF_TRY(engine, engine::open_engine(source_of(format, folder_)));
        NF_TRY(catalogue, engine->catalogue());
      }
      NF_TRY_VOID(read_table(*engine, catalogue, table));
    }
    return success();
  }

  Result<void> read_table(engine::Engine& engine, const std::vector<engine::CatalogueTable>& catalogue,
                          const DescribedTable& table) {
    const auto found = std::find_if(catalogue.begin(), catalogue.end(),
                                    [&](const engine::CatalogueTable& one) { return one.name == table.name; });
    if (found == catalogue.end()) {
      return invalid_argument(
          fmt::format("there is no table {} at the place that the description states; correct "
                      "[data] or the table of its [[table]]",
                      shown(table.place)));
    }
    std::vector<std::string> names;
    for (const engine::CatalogueColumn& column : found->columns) names.push_back(column.name);
    sketcher_.set_columns(names);
    std::vector<std::string> rooms(names.size());
    std::vector<std::string_view> canonical(names.size());
    return engine.read_rows(table.name, [&](std::span<const std::string_view> cells) -> Result<void> {
      if (cells.size() != canonical.size()) return internal_error("a row has other columns than its table");
      for (std::size_t i = 0; i < cells.size(); ++i) canonical[i] = canonical_cell(cells[i], rooms[i]);
      sketcher_.add_row(canonical);
      return success();
    });
  }

  Result<void> read_csv_file(Result<ByteSource> opened, const CsvFormat& format, bool first) {
    NF_TRY(ByteSource source, std::move(opened));
    const OddRecords odd = OddRecords::become_null();
    NF_TRY(CsvReader reader, CsvReader::open(std::move(source), format, odd));
    if (first) sketcher_.set_columns(reader.header());
    // The batches of a table have the columns of the first, in any order.
    NF_TRY(const std::vector<std::size_t> places, sketcher_.places_of(reader.header()));
    std::vector<std::string> rooms(reader.header().size());
    std::vector<std::string_view> cells(reader.header().size());
    while (true) {
      NF_TRY(const CsvReader::Found found, reader.next(odd));
      if (found == CsvReader::Found::kEnd) return success();
      if (found == CsvReader::Found::kOdd) {
        sketcher_.add_record(reader.odd_line());
        continue;
      }
      for (std::size_t i = 0; i < cells.size(); ++i) cells[places[i]] = canonical_cell(reader.cells()[i], rooms[i]);
      sketcher_.add_row(cells);
    }
  }

  Result<void> read(const LibsvmOptions& /*options*/) {
    NF_TRY(ByteSource source, open_text());
    std::string record;
    std::string room;
    return for_each_line(std::move(source), [&](std::string_view line) {
      record.clear();
      line = trimmed(line.substr(0, line.find('#')));
      while (!line.empty()) {
        const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
        const std::string_view word = line.substr(0, end);
        const std::size_t colon = word.find(':');
        if (colon == std::string_view::npos) {
          record += canonical_cell(word, room);
        } else {
          record.append(canonical_cell(word.substr(0, colon), room)).append(":");
          record += canonical_cell(word.substr(colon + 1), room);
        }
        record += ' ';
        line = trimmed(line.substr(end));
      }
      if (!record.empty()) sketcher_.add_record(record);
    });
  }

  Result<void> read(const TextFormat& /*format*/) {
    NF_TRY(ByteSource source, open_text());
    return for_each_line(std::move(source), [&](std::string_view line) { sketcher_.add_record(line); });
  }

  Result<void> read(const IdxFormat& /*format*/) {
    const auto& files = std::get<IdxFiles>(files_);
    NF_TRY(IdxBytes images, IdxBytes::open(resolved(folder_, files.images)));
    NF_TRY(IdxBytes labels, IdxBytes::open(resolved(folder_, files.labels)));
    if (images.count() != labels.count() || labels.size() != 1) {
      return input_data_error(fmt::format("{}: there must be one label for each image of {}", one_line(files.labels),
                                          one_line(files.images)));
    }
    std::vector<char> record(images.size() + 1);
    for (std::uint64_t i = 0; i < images.count(); ++i) {
      NF_TRY_VOID(images.fill(std::span(record).first(images.size())));
      NF_TRY_VOID(labels.fill(std::span(record).last(1)));
      sketcher_.add_record({record.data(), record.size()});
    }
    return success();
  }

 private:
  Result<ByteSource> open_text() const { return ByteSource::open(resolved(folder_, std::get<TextFile>(files_).path)); }

  RowSketcher& sketcher_;
  const ExampleFiles& files_;
  const std::string& folder_;
  bool first_;
};

}  // namespace

std::string resolved(const std::string& folder, const std::string& path) {
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

std::string_view canonical_cell(std::string_view cell, std::string& room) {
  const std::string_view text = trimmed(cell);
  if (text.empty() || is_plain_count(text)) return text;
  const bool may_be_number =
      is_digit(text.front()) || text.front() == '-' || text.front() == '+' || text.front() == '.';
  if (!may_be_number) return text;
  // Longer whole numbers are identifiers: as doubles, different ones could become equal.
  if (text.size() > kExactDigits && std::all_of(text.begin(), text.end(), is_digit)) return text;
  const std::optional<double> number = parse_decimal(text);
  if (!number || !std::isfinite(*number)) return text;
  room.clear();
  fmt::format_to(std::back_inserter(room), "{}", *number == 0 ? 0.0 : *number);
  return room;
}

namespace {

// Blocks by date: one pass over the table, each row to the sketch of all rows and to that of its block.
Result<SketchedBlocks> sketch_dates(const Secret32& key, const DatasetDescription& description,
                                    const std::string& folder) {
  struct Block {
    RowSketcher rows;
    RowSketcher undated;
  };
  const BlockTerms& terms = *description.blocks;
  NF_TRY(const std::vector<std::string> names, blocks_in(terms, description.chosen));
  std::unordered_map<std::string, Block> blocks;
  for (const std::string& name : names) blocks.emplace(name, Block{RowSketcher(key), RowSketcher(key)});
  // The filter is there to find the column, and takes every record.
  CsvFormat format = std::get<CsvTable>(description.format).format;
  format.only = std::make_shared<RecordFilter>(RecordFilter{terms.column, [](std::string_view) { return true; }});
  NF_TRY(ByteSource source, ByteSource::open(resolved(folder, std::get<TextFile>(description.files).path)));
  NF_TRY(CsvReader reader, CsvReader::open(std::move(source), format));
  const std::vector<std::string>& header = reader.header();
  const auto dates = static_cast<std::size_t>(std::find(header.begin(), header.end(), terms.column) - header.begin());
  std::vector<std::string> others = header;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(dates));
  RowSketcher all(key);
  all.set_columns(header);
  for (auto& [name, block] : blocks) {
    block.rows.set_columns(header);
    block.undated.set_columns(others);
  }
  std::vector<std::string> rooms(header.size());
  std::vector<std::string_view> cells(header.size());
  while (true) {
    NF_TRY(const bool found, reader.next());
    if (!found) break;
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = canonical_cell(reader.cells()[i], rooms[i]);
    all.add_row(cells);
    const std::optional<std::string> name = block_of_date(terms.period, trimmed(reader.cells()[dates]));
    const auto block = name ? blocks.find(*name) : blocks.end();
    if (block == blocks.end()) continue;
    block->second.rows.add_row(cells);
    cells.erase(cells.begin() + static_cast<std::ptrdiff_t>(dates));
    block->second.undated.add_row(cells);
    cells.resize(header.size());
  }
  SketchedBlocks result{std::move(all).finish(), {}};
  for (const std::string& name : names) {
    Block& block = blocks.at(name);
    result.blocks.push_back({name, std::move(block.rows).finish(), std::move(block.undated).finish()});
  }
  return result;
}

// Reads every chosen file of the description into the sketch.
Result<void> read_all(RowSketcher& sketcher, const DatasetDescription& description, const std::string& folder) {
  bool first = true;
  for (std::string& path : chosen_files(description)) {
    const ExampleFiles file = TextFile{std::move(path)};
    Records records(sketcher, file, folder, first);
    NF_TRY_VOID(std::visit([&](const auto& format) { return records.read(format); }, description.format));
    first = false;
  }
  return success();
}

// The same data with the public tables alone, or without them.
DataFormat tables_that(bool are_public, DataFormat format) {
  if (auto* tables = std::get_if<TablesFormat>(&format)) {
    const auto other = [&](const DescribedTable& table) { return table.is_public != are_public; };
    tables->tables.erase(std::remove_if(tables->tables.begin(), tables->tables.end(), other), tables->tables.end());
  }
  return format;
}

}  // namespace

Result<RowSketch> sketch_public_tables(const Secret32& key, const DatasetDescription& description,
                                       const std::string& folder) {
  RowSketcher sketcher(key);
  Records records(sketcher, description.files, folder, true);
  NF_TRY_VOID(records.read(std::get<TablesFormat>(tables_that(true, description.format))));
  return std::move(sketcher).finish();
}

Result<SketchedBlocks> sketch_blocks(const Secret32& key, const DatasetDescription& description,
                                     const std::string& folder) {
  if (description.blocks->by == BlockKind::kDate) return sketch_dates(key, description, folder);
  RowSketcher all(key);
  NF_TRY_VOID(read_all(all, description, folder));
  SketchedBlocks result{std::move(all).finish(), {}};
  NF_TRY(const std::vector<std::string> names, blocks_in(*description.blocks, description.chosen));
  for (const std::string& name : names) {
    DatasetDescription one = description;
    one.chosen = {name};
    RowSketcher rows(key);
    NF_TRY_VOID(read_all(rows, one, folder));
    result.blocks.push_back({name, std::move(rows).finish(), std::nullopt});
  }
  return result;
}

Result<RowSketch> sketch_rows(const Secret32& key, const DatasetDescription& description, const std::string& folder) {
  const bool fits =
      std::holds_alternative<IdxFormat>(description.format) == std::holds_alternative<IdxFiles>(description.files);
  if (!fits)
    return invalid_argument(
        "a dataset of the format idx has a file of images and one of labels, and any other dataset has one file");
  const bool by_batch = description.blocks && description.blocks->by == BlockKind::kBatch;
  if (by_batch && description.chosen.empty()) {
    return invalid_argument(
        fmt::format("the rows of the dataset {} come in batches: name those that there are", shown(description.name)));
  }
  RowSketcher sketcher(key);
  if (by_batch) {
    NF_TRY_VOID(read_all(sketcher, description, folder));
  } else {
    Records records(sketcher, description.files, folder, true);
    const DataFormat rows = description.is_public() ? description.format : tables_that(false, description.format);
    NF_TRY_VOID(std::visit([&](const auto& format) { return records.read(format); }, rows));
  }
  RowSketch sketch = std::move(sketcher).finish();
  if (sketch.rows == 0)
    return input_data_error(fmt::format("the dataset '{}' holds no records", one_line(description.name)));
  return sketch;
}

}  // namespace noisefloor
