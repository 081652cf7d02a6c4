#include "noisefloor/cli/commands.h"
#include "noisefloor/cli/console.h"

#include <string>

#include "noisefloor/base/input.h"
#include "noisefloor/config/any_file.h"
#include "noisefloor/summary/findings_summary.h"

namespace noisefloor::cli {
namespace {

struct CheckOptions {
  std::string file;
  bool strict = false;
};

Result<Summary> run_check(const CheckOptions& o) {
  const Result<std::string> text = read_text(o.file);
  if (!text.has_value()) return io_error(text.error().message);
  const std::string file = o.file == "-" ? "standard input" : o.file;
  NF_TRY(const Machine machine, machine_with(""));
  return summary_of(check_up(text.value(), o.file, machine), file, text.value(), o.strict);
}

}  // namespace

void add_check_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, CheckOptions& o) {
    const OptionGroup options(command);
    options.required("FILE", o.file,
                     "A pipeline, training, PATE, dataset or simulation as TOML (docs/formats/); - is standard input");
    options.flag("--strict", o.strict, "Warnings fail, too");
    set_footer(command, R"(Examples:
  noisefloor check examples/pipelines/medicore.toml
  noisefloor check examples/training/fashion.toml
  noisefloor check --strict --json pipeline.toml

Exit codes: 0 no errors, 2 errors were found (with --strict: or warnings), 5 the file cannot be read.)");
  };
  add_command<CheckOptions>(app, action, "check",
                            "What is wrong with a pipeline, a training, PATE or a dataset, and what it would cost",
                            nullptr, declare, run_check);
}

}  // namespace noisefloor::cli
