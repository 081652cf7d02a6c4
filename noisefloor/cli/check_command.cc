#include "noisefloor/cli/commands.h"
#include "noisefloor/cli/console.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "noisefloor/base/input.h"
#include "noisefloor/config/any_file.h"
#include "noisefloor/summary/findings_summary.h"

namespace noisefloor::cli {
namespace {

struct Options {
  std::string file;
  bool strict = false;
};

Result<Summary> run_check(const Options& o) {
  const Result<std::string> text = read_text(o.file);
  if (!text.has_value()) return io_error(text.error().message);
  const std::string file = o.file == "-" ? "standard input" : o.file;
  NF_TRY(const Machine machine, machine_with(""));
  return summary_of(check_up(text.value(), o.file, machine), file, text.value(), o.strict);
}

}  // namespace

void add_check_command(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("check", "What is wrong with a pipeline, a training or a dataset, and what it would cost");
  command
      ->add_option("FILE", options->file,
                   "A pipeline, a training or a dataset as TOML (docs/formats/); - is standard input")
      ->required();
  command->add_flag("--strict", options->strict, "Warnings fail, too");
  command->add_flag("--json", action.json, "Print one JSON object")->group("Output");
  command->footer(R"(Examples:
  noisefloor check examples/pipelines/medicore.toml
  noisefloor check examples/training/fashion.toml
  noisefloor check --strict --json pipeline.toml

Exit codes: 0 no errors, 2 errors were found (with --strict: or warnings), 5 the file cannot be read.)");
  command->callback([&action, options] { action.run = [options] { return run_check(*options); }; });
}

}  // namespace noisefloor::cli
