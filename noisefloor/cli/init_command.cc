#include "noisefloor/cli/commands.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "noisefloor/config/starter.h"
#include "noisefloor/config/tables_starter.h"
#include "noisefloor/summary/starter_summary.h"

namespace noisefloor::cli {
namespace {

struct InitOptions {
  std::vector<std::string> tables;
  std::string name;
  std::string output = ".";
  bool is_public = false;
};

Result<Summary> run_init(const InitOptions& o) {
  if (o.tables.empty()) return invalid_argument("name a table: a CSV file, or a database");
  if (are_tables(o.tables)) {
    if (o.is_public) return invalid_argument("--public is for a single CSV file: say public = true in the description");
    NF_TRY(const TablesStarterFile file, write_tables_starter({o.tables, o.name, o.output}));
    return summary_of(file);
  }
  const StarterRequest request{o.tables.front(), o.name, o.output, o.is_public};
  NF_TRY(const StarterFiles files, write_starter(request));
  Summary summary = summary_of(files, request);
  summary.remark(fmt::format("Then: noisefloor check {}", files.training));
  return summary;
}

}  // namespace

void add_init_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, InitOptions& o) {
    const OptionGroup options(command);
    options.repeatable("TABLE", o.tables,
                       "A CSV file with a header, plain or compressed with gzip; several CSV or Parquet files; or a "
                       "database: FILE.db, FILE.duckdb, postgresql://HOST/NAME");
    options.optional("--name", o.name, "What to call the dataset (the name of the file)", "NAME");
    options.flag("--public", o.is_public, "The table is public: read bounds and values from it");
    OptionGroup(command, "Output").with_default("--output", o.output, "Folder for the files", "DIR");
  };
  add_command<InitOptions>(
      app, action, "init", "Write a dataset description to fill in, and a training file for a single table",
      "visits.csv\n  noisefloor init census.csv --public --output public\n  noisefloor init hospital.db", declare,
      run_init);
}

}  // namespace noisefloor::cli
