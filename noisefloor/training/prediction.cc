#include "noisefloor/training/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "noisefloor/base/overloaded.h"
#include "noisefloor/base/text.h"
#include "noisefloor/table/csv.h"
#include "noisefloor/training/examples.h"
#include "noisefloor/training/exposing.h"
#include "noisefloor/training/output_files.h"

namespace noisefloor {
namespace {

constexpr std::size_t kSequencesAtOnce = 256;

// The names of the classes, if the file has any.
std::vector<std::string> class_names(const TrainingData& data, std::int32_t classes) {
  std::vector<std::string> names =
      std::visit(Overloaded{[](const IdxFormat&) { return std::vector<std::string>{}; },
                            [](const CsvTable& table) {
                              const auto* label = std::get_if<LabelColumn>(&table.schema.outcome);
                              return label != nullptr ? label->classes : std::vector<std::string>{};
                            },
                            [](const LibsvmOptions& options) { return options.classes; },
                            [](const TextFormat&) { return std::vector<std::string>{}; },
                            [](const TablesFormat&) { return std::vector<std::string>{}; }},
                 data.format);
  for (std::int32_t i = static_cast<std::int32_t>(names.size()); i < classes; ++i) names.push_back(std::to_string(i));
  return names;
}

// Text as a cell of a CSV file.
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

// Probabilities of all classes from a network's outputs for one example.
std::vector<double> probabilities(std::span<const float> outputs) {
  if (outputs.size() == 1) {
    const double one = 1 / (1 + std::exp(-static_cast<double>(outputs[0])));
    return {1 - one, one};
  }
  const double most = *std::max_element(outputs.begin(), outputs.end());
  std::vector<double> result;
  double sum = 0;
  for (const float output : outputs) {
    result.push_back(std::exp(static_cast<double>(output) - most));
    sum += result.back();
  }
  for (double& p : result) p /= sum;
  return result;
}

// The names of the examples in the output: their numbers, or the cells of a column.
struct Names {
  std::string header = "example";
  std::vector<std::string> ids = {};

