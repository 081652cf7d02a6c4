#include "noisefloor/cli/app.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>

#include "noisefloor/base/printable.h"
#include "noisefloor/base/result.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/commands.h"
#include "noisefloor/shell/command_words.h"
#include "version.h"

namespace noisefloor::cli {
namespace {

constexpr const char* kFooter = R"(Examples:
  noisefloor account dpsgd --sample-rate 0.01 --noise-multiplier 1 --steps 1000 --delta 1e-5
  noisefloor calibrate dpsgd --sample-rate 0.01 --steps 10000 --epsilon 8 --delta 1e-5
  noisefloor mechanism laplace --value 342 --sensitivity 1 --epsilon 0.5
  noisefloor mechanism mean --input ages.txt --lower 0 --upper 100 --epsilon 1 --json
  noisefloor query visits.toml "SELECT dept, count(*) FROM visits GROUP BY dept" --epsilon 0.5
  noisefloor check pipeline.toml
  noisefloor plan --rows 60000 --epochs 6 --epsilon 0.15
  noisefloor train examples/training/fashion.toml --create
  noisefloor report fashion
  noisefloor sweep examples/training/streamrec.toml --epsilons 1,3,8,inf --create
  noisefloor mechanism exponential --scores drama=42000,comedy=38000 --sensitivity 1 --epsilon 1
  noisefloor secagg parameters --clients 1000 --corrupt 0.1 --drop 0.2
  noisefloor simulate examples/hospitals/hospitals.toml
  noisefloor budget create trial --epsilon 3 --delta 1e-5
  noisefloor dataset add patients.toml
  source <(noisefloor completion bash)

Exit codes: 0 done, 1 internal, 2 usage or invalid argument, 3 budget exhausted (nothing released), 4 input data,
5 input/output, 6 verification failed, 7 peer or protocol.)";

int fail(const Error& error) {
  fmt::print(stderr, "noisefloor: {}\n", printable(without_password(error.message)));
  return exit_code(error.code);
}

int print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return 0;
  return fail(io_error("standard output could not be written"));
}

// CLI11 phrases its errors well but over several lines at times.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

int run_checked(int argc, char** argv) {
  CLI::App app("Learn from private data with a stated, enforced and checkable privacy budget.", "noisefloor");
  app.set_version_flag("--version", std::string("noisefloor ") + NOISEFLOOR_VERSION);
  app.footer(kFooter);
  app.require_subcommand(1);
  Action action;
  add_account_command(app, action);
  add_calibrate_command(app, action);
  add_mechanism_command(app, action);
  add_budget_command(app, action);
  add_init_command(app, action);
  add_dataset_command(app, action);
  add_check_command(app, action);
  add_plan_command(app, action);
  add_query_command(app, action);
  add_sql_command(app, action);
  add_train_command(app, action);
  add_evaluate_command(app, action);
  add_predict_command(app, action);
  add_verify_command(app, action);
  add_audit_command(app, action);
  add_attack_command(app, action);
  add_report_command(app, action);
  add_role_command(app, action);
  add_sweep_command(app, action);
  add_pate_command(app, action);
  add_secagg_command(app, action);
  add_simulate_command(app, action);
  add_demo_command(app, action);
  std::string shell;
  CLI::App* completion = app.add_subcommand("completion", "Print a completion script for bash, zsh or fish");
  OptionGroup(*completion).required("shell", shell, "bash, zsh or fish");

  if (const std::optional<Error> error = unknown_command(app, argc, argv)) return fail(*error);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    return app.exit(done) == 0 ? print("") : exit_code(ErrorCode::kInternal);
  } catch (const CLI::ParseError& error) {
    if (const std::optional<Error> unknown = unknown_option(app, argc, argv)) return fail(*unknown);
    return fail(invalid_argument(first_line(error.what()) + " (--help shows what is possible)"));
  }

  if (completion->parsed()) {
    const Result<std::string> script = completion_script(app, shell);
    return script.has_value() ? print(script.value()) : fail(script.error());
  }
  const Result<Summary> summary = action.run();
  if (!summary.has_value()) return fail(summary.error());
  const int printed = print(action.json ? summary.value().as_json() : summary.value().as_text());
  if (printed != 0) return printed;
  return summary.value().failure() ? exit_code(*summary.value().failure()) : 0;
}

}  // namespace

int run(int argc, char** argv) {
  try {
    return run_checked(argc, argv);
  } catch (const std::bad_alloc&) {
    return fail(internal_error("out of memory"));
  } catch (const std::exception&) {
    // What a library says might quote data: it is not shown.
    return fail(internal_error("an unexpected failure inside noisefloor; please report it"));
  }
}

}  // namespace noisefloor::cli
