#include "noisefloor/cli/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "noisefloor/base/text.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/secagg/costs.h"
#include "noisefloor/secagg/demonstration.h"
#include "noisefloor/summary/secagg_summary.h"

namespace noisefloor::cli {
namespace {

struct ParameterOptions {
  std::string clients;
  std::string corrupt = "0.1";
  std::string drop = "0.2";
  std::string dimension = "1048576";
  std::string bits = "16";
  std::string security = "40";
  std::string correctness = "20";
  bool malicious = false;
};

Result<double> share(const char* name, const std::string& text) {
  NF_TRY(const double value, parse_number(name, text));
  if (value >= 0 && value < 1) return value;
  return invalid_argument(
      fmt::format("{} is a share of the clients, 0 or above and below 1; {} was given", name, text));
}

Result<std::uint64_t> whole(const char* name, const std::string& text, std::uint64_t least, std::uint64_t most) {
  NF_TRY(const std::uint64_t value, parse_count(name, text));
  if (value >= least && value <= most) return value;
  return invalid_argument(fmt::format("{} must be from {} to {}; {} was given", name, least, most, text));
}

Result<double> bits_of(const char* name, const std::string& text) {
  NF_TRY(const double value, parse_number(name, text));
  if (value >= 1 && value <= 256) return value;
  return invalid_argument(fmt::format("{} takes bits, from 1 to 256; {} was given", name, text));
}

Result<Summary> run_parameters(const ParameterOptions& o) {
  NF_TRY(const std::uint64_t clients, whole("--clients", o.clients, 2, secagg::kMaxClients));
  NF_TRY(const double corrupt, share("--corrupt", o.corrupt));
  NF_TRY(const double drop, share("--drop", o.drop));
  NF_TRY(const std::uint64_t dimension, whole("--dimension", o.dimension, 1, secagg::kMaxDimension));
  NF_TRY(const std::uint64_t bits, whole("--bits", o.bits, 1, secagg::kMaxBits));
  NF_TRY(const double security, bits_of("--security", o.security));
  NF_TRY(const double correctness, bits_of("--correctness", o.correctness));
  const auto threat = o.malicious ? secagg::ThreatModel::kLyingServer : secagg::ThreatModel::kCuriousServer;
  NF_TRY(const secagg::PlannedRound round,
         secagg::plan_round({static_cast<std::uint32_t>(clients), corrupt, drop, threat, security, correctness},
                            dimension, static_cast<unsigned>(bits)));
  return summary_of(round);
}

struct DemoOptions {
  std::string seed = "7";
};

Result<Summary> run_demo(const DemoOptions& o) {
  NF_TRY(const std::uint64_t seed, parse_count("--seed", o.seed));
  NF_TRY(ReplayRandom stream, ReplayRandom::create(seed));
  NF_TRY(const secagg::Demonstration made, secagg::demonstrate(stream));
  return summary_of(made);
}

}  // namespace

void add_secagg_command(CLI::App& app, Action& action) {
  CLI::App* group = app.add_subcommand("secagg", "Secure sums: the server sees only the sum");
  group->require_subcommand(1);
  const auto declare_demo = [](CLI::App& command, DemoOptions& o) {
    const char* const seed = "Of the keys and updates, which are made up";
    command.add_option("--seed", o.seed, seed)->type_name("N")->capture_default_str();
  };
  add_command<DemoOptions>(*group, action, "demo", "Five clients: a masked message, the sum, a dropout, an abort", "",
                           declare_demo, run_demo);
  const auto declare_parameters = [](CLI::App& command, ParameterOptions& o) {
    command.add_option("--clients", o.clients, "How many clients take part")->type_name("N")->required();
    const auto add = [&](const char* name, std::string& value, const char* text, const char* type) {
      command.add_option(name, value, text)->type_name(type)->capture_default_str();
    };
    add("--corrupt", o.corrupt, "Share of them that works with the server", "SHARE");
    add("--drop", o.drop, "Share of them that drops out", "SHARE");
    command.add_flag("--malicious", o.malicious, "The server may tell different clients different things");
    add("--dimension", o.dimension, "Numbers in each vector", "D");
    add("--bits", o.bits, "Of the modulus", "B");
    add("--security", o.security, "Someone is seen with probability 2^-BITS at most", "BITS");
    add("--correctness", o.correctness, "There is no sum with probability 2^-BITS at most", "BITS");
  };
  add_command<ParameterOptions>(*group, action, "parameters",
                                "Degree, threshold, failure probabilities, bytes and time",
                                "--clients 1000 --corrupt 0.1 --drop 0.2", declare_parameters, run_parameters);
}

}  // namespace noisefloor::cli