  [[nodiscard]] std::string of(std::size_t row) const { return ids.empty() ? std::to_string(row) : cell(ids[row]); }
};

Result<Names> read_ids(const TrainingFile& file, const PredictionWish& wish, std::size_t rows) {
  if (!wish.id) return Names{};
  const auto* table = std::get_if<CsvTable>(&file.training.data.format);
  if (table == nullptr) return invalid_argument("only examples in a CSV file have a column of ids: leave the id out");
  NF_TRY(ByteSource source, ByteSource::open(wish.input));
  NF_TRY(CsvReader reader, CsvReader::open(std::move(source), table->format));
  const std::vector<std::string>& header = reader.header();
  const auto place = std::find(header.begin(), header.end(), *wish.id);
  if (place == header.end()) {
    return input_data_error(fmt::format("{} has no column {}", wish.input, shown(*wish.id)));
  }
  const auto column = static_cast<std::size_t>(place - header.begin());
  Names names{cell(*wish.id), {}};
  names.ids.reserve(rows);
  while (true) {
    NF_TRY(const bool more, reader.next());
    if (!more) break;
    names.ids.emplace_back(reader.cells()[column]);
  }
  if (names.ids.size() == rows) return names;
  return input_data_error(fmt::format("{} changed while it was read", wish.input));
}

std::string as_csv(std::span<const float> outputs, const Dataset& data, const std::vector<std::string>& classes,
                   const Names& names) {
  const std::size_t each = outputs.size() / data.rows;
  std::string csv = names.header + ",prediction";
  for (const std::string& name : classes) csv += "," + cell("p(" + name + ")");
  csv += "\n";
  for (std::size_t row = 0; row < data.rows; ++row) {
    const std::span<const float> own = outputs.subspan(row * each, each);
    if (classes.empty()) {
      csv += fmt::format("{},{:.9g}\n", names.of(row), own[0]);
      continue;
    }
    const std::vector<double> p = probabilities(own);
    const auto best = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
    csv += fmt::format("{},{}", names.of(row), cell(classes[best]));
    for (const double one : p) csv += fmt::format(",{:.6g}", one);
    csv += "\n";
  }
  return csv;
}

// A readable form: bytes that are not characters are shown by their number.
std::string shown_character(const Alphabet& alphabet, std::int32_t token) {
  std::string text = alphabet.decode({&token, 1});
  const auto byte = static_cast<unsigned char>(text.front());
  if (text.size() == 1 && byte != '\n' && (byte < 0x20 || byte > 0x7E)) return fmt::format("\\x{:02X}", byte);
  return text;
}

// One line for each character that is predicted: the true character, the likeliest one by the model, and the
// probabilities of both.
Result<std::string> text_as_csv(TrainableModel& model, std::span<const float> weights, const Dataset& data,
                                const Alphabet& alphabet) {
  std::string csv = "example,position,character,prediction,p(prediction),p(character)\n";
  const std::size_t length = data.width() - 1;
  const auto tokens = static_cast<std::size_t>(alphabet.size());
  for (std::size_t first = 0; first < data.rows; first += kSequencesAtOnce) {
    std::vector<std::uint64_t> rows(std::min(kSequencesAtOnce, data.rows - first));
    std::iota(rows.begin(), rows.end(), first);
    NF_TRY(const Dataset some, data.take(rows));
    const std::vector<float> outputs = model.predict(weights, some);
    for (std::size_t i = 0; i < rows.size() * length; ++i) {
      const std::size_t row = i / length;
      const std::size_t position = i % length + 1;
      const std::vector<double> p = probabilities(std::span(outputs).subspan(i * tokens, tokens));
      const auto best = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
      const auto real = static_cast<std::size_t>(some.features[row * (length + 1) + position]);
      csv += fmt::format("{},{},{},{},{:.6g},{:.6g}\n", first + row, position,
                         cell(shown_character(alphabet, static_cast<std::int32_t>(real))),
                         cell(shown_character(alphabet, static_cast<std::int32_t>(best))), p[best], p[real]);
    }
  }
  return csv;
}

}  // namespace

std::string usual_model_path(const Training& training) { return OutputFiles{training.name}.model(); }

Result<Quality> evaluate_model(const TrainingFile& file, const std::string& model, const Machine& machine,
                               Ledger* ledger) {
  NF_TRY_VOID(require_backend(file.training, file.location, machine.torch));
  if (ledger != nullptr) NF_TRY_VOID(claim_test_rows(*ledger, file));
  NF_TRY(const Dataset test, read_test_examples(file, machine.threads));
  NF_TRY(const std::unique_ptr<TrainableModel> bound, bind_model(file.training, test, machine));
  NF_TRY(const std::vector<float> weights, load_weights(model, *bound));
  return bound->quality(weights, test);
}

Result<Predictions> predict(const TrainingFile& file, const std::string& model, const PredictionWish& wish,
                            const Machine& machine) {
  const TrainingData& data = file.training.data;
  NF_TRY_VOID(require_backend(file.training, file.location, machine.torch));
  NF_TRY(const Dataset examples, read_inputs(file.training, wish.input, machine.threads));
  NF_TRY(const Names names, read_ids(file, wish, examples.rows));
  NF_TRY(const std::unique_ptr<TrainableModel> bound, bind_model(file.training, examples, machine));
  NF_TRY(const std::vector<float> weights, load_weights(model, *bound));
  if (const auto* text = std::get_if<TextFormat>(&data.format)) {
    NF_TRY(const Alphabet alphabet, alphabet_of(*text));
    NF_TRY(std::string csv, text_as_csv(*bound, weights, examples, alphabet));
    return Predictions{std::move(csv), examples.rows};
  }
  const auto classes = examples.classes > 0 ? class_names(data, examples.classes) : std::vector<std::string>{};
  return Predictions{as_csv(bound->predict(weights, examples), examples, classes, names), examples.rows};
}

}  // namespace noisefloor
