#include "noisefloor/cli/commands.h"

#include <fmt/format.h>

#include <optional>
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
  std::string roster;
  std::string grinding = "60";
  std::string noise_multiplier;
  std::string law = "skellam";
  bool curious = false;
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

Result<std::optional<secagg::NoiseWish>> noise_wish(const ParameterOptions& o) {
  if (o.noise_multiplier.empty()) return std::optional<secagg::NoiseWish>();
  NF_TRY(const double value, parse_number("--noise-multiplier", o.noise_multiplier));
  NF_TRY(const NoiseMultiplier multiplier, NoiseMultiplier::make(value));
  if (o.law != "skellam" && o.law != "discrete-gaussian") {
    return invalid_argument(fmt::format("--law is skellam or discrete-gaussian; {} was given", o.law));
  }
  return std::optional(secagg::NoiseWish{
      multiplier, o.law == "skellam" ? secagg::NoiseLaw::kSkellam : secagg::NoiseLaw::kDiscreteGaussian});
}

Result<Summary> run_parameters(const ParameterOptions& o) {
  NF_TRY(const std::uint64_t clients, whole("--clients", o.clients, 2, secagg::kMaxClients));
  NF_TRY(const double corrupt, share("--corrupt", o.corrupt));
  NF_TRY(const double drop, share("--drop", o.drop));
  NF_TRY(const std::uint64_t dimension, whole("--dimension", o.dimension, 1, secagg::kMaxDimension));
  NF_TRY(const std::uint64_t bits, whole("--bits", o.bits, 1, secagg::kMaxBits));
  NF_TRY(const double security, bits_of("--security", o.security));
  NF_TRY(const double correctness, bits_of("--correctness", o.correctness));
  NF_TRY(const std::uint64_t roster,
         o.roster.empty() ? Result<std::uint64_t>(clients) : whole("--roster", o.roster, 2, clients));
  NF_TRY(const std::uint64_t grinding, whole("--grinding", o.grinding, 0, 256));
  NF_TRY(const std::optional<secagg::NoiseWish> noise, noise_wish(o));
  const auto threat = o.curious ? secagg::ThreatModel::kCuriousServer : secagg::ThreatModel::kLyingServer;
  NF_TRY(const secagg::PlannedRound round,
         secagg::plan_round({static_cast<std::uint32_t>(clients), corrupt, drop, threat, security, correctness,
                             static_cast<std::uint32_t>(roster), static_cast<double>(grinding)},
                            dimension, static_cast<unsigned>(bits), noise));
  return summary_of(round);
}

struct SecaggDemoOptions {
  std::string seed = "7";
};

Result<Summary> run_secagg_demo(const SecaggDemoOptions& o) {
  NF_TRY(const std::uint64_t seed, parse_count("--seed", o.seed));
  NF_TRY(ReplayRandom stream, ReplayRandom::create(seed));
  NF_TRY(const secagg::Demonstration made, secagg::demonstrate(stream));
  return summary_of(made);
}

}  // namespace

void add_secagg_command(CLI::App& app, Action& action) {
  CLI::App& group = add_command_group(app, "secagg", "Secure sums: the server sees only the sum");
  const auto declare_demo = [](CLI::App& command, SecaggDemoOptions& o) {
    OptionGroup(command).with_default("--seed", o.seed, "Of the keys and updates, which are made up", "N");
  };
  add_command<SecaggDemoOptions>(group, action, "demo", "Five clients: a masked message, the sum, a dropout, an abort",
                                 "", declare_demo, run_secagg_demo);
  const auto declare_parameters = [](CLI::App& command, ParameterOptions& o) {
    const OptionGroup options(command);
    options.required("--clients", o.clients, "How many clients are in the registry", "N");
    options.with_default("--corrupt", o.corrupt, "Share of them that works with the server", "SHARE");
    options.with_default("--drop", o.drop, "Share of the roster that drops out", "SHARE");
    options.optional("--roster", o.roster, "The fewest clients that a round takes; all of the registry by default",
                     "N");
    options.flag("--curious", o.curious, "Trust the server to follow the protocol; else it may tell clients lies");
    options.with_default("--dimension", o.dimension, "Numbers in each vector", "D");
    options.with_default("--bits", o.bits, "Of the modulus", "B");
    options.optional("--noise-multiplier", o.noise_multiplier,
                     "Plan noise inside the sum as well: its standard deviation over the clip norm", "Z");
    options.with_default("--law", o.law, "Of the noise: skellam or discrete-gaussian", "LAW");
    options.with_default("--security", o.security, "Someone is seen with probability 2^-BITS at most", "BITS");
    options.with_default("--grinding", o.grinding, "A server that lies may try 2^BITS rosters before", "BITS");
    options.with_default("--correctness", o.correctness, "There is no sum with probability 2^-BITS at most", "BITS");
  };
  add_command<ParameterOptions>(group, action, "parameters", "Degree, threshold, failure probabilities, bytes and time",
                                "--clients 1000 --corrupt 0.1 --drop 0.2", declare_parameters, run_parameters);
}

}  // namespace noisefloor::cli
