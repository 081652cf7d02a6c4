#include "noisefloor/cli/commands.h"

#include <memory>
#include <string>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/cli/console.h"
#include "noisefloor/summary/quality_summary.h"
#include "noisefloor/training/exposing.h"
#include "noisefloor/training/prediction.h"

namespace noisefloor::cli {
namespace {

struct ModelOptions : LedgerAccess {
  std::string file;
  std::string model;
  std::string threads;

  [[nodiscard]] std::string model_path(const Training& training) const {
    return model.empty() ? usual_model_path(training) : model;
  }
};

struct PredictOptions : ModelOptions {
  std::string input;
  std::string output;
  std::string id;
};

void declare_model(CLI::App& command, ModelOptions& o) {
  const OptionGroup options(command);
  options.required("FILE", o.file, "The training as TOML");
  options.optional("--model", o.model, "Its model (NAME/model.safetensors)", "FILE");
  options.optional("--threads", o.threads, "Threads (all cores)", "N");
}

Result<Summary> run_evaluate(const ModelOptions& o) {
  NF_TRY(const TrainingFile file, training_file_at(o.file));
  NF_TRY(const Machine machine, machine_with(o.threads));
  const std::string path = o.model_path(file.training);
  std::unique_ptr<Ledger> ledger;
  if (!o.ledger.empty() || ledger_is_there(o)) {
    NF_TRY(ledger, open_to_write(o));
  }
  NF_TRY(const Quality quality, evaluate_model(file, path, machine, ledger.get()));
  return evaluation_summary(path, quality, measures_private_rows(file.training));
}

Result<Summary> run_predict(const PredictOptions& o, bool json) {
  const bool to_output = o.output == "-";
  if (to_output && json) return invalid_argument("--json and --output - both want standard output: name a file");
  NF_TRY(const TrainingFile file, training_file_at(o.file));
  NF_TRY(const Machine machine, machine_with(o.threads));
  PredictionWish wish{o.input, {}};
  if (!o.id.empty()) wish.id = o.id;
  const std::string path = o.model_path(file.training);
  NF_TRY(Predictions made, predict(file, path, wish, machine));
  if (to_output) return Summary::of_data(std::move(made.csv));
  NF_TRY_VOID(write_file(o.output, made.csv));
  return summary_of(made, path, o.output);
}

}  // namespace

void add_evaluate_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, ModelOptions& o) {
    declare_model(command, o);
    o.add_to(command, true, false);
  };
  add_command<ModelOptions>(app, action, "evaluate", "How good a trained model is on its test data",
                            "examples/training/fashion.toml", declare, run_evaluate);
}

void add_predict_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, PredictOptions& o) {
    declare_model(command, o);
    const OptionGroup options(command);
    options.required("--input", o.input, "Examples to predict for, in the format of its [data]; labels may be missing",
                     "FILE");
    OptionGroup(command, "Output")
        .required("--output", o.output, "Where the predictions go, as CSV; - is standard output", "FILE");
    options.optional("--id", o.id, "A column of a CSV file that is carried through, to tell examples by", "COLUMN");
  };
  add_command<PredictOptions>(app, action, "predict", "What a trained model says of examples",
                              "examples/training/streamrec.toml --input new.csv --output predictions.csv", declare,
                              [&action](const PredictOptions& o) { return run_predict(o, action.json); });
}

}  // namespace noisefloor::cli
