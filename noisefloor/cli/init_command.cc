#include "noisefloor/cli/commands.h"

#include <fmt/format.h>

#include <string>

#include "noisefloor/config/starter.h"
#include "noisefloor/summary/starter_summary.h"

namespace noisefloor::cli {
namespace {

struct InitOptions {
  std::string table;
  std::string name;
  std::string output = ".";
  bool is_public = false;
};

Result<Summary> run_init(const InitOptions& o) {
  const StarterRequest request{o.table, o.name, o.output, o.is_public};
  NF_TRY(const StarterFiles files, write_starter(request));
  Summary summary = summary_of(files, request);
  summary.remark(fmt::format("Then: noisefloor check {}", files.training));
  return summary;
}

}  // namespace

void add_init_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, InitOptions& o) {
    const OptionGroup options(command);
    options.required("TABLE", o.table, "A CSV file with a header, plain or compressed with gzip");
    options.optional("--name", o.name, "What to call the dataset (the name of the file)", "NAME");
    options.flag("--public", o.is_public, "The table is public: read bounds and values from it");
    OptionGroup(command, "Output").with_default("--output", o.output, "Folder for the two files", "DIR");
  };
  add_command<InitOptions>(app, action, "init", "Write a dataset description and a training file to fill in",
                           "visits.csv\n  noisefloor init census.csv --public --output public", declare, run_init);
}

}  // namespace noisefloor::cli
