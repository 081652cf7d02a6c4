// The sections of a training file that have a reader of their own. Internal to config/.
//
// A section is valid only if no finding is an error: a value that could not be read keeps its default, so that
// everything else can still be read and judged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/accounting/rule.h"
#include "noisefloor/config/toml_reader.h"
#include "noisefloor/config/training.h"

namespace noisefloor::internal {

enum class DataKind : std::uint8_t { kIdx, kCsv, kLibsvm, kText, kTables };

struct DataSection {
  TrainingData data;
  std::optional<DataKind> kind;
  PrivacyUnit unit = PrivacyUnit::kRow;
  bool has_target = false;             // the model predicts a number
  Place dataset_place = {};            // where the section names its dataset
  std::optional<std::size_t> outputs;  // outputs of a model for the data: the number of classes, or 1 for a target
};

// [data] of a training file, which describes the data or names their description.
[[nodiscard]] DataSection read_data_section(const toml::table& table, const ReadNamedFile& named, Findings& findings);
// [data] of a dataset's description: one file, and no parts of it.
[[nodiscard]] DataSection read_dataset_section(const toml::table& table, Findings& findings);

// name = "…" at the top of a file, which must be there and pass check_name(). `meaning` says what it names.
[[nodiscard]] Located<std::string> read_name(SectionReader& reader, std::string_view meaning);

// [budget]: the total cost that all uses of the data may have together.
struct BudgetKeys {
  Located<std::string> name;
  Located<Epsilon> epsilon;
  Located<Delta> delta;
  Located<Adjacency> adjacency;
  Located<Rule> rule;  // only in a dataset's description

  // Returns nothing if adjacency is stated and cannot be read.
  [[nodiscard]] std::optional<Adjacency> neighbours() const {
    return adjacency.stated() ? adjacency.value : Adjacency::kAddRemove;
  }
};
enum class BudgetOf : std::uint8_t { kTraining, kDataset };
[[nodiscard]] BudgetKeys read_budget_section(const toml::table& table, BudgetOf owner, Findings& findings);
// The budget of the dataset that [data] names. Requires that it has one.
[[nodiscard]] BudgetKeys budget_of(const DataSection& data);

enum class ModelKind : std::uint8_t {
  kLogistic,
  kRidge,
  kMlp,
  kStreamrec,
  kLenet5,
  kDpCnn,
  kScatteringLinear,
  kScatteringCnn,
  kAlexnet,
  kLstm,
  kTransformer,
  kLayers
};

struct ModelSection {
  Located<ModelKind> kind;
  TrainingModel model;
  bool images = false;  // the model takes images as they are
  bool good = false;
};

// The keys of [model] for a network for torch (training_torch.cc).
struct TorchKeys {
  Located<std::size_t> width;
  Located<std::size_t> depth;
  Located<std::size_t> heads;
  Located<double> dropout;
  Located<bool> tied;
  Located<FineTuning> tuning;
  Located<std::size_t> lora_rank;
  Located<std::vector<std::string>> frozen;

  [[nodiscard]] bool choose_parameters() const { return tuning.stated() || frozen.stated(); }
};
void read_torch_keys(SectionReader& reader, const std::optional<ModelKind>& kind, bool starts_from, TorchKeys& keys);
// The network of a preset for torch.
[[nodiscard]] std::vector<TorchLayer> torch_preset(ModelKind kind, const TorchKeys& keys, std::size_t outputs);

// Reads [plan]. If clip norms are not stated, the caller fills them in, because it knows [training].
[[nodiscard]] TrainingGoal read_plan_section(const toml::table& table, std::optional<DataKind> kind,
                                             Findings& findings);

// Reads [audit].
[[nodiscard]] TrainingAudit read_audit_section(const toml::table& table, Findings& findings);

[[nodiscard]] ModelSection read_model_section(const toml::table& table, const DataSection& data, Findings& findings);

}  // namespace noisefloor::internal
