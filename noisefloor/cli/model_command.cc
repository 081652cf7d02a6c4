#include "noisefloor/cli/model_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/base/file.h"
#include "noisefloor/base/overloaded.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/model_report.h"
#include "noisefloor/cli/training_session.h"

namespace noisefloor::cli {
namespace {

struct ModelOptions {
  std::string file;
  std::string model;
  std::string threads;

  [[nodiscard]] std::string model_path(const Training& training) const {
    return model.empty() ? OutputFiles{training.name}.model() : model;
  }
};

struct PredictOptions : ModelOptions {
  std::string input;
  std::string output;
};

void declare_model(CLI::App& command, ModelOptions& o) {
  command.add_option("FILE", o.file, "The training as TOML")->required();
  command.add_option("--model", o.model, "Its model (NAME/model.safetensors)")->type_name("FILE");
  command.add_option("--threads", o.threads, "Threads (all cores)")->type_name("N");
}

Result<Report> run_evaluate(const ModelOptions& o) {
  NF_TRY(const TrainingFile file, read_training_file(o.file));
  NF_TRY(const std::size_t threads, parse_threads(o.threads));
  NF_TRY(const Dataset test, read_test_examples(file, threads));
  NF_TRY(const std::unique_ptr<TrainableModel> model, bind_model(file.training, test, threads));
  const std::string path = o.model_path(file.training);
  NF_TRY(const std::vector<float> weights, load_weights(path, *model));
  Report report(fmt::format("{} on its test data", path));
  report.set("model", path);
  report_quality(report, "test", *model, weights, test);
  return report;
}

// The texts of the classes, where the file has any.
std::vector<std::string> class_names(const TrainingData& data, std::int32_t classes) {
  std::vector<std::string> names =
      std::visit(Overloaded{[](const IdxFormat&) { return std::vector<std::string>{}; },
                            [](const CsvTable& table) {
                              const auto* label = std::get_if<LabelColumn>(&table.schema.outcome);
                              return label != nullptr ? label->classes : std::vector<std::string>{};
                            },
                            [](const LibsvmOptions& options) { return options.classes; },
                            [](const TextFormat&) { return std::vector<std::string>{}; }},
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

std::string as_csv(std::span<const float> outputs, const Dataset& data, const std::vector<std::string>& names) {
  const std::size_t each = outputs.size() / data.rows;
  std::string csv = "example,prediction";
  for (const std::string& name : names) csv += "," + cell("p(" + name + ")");
  csv += "\n";
  for (std::size_t row = 0; row < data.rows; ++row) {
    const std::span<const float> own = outputs.subspan(row * each, each);
    if (names.empty()) {
      csv += fmt::format("{},{:.9g}\n", row, own[0]);
      continue;
    }
    const std::vector<double> p = probabilities(own);
    const auto best = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
    csv += fmt::format("{},{}", row, cell(names[best]));
    for (const double one : p) csv += fmt::format(",{:.6g}", one);
    csv += "\n";
  }
  return csv;
}

// As people can read it: bytes that are no characters by their number.
std::string shown_character(const Alphabet& alphabet, std::int32_t token) {
  std::string text = alphabet.decode({&token, 1});
  const auto byte = static_cast<unsigned char>(text.front());
  if (text.size() == 1 && byte != '\n' && (byte < 0x20 || byte > 0x7E)) return fmt::format("\\x{:02X}", byte);
  return text;
}

constexpr std::size_t kSequencesAtOnce = 256;

// One line for each character that is predicted: what it is, what was thought likeliest, and the chances of both.
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

Result<std::string> predictions(TrainableModel& model, std::span<const float> weights, const Dataset& examples,
                                const TrainingData& data) {
  if (const auto* text = std::get_if<TextFormat>(&data.format)) {
    NF_TRY(const Alphabet alphabet, alphabet_of(*text));
    return text_as_csv(model, weights, examples, alphabet);
  }
  return as_csv(model.predict(weights, examples), examples,
                examples.classes > 0 ? class_names(data, examples.classes) : std::vector<std::string>{});
}

Result<Report> run_predict(const PredictOptions& o) {
  NF_TRY(const TrainingFile file, read_training_file(o.file));
  NF_TRY(const std::size_t threads, parse_threads(o.threads));
  NF_TRY(const Dataset examples, read_inputs(file.training, o.input, threads));
  NF_TRY(const std::unique_ptr<TrainableModel> model, bind_model(file.training, examples, threads));
  const std::string path = o.model_path(file.training);
  NF_TRY(const std::vector<float> weights, load_weights(path, *model));
  NF_TRY(const std::string csv, predictions(*model, weights, examples, file.training.data));
  NF_TRY_VOID(write_file(o.output, csv));
  Report report(fmt::format("Predictions of {}", path));
  report.set("model", path);
  report.set("predictions", o.output);
  report.set("examples", examples.rows);
  report.line("predictions", fmt::format("{} ({} examples)", o.output, examples.rows));
  return report;
}

}  // namespace

void add_evaluate_command(CLI::App& app, Action& action) {
  add_command<ModelOptions>(app, action, "evaluate", "How good a trained model is on its test data",
                            "examples/training/fashion.toml", declare_model, run_evaluate);
}

void add_predict_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, PredictOptions& o) {
    declare_model(command, o);
    command
        .add_option("--input", o.input, "Examples to predict for, in the format of its [data]; labels may be missing")
        ->type_name("FILE")
        ->required();
    command.add_option("--output", o.output, "Where the predictions go, as CSV")
        ->type_name("FILE")
        ->required()
        ->group("Output");
  };
  add_command<PredictOptions>(app, action, "predict", "What a trained model says of examples",
                              "examples/training/streamrec.toml --input new.csv --output predictions.csv", declare,
                              run_predict);
}

}  // namespace noisefloor::cli
