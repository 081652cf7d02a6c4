#include "noisefloor/cli/commands.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "demo_training.h"
#include "noisefloor/base/file.h"
#include "noisefloor/base/printable.h"
#include "noisefloor/base/process.h"
#include "noisefloor/base/text.h"
#include "noisefloor/summary/page_summary.h"

namespace noisefloor::cli {
namespace {

constexpr const char* kUsualData = "/usr/share/datasets/fashion-mnist";
constexpr std::size_t kMaxOutput = std::size_t{16} << 20;

struct DemoOptions {
  std::string output;
  std::string data = kUsualData;
};

// The commands of one demonstration: each is shown as a person would type it, then run by this program in the folder.
class Walk {
 public:
  Walk(std::string program, std::filesystem::path folder, bool json)
      : program_(std::move(program)), folder_(std::move(folder)), json_(json) {}

  // What is to come, in a sentence.
  void say(const std::string& text) { fmt::print(stderr, "\n{}. {}\n", ++steps_, text); }

  // Runs it to the exit code that is due.
  Result<void> run(const std::vector<std::string>& arguments, int due = 0) { return run(arguments, due, false); }
  // Runs it, and shows the first line of what it prints.
  Result<void> glance_at(const std::vector<std::string>& arguments) { return run(arguments, 0, true); }

  [[nodiscard]] const std::vector<RanCommand>& ran() const { return ran_; }

 private:
  Result<void> run(std::vector<std::string> arguments, int due, bool first_line) {
    std::string line = "noisefloor";
    for (const std::string& argument : arguments) line += " " + argument;
    fmt::print(stderr, "$ {}{}\n", line, first_line ? " | head -1" : "");
    arguments.insert(arguments.begin(), program_);
    if (json_) arguments.emplace_back("--json");
    const std::string out = (folder_ / "output.txt").string();
    NF_TRY(const int process, start_process({program_, std::move(arguments), folder_.string(), out, {}}));
    NF_TRY(const int exit_code, wait_for_process(process));
    NF_TRY(const std::string text, read_file(out, kMaxOutput));
    std::error_code ignored;
    std::filesystem::remove(out, ignored);
    if (!json_) {
      const std::size_t end = first_line ? text.find('\n') : std::string::npos;
      fmt::print(stderr, "{}{}", text.substr(0, end), end == std::string::npos ? "" : "\n");
    }
    if (exit_code != due) {
      return internal_error(
          fmt::format("`{}` ended with exit code {}, not with {}: the demonstration ends here", line, exit_code, due));
    }
    ran_.push_back({line, exit_code, {}});
    if (json_ && due == 0) ran_.back().result = text;
    return success();
  }

  std::string program_;
  std::filesystem::path folder_;
  bool json_;
  int steps_ = 0;
  std::vector<RanCommand> ran_;
};

// A new folder.
Result<std::filesystem::path> make_folder(const std::string& wanted) {
  std::error_code error;
  std::filesystem::path folder = wanted.empty() ? "noisefloor-demo" : wanted;
  for (int next = 2; wanted.empty() && std::filesystem::exists(folder, error); ++next) {
    folder = fmt::format("noisefloor-demo-{}", next);
  }
  if (!wanted.empty() && std::filesystem::exists(folder, error) && !std::filesystem::is_empty(folder, error)) {
    return invalid_argument(
        fmt::format("the folder {} is not empty: a demonstration begins with a new budget. Give another --output, or "
                    "remove it",
                    noisefloor::shown(wanted)));
  }
  std::filesystem::create_directories(folder, error);
  if (error) {
    return io_error(
        fmt::format("the folder {} could not be made: {}", noisefloor::shown(folder.string()), error.message()));
  }
  return std::filesystem::absolute(folder);
}

Result<std::string> training_of(const std::string& data) {
  const std::filesystem::path folder = std::filesystem::absolute(data);
  if (!std::filesystem::exists(folder / "train-images-idx3-ubyte.gz")) {
    return input_data_error(fmt::format(
        "{} has no train-images-idx3-ubyte.gz. Install the images (apt-get install dataset-fashion-mnist), or "
        "name their folder with --data",
        noisefloor::shown(data)));
  }
  std::string text = kDemoTraining;
  const std::string usual = kUsualData;
  for (std::size_t at = text.find(usual); at != std::string::npos; at = text.find(usual, at + folder.string().size())) {
    text.replace(at, usual.size(), folder.string());
  }
  return text;
}

Result<Summary> run_demo(const DemoOptions& o, bool json) {
  const auto start = std::chrono::steady_clock::now();
  NF_TRY(const std::string training, training_of(o.data));
  NF_TRY(const std::filesystem::path folder, make_folder(o.output));
  NF_TRY_VOID(write_file((folder / "fashion.toml").string(), training));
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return internal_error("the program does not find itself");
  Walk walk(program.string(), folder, json);

  fmt::print(stderr, "Private training from a plan to a report: Fashion-MNIST at epsilon 3, in {}\n",
             printable(folder.string()));
  walk.say(
      "What would epsilon 3 take? (The whole answer has the closed form of Proactive DP beside it, and --explain.)");
  NF_TRY_VOID(walk.glance_at({"plan", "--rows", "60000", "--epochs", "10", "--epsilon", "3", "--delta", "1e-5"}));
  walk.say("Which noise leaves 84 % accuracy within reach? A utility graph, a signed plan, and its cost set aside.");
  NF_TRY_VOID(walk.run({"plan", "fashion.toml", "--create", "--reserve", "--output", "plan"}));
  walk.say("Train by that plan and nothing else.");
  NF_TRY_VOID(walk.run({"train", "fashion.toml", "--plan", "plan/plan.json", "--output", "model"}));
  walk.say("Is it true? Recomputed from the recorded events, and looked up in the ledger.");
  NF_TRY_VOID(walk.run({"verify", "model/model.safetensors"}));
  walk.say("Spend once more: the budget is gone, and the refusal says what would fit.");
  NF_TRY_VOID(walk.run({"train", "fashion.toml", "--key", "once-more", "--output", "once-more"}, 3));
  walk.say("What is left, and what it was spent on.");
  NF_TRY_VOID(walk.run({"budget", "show", "fashion-plan"}));

  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::string report_path = (folder / "model" / "report.html").string();
  Summary summary(fmt::format("Done in {:.0f} s. Look at it: {}", seconds, report_path));
  summary.above("\n");
  summary.set("report", report_path);
  summary.set("folder", folder.string());
  summary.set("seconds", seconds);
  add_steps(summary, walk.ran());
  summary.line("", "");
  summary.line("The same with your own data:", "");
  summary.line(fmt::format("  cp {} mine.toml", (folder / "fashion.toml").string()),
               "# then name, [data], [model] and [plan] (docs/formats/training.md)");
  summary.line("  noisefloor plan mine.toml --create --reserve --output plan",
               "# what it takes, and its cost set aside");
  summary.line("  noisefloor train mine.toml --plan plan/plan.json --output model",
               "# model, certificate and report, in model/");
  return summary;
}

}  // namespace

void add_demo_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, DemoOptions& o) {
    OptionGroup(command, "Output")
        .optional("--output", o.output, "A new folder for everything (noisefloor-demo)", "DIR");
    OptionGroup(command).with_default("--data", o.data,
                                      "Folder with the four files of Fashion-MNIST, or others of that form", "DIR");
  };
  add_command<DemoOptions>(app, action, "demo", "The main job on Fashion-MNIST: plan, train, verify, refuse, report",
                           "--output demo", declare,
                           [&action](const DemoOptions& o) { return run_demo(o, action.json); });
}

}  // namespace noisefloor::cli
