#include "noisefloor/cli/commands.h"

#include <memory>
#include <string>
#include <variant>

#include "noisefloor/cli/described.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/dataset/records.h"
#include "noisefloor/dataset/registry.h"
#include "noisefloor/summary/dataset_summary.h"

namespace noisefloor::cli {
namespace {

struct DatasetOptions : LedgerAccess {
  std::string file;
  std::string name;
  std::string same_as;
  std::string blocks;
  std::string reason;
};

Result<Summary> run_add(const DatasetOptions& o) {
  NF_TRY(DescribedRows rows, described_rows(o.file));
  if (!o.blocks.empty()) NF_TRY_VOID(choose_blocks(rows.description, o.blocks));
  NF_TRY_VOID(check_name("the name of a dataset", rows.description.name));
  // Rows that cannot be read are found before a ledger is made, with a key that is good for nothing else.
  if (!ledger_is_there(o)) NF_TRY_VOID(sketch_rows(Secret32(), rows.description, rows.folder));
  NF_TRY(const OpenedLedger opened, open_or_create(o));
  NF_TRY(const DatasetOutcome outcome, add_dataset(*opened.ledger, rows.description, rows.folder, o.same_as));
  if (const auto* conflict = std::get_if<DatasetConflict>(&outcome)) {
    return with_remedy(to_error(*conflict), *conflict, o.file);
  }
  NF_TRY(const std::string key_file, key_file_of(o));
  return summary_of_added(*opened.ledger, std::get<DatasetGrant>(outcome), {location_of(o), key_file, opened.is_new});
}

Result<Summary> run_inspect(const DatasetOptions& o) {
  NF_TRY(const DescribedRows rows, described_rows(o.file));
  if (rows.description.is_public() || !ledger_is_there(o)) return summary_of_inspected(rows, {});
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_write(o));
  NF_TRY(const std::optional<std::uint64_t> recorded, record_inspection(*ledger, rows));
  return summary_of_inspected(rows, recorded);
}

Result<Summary> run_list(const DatasetOptions& o) {
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_read(o));
  return summary_of_datasets(*ledger, location_of(o));
}

Result<Summary> run_show_dataset(const DatasetOptions& o) {
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_read(o));
  return summary_of_dataset(*ledger, o.name);
}

Result<Summary> run_retire(const DatasetOptions& o) {
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_write(o));
  NF_TRY_VOID(ledger->retire_dataset(o.name, o.reason));
  return summary_of_retired(*ledger, o.name);
}

// --- Options ---------------------------------------------------------------------------------------------------------

void declare_file(CLI::App& command, DatasetOptions& o) {
  OptionGroup(command).required("file", o.file, "A dataset's description, or a training file", "FILE");
  o.add_to(command, true, true);
}

void declare_add(CLI::App& command, DatasetOptions& o) {
  declare_file(command, o);
  const OptionGroup options(command);
  options.optional("--same-as", o.same_as,
                   "It holds rows of this dataset: share its budget instead of having an own one", "NAME");
  options.optional("--blocks", o.blocks, "Blocks whose rows are there, of a dataset with [blocks]: a,b", "LIST");
}

void declare_list(CLI::App& command, DatasetOptions& o) { o.add_to(command, false, false); }

void declare_show_dataset(CLI::App& command, DatasetOptions& o) {
  OptionGroup(command).required("name", o.name, "Name of the dataset", "NAME");
  o.add_to(command, false, false);
}

void declare_retire(CLI::App& command, DatasetOptions& o) {
  const OptionGroup options(command);
  options.required("name", o.name, "Name of the dataset", "NAME");
  options.required("--reason", o.reason, "Why, for the history and for whoever asks", "TEXT");
  o.add_to(command, true, true);
}

}  // namespace

void add_dataset_command(CLI::App& app, Action& action) {
  CLI::App& dataset =
      add_command_group(app, "dataset", "Datasets that the ledger knows, each with one budget for all uses");
  add_command<DatasetOptions>(dataset, action, "add", "Add a dataset and its budget, once for all of its uses",
                              "patients.toml", declare_add, run_add);
  add_command<DatasetOptions>(dataset, action, "inspect", "For the custodian of the rows alone: which do not fit",
                              "patients.toml", declare_file, run_inspect);
  add_command<DatasetOptions>(dataset, action, "list", "All datasets, and what pays for them", "--json", declare_list,
                              run_list);
  add_command<DatasetOptions>(dataset, action, "show", "One dataset, and what is left of its budget", "patients",
                              declare_show_dataset, run_show_dataset);
  add_command<DatasetOptions>(dataset, action, "retire", "End every use of a dataset, for good",
                              "patients --reason 'consent expired'", declare_retire, run_retire);
}

}  // namespace noisefloor::cli
