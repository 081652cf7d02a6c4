#include "noisefloor/cli/dataset_command.h"

#include "noisefloor/cli/report_json.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/input.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/config/dataset_file.h"
#include "noisefloor/config/training.h"
#include "noisefloor/dataset/records.h"
#include "noisefloor/dataset/registry.h"
#include "noisefloor/ledger/audit.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;
using noisefloor::shown;

struct Options : LedgerAccess {
  std::string file;
  std::string name;
  std::string same_as;
  std::string reason;
};

// --- Reading ---------------------------------------------------------------------------------------------------------

template <class Read>
Result<void> expect_readable(const Options& o, const Read& read) {
  for (const Finding& finding : read.findings) {
    if (finding.severity != Severity::kError) continue;
    return invalid_argument(fmt::format("{}:{}: {}: {}", o.file, finding.place.line, finding.message, finding.remedy));
  }
  return success();
}

// The file is a description, or a training file that names or holds one.
Result<DatasetDescription> read_description(const Options& o) {
  const Result<std::string> text = read_text(o.file);
  if (!text.has_value()) return io_error(text.error().message);
  if (is_training(text.value())) {
    TrainingText read = read_training(text.value(), files_beside(o.file));
    NF_TRY_VOID(expect_readable(o, read));
    return description_of(*read.training);
  }
  DatasetText read = read_dataset(text.value());
  NF_TRY_VOID(expect_readable(o, read));
  return *std::move(read.description);
}

// A refusal, with the command that would allow the use deliberately.
Error refusal(const Options& o, const DatasetConflict& conflict) {
  Error error = to_error(conflict);
  if (conflict.kind == DatasetConflict::Kind::kOtherDataset) {
    error.message += fmt::format(". To let it spend from the budget of {}: noisefloor dataset add {} --same-as {}",
                                 shown(conflict.owner), shown(o.file), shown(conflict.owner));
  }
  return error;
}

// --- Showing ---------------------------------------------------------------------------------------------------------

std::string use_of(const LedgerState::Dataset& dataset) {
  if (dataset.retired) return fmt::format("retired: {}", *dataset.retired);
  if (dataset.is_public()) return "public: costs nothing";
  return fmt::format("budget {}", shown(dataset.budget));
}

Json as_json(const LedgerState::Dataset& dataset, const LedgerState& state) {
  Json json{{"name", dataset.name},
            {"public", dataset.is_public()},
            {"description", to_hex(dataset.description)},
            {"contents_seen", dataset.contents.size()},
            {"retired", dataset.retired ? Json(*dataset.retired) : Json()}};
  if (!dataset.same_as.empty()) json["same_as"] = dataset.same_as;
  const LedgerState::Budget* budget = state.find(dataset.budget);
  if (budget != nullptr) {
    json["budget"] = {{"name", dataset.budget},
                      {"epsilon", budget->terms->epsilon.value()},
                      {"delta", budget->terms->delta.value()},
                      {"adjacency", name_of(budget->terms->adjacency)},
                      {"unit", name_of(budget->terms->unit)},
                      {"rule", name_of(budget->terms->rule)},
                      {"spent_share", budget->account.spent_share()},
                      {"left", budget->account.left()}};
  }
  return json;
}

void describe(Report& report, const LedgerState::Dataset& dataset, const LedgerState& state) {
  if (!dataset.same_as.empty()) report.line("rows", fmt::format("shared with {}", shown(dataset.same_as)));
  report.line("use", use_of(dataset));
  if (const LedgerState::Budget* budget = state.find(dataset.budget)) {
    const BudgetTerms& terms = *budget->terms;
    report.line("total", fmt::format("epsilon {}, delta {}, {} of one {}", terms.epsilon.value(), terms.delta.value(),
                                     name_of(terms.adjacency), name_of(terms.unit)));
    if (!dataset.retired) report.line("left", budget->account.left());
  }
  report.line("contents", fmt::format("{} seen", dataset.contents.size()));
  report.set("dataset", as_json(dataset, state));
}

Result<Report> show(Ledger& ledger, const std::string& name, Report report) {
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    NF_TRY(const LedgerState::Dataset* const dataset, state.need_dataset(name));
    describe(report, *dataset, state);
    return success();
  }));
  return report;
}

// --- Commands --------------------------------------------------------------------------------------------------------

