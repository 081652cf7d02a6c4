#include "noisefloor/cli/init_command.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/config/starter.h"
#include "noisefloor/table/outline.h"

namespace noisefloor::cli {
namespace {

namespace fs = std::filesystem;

struct InitOptions {
  std::string table;
  std::string name;
  std::string output = ".";
  bool is_public = false;
};

Result<void> expect_new(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return success();
  return invalid_argument(fmt::format("{} exists, and init overwrites nothing: remove it, or give another --name",
                                      noisefloor::shown(path.string())));
}

// The path of the table as a file in `folder` has it.
std::string seen_from(const fs::path& folder, const std::string& table) {
  std::error_code error;
  const fs::path relative = fs::relative(table, folder, error);
  return error || relative.empty() ? fs::absolute(table).string() : relative.string();
}

Result<Report> run_init(const InitOptions& o) {
  NF_TRY(const CsvOutline outline, outline_csv(o.table));
  std::optional<std::vector<PublicColumn>> known;
  if (o.is_public) {
    NF_TRY(known, survey_public_csv(o.table, outline));
  }
  const std::string name = o.name.empty() ? starter_name(o.table) : o.name;
  const fs::path folder = o.output;
  const fs::path description = folder / (name + ".toml");
  const fs::path training = folder / (name + "-training.toml");
  NF_TRY_VOID(expect_new(description));
  NF_TRY_VOID(expect_new(training));
  const StarterNames names{name, seen_from(folder, o.table), description.filename().string()};
  std::error_code ignored;  // a folder that cannot be made is reported when the file is written
  fs::create_directories(folder, ignored);
  NF_TRY_VOID(write_file(description.string(), starter_description(names, outline, known)));
  NF_TRY_VOID(write_file(training.string(), starter_training(names)));
  Report report(fmt::format("Wrote two files for {}", noisefloor::shown(o.table)));
  report.set("description", description.string());
  report.set("training", training.string());
  report.set("columns", outline.columns.size());
  report.line("description", fmt::format("{}: where the rows are, what is public about them, what they may cost",
                                         description.string()));
  report.line("training", fmt::format("{}: what to learn from them", training.string()));
  report.line("columns", fmt::format("{}, with the types that their cells have", outline.columns.size()));
  report.remark(o.is_public
                    ? "Bounds and values were read from the table, which you declared public."
                    : "Fill in what is marked \"FILL IN\": bounds and values were not read from the table, because "
                      "a description must not be made from private data.");
  report.remark(fmt::format("Then: noisefloor check {}", training.string()));
  return report;
}

}  // namespace

void add_init_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, InitOptions& o) {
    command.add_option("TABLE", o.table, "A CSV file with a header, plain or compressed with gzip")->required();
    command.add_option("--name", o.name, "What to call the dataset (the name of the file)")->type_name("NAME");
    command.add_flag("--public", o.is_public, "The table is public: read bounds and values from it");
    command.add_option("--output", o.output, "Folder for the two files")
        ->type_name("DIR")
        ->capture_default_str()
        ->group("Output");
  };
  add_command<InitOptions>(app, action, "init", "Write a dataset description and a training file to fill in",
                           "visits.csv\n  noisefloor init census.csv --public --output public", declare, run_init);
}

}  // namespace noisefloor::cli
