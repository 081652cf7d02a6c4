#include "noisefloor/cli/commands.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

#include "demo_training.h"
#include "noisefloor/base/command_walk.h"
#include "noisefloor/base/file.h"
#include "noisefloor/base/printable.h"
#include "noisefloor/base/text.h"
#include "noisefloor/summary/page_summary.h"

namespace noisefloor::cli {
namespace {

constexpr const char* kUsualData = "/usr/share/datasets/fashion-mnist";

struct DemoOptions {
  std::string output;
  std::string data = kUsualData;
};

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
  NF_TRY(const std::filesystem::path folder, make_empty_folder(o.output, "noisefloor-demo"));
  NF_TRY_VOID(write_file((folder / "fashion.toml").string(), training));
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return internal_error("the program does not find itself");
  const auto show = [](const std::string& text) { fmt::print(stderr, "{}", text); };
  CommandWalk walk({program.string(), "noisefloor", folder, json ? "--json" : ""}, show);

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