Result<Report> run_add(const Options& o) {
  NF_TRY(const DatasetDescription description, read_description(o));
  NF_TRY_VOID(check_name("the name of a dataset", description.name));
  const std::string folder = std::filesystem::path(o.file).parent_path().string();
  // Rows that cannot be read are found before a ledger is made, with a key that is good for nothing else.
  if (!std::filesystem::exists(location_of(o))) NF_TRY_VOID(sketch_rows(Secret32(), description, folder));
  NF_TRY(const OpenedLedger opened, open_or_create(o));
  NF_TRY(const DatasetOutcome outcome, add_dataset(*opened.ledger, description, folder, o.same_as));
  if (const auto* conflict = std::get_if<DatasetConflict>(&outcome)) return refusal(o, *conflict);
  const auto& grant = std::get<DatasetGrant>(outcome);
  NF_TRY(Report report, show(*opened.ledger, grant.dataset, Report(fmt::format("Dataset {}", grant.dataset))));
  if (opened.is_new) {
    NF_TRY(const std::string key_file, key_file_of(o));
    report.remark(
        fmt::format("A new ledger {} with the key {}: keep the key apart from the ledger, and a witness "
                    "(`budget witness`) apart from both.",
                    shown(location_of(o)), shown(key_file)));
  }
  if (grant.new_budget) report.remark("Everything that uses these rows spends from this budget, under any name.");
  report.set("ledger", location_of(o));
  report.set("new_ledger", opened.is_new);
  report.set("new_budget", grant.new_budget);
  return report;
}

Result<Report> run_list(const Options& o) {
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_read(o));
  Report report(fmt::format("Datasets of {}", location_of(o)));
  Json list = Json::array();
  NF_TRY_VOID(ledger->read([&](const LedgerState& state) -> Result<void> {
    for (const LedgerState::Dataset& dataset : state.datasets()) {
      report.line(dataset.name, use_of(dataset));
      list.push_back(as_json(dataset, state));
    }
    return success();
  }));
  if (list.empty()) report.remark("There are none: `dataset add` adds one.");
  report.set("datasets", list);
  return report;
}

Result<Report> run_show(const Options& o) {
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_read(o));
  return show(*ledger, o.name, Report(fmt::format("Dataset {}", o.name)));
}

Result<Report> run_retire(const Options& o) {
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_write(o));
  NF_TRY_VOID(ledger->retire_dataset(o.name, o.reason));
  return show(*ledger, o.name, Report(fmt::format("Dataset {} is retired", o.name)));
}

// --- Options ---------------------------------------------------------------------------------------------------------

void declare_add(CLI::App& command, Options& o) {
  command.add_option("file", o.file, "A dataset's description, or a training file")->type_name("FILE")->required();
  command
      .add_option("--same-as", o.same_as,
                  "It holds rows of this dataset: share its budget instead of having an own one")
      ->type_name("NAME");
  o.add_to(command, true, true);
}

void declare_list(CLI::App& command, Options& o) { o.add_to(command, false, false); }

void declare_show(CLI::App& command, Options& o) {
  command.add_option("name", o.name, "Name of the dataset")->type_name("NAME")->required();
  o.add_to(command, false, false);
}

void declare_retire(CLI::App& command, Options& o) {
  command.add_option("name", o.name, "Name of the dataset")->type_name("NAME")->required();
  command.add_option("--reason", o.reason, "Why, for the history and for whoever asks")->type_name("TEXT")->required();
  o.add_to(command, true, true);
}

}  // namespace

void add_dataset_command(CLI::App& app, Action& action) {
  CLI::App* dataset =
      app.add_subcommand("dataset", "Datasets that the ledger knows, each with one budget for all uses");
  dataset->require_subcommand(1);
  add_command<Options>(*dataset, action, "add", "Add a dataset and its budget, once for all of its uses",
                       "patients.toml", declare_add, run_add);
  add_command<Options>(*dataset, action, "list", "All datasets, and what pays for them", "--json", declare_list,
                       run_list);
  add_command<Options>(*dataset, action, "show", "One dataset, and what is left of its budget", "patients",
                       declare_show, run_show);
  add_command<Options>(*dataset, action, "retire", "End every use of a dataset, for good",
                       "patients --reason 'consent expired'", declare_retire, run_retire);
}

}  // namespace noisefloor::cli
