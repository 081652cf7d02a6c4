#include "noisefloor/cli/secagg_command.h"

#include <fmt/format.h>

#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/base/text.h"
#include "noisefloor/cli/report_json.h"
#include "noisefloor/random/gaussian_vector.h"
#include "noisefloor/secagg/costs.h"
#include "noisefloor/secagg/fixed_point.h"
#include "noisefloor/secagg/messages.h"
#include "noisefloor/secagg/parameters.h"
#include "noisefloor/secagg/simulation.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;
using secagg::Assumptions;
using secagg::ThreatModel;

// --- parameters --------------------------------------------------------------------------------------------------------------

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

std::string shown_bytes(double bytes) {
  const char* unit = "B";
  for (const char* larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (bytes < 1024) break;
    bytes /= 1024;
    unit = larger;
  }
  return fmt::format("{:.4g} {}", bytes, unit);
}

std::string shown_probability(double log2) {
  return std::isfinite(log2) ? fmt::format("2^{:.1f}", log2) : "0 (it cannot happen)";
}

Json side_json(const secagg::SideCost& cost) {
  return {{"sent_bytes", cost.sent_bytes},       {"received_bytes", cost.received_bytes},
          {"mask_bytes", cost.mask_bytes},       {"key_agreements", cost.agreements},
          {"verifications", cost.verifications}, {"cpu_seconds", cost.seconds()}};
}

void report_side(Report& report, const char* title, const secagg::SideCost& cost) {
  report.line(title,
              fmt::format("sends {}, receives {}; {} of masks, {:.0f} key agreements: about {:.3g} s of one core",
                          shown_bytes(cost.sent_bytes), shown_bytes(cost.received_bytes), shown_bytes(cost.mask_bytes),
                          cost.agreements, cost.seconds()));
}

Result<Report> run_parameters(const ParameterOptions& o) {
  NF_TRY(const std::uint64_t clients, whole("--clients", o.clients, 2, secagg::kMaxClients));
  NF_TRY(const double corrupt, share("--corrupt", o.corrupt));
  NF_TRY(const double drop, share("--drop", o.drop));
  NF_TRY(const std::uint64_t dimension, whole("--dimension", o.dimension, 1, secagg::kMaxDimension));
  NF_TRY(const std::uint64_t bits, whole("--bits", o.bits, 1, secagg::kMaxBits));
  NF_TRY(const double security, bits_of("--security", o.security));
  NF_TRY(const double correctness, bits_of("--correctness", o.correctness));
  const Assumptions assumptions{static_cast<std::uint32_t>(clients),
                                corrupt,
                                drop,
                                o.malicious ? ThreatModel::kLyingServer : ThreatModel::kCuriousServer,
                                security,
                                correctness};
  NF_TRY(const secagg::Topology topology, find_topology(assumptions));
  const secagg::RoundCost cost = cost_of_round(assumptions, topology, dimension, static_cast<unsigned>(bits));
  Report report(fmt::format("A secure sum of {} clients, {:g} % corrupt, {:g} % dropping out, {}", clients,
                            100 * corrupt, 100 * drop, o.malicious ? "a server that may lie" : "a curious server"));
  report.set("clients", clients);
  report.set("threat", std::string(name_of(assumptions.threat)));
  report.set("degree", topology.degree);
  report.set("threshold", topology.threshold);
  report.set("log2_insecure", std::isfinite(topology.log2_insecure) ? Json(topology.log2_insecure) : Json(nullptr));
  report.set("log2_incorrect", std::isfinite(topology.log2_incorrect) ? Json(topology.log2_incorrect) : Json(nullptr));
  report.set("client", side_json(cost.client));
  report.set("server", side_json(cost.server));
  report.set("payload_bytes", cost.payload_bytes);
  report.set("upload_over_payload", cost.client.sent_bytes / cost.payload_bytes);
  report.set("upload_over_float32", cost.client.sent_bytes / cost.plain_bytes);
  report.line("degree", fmt::format("{} neighbours each{}", topology.degree,
                                    topology.degree + 1 == clients ? ", which is everyone" : ""));
  report.line("threshold", fmt::format("{} of them must answer", topology.threshold));
  report.line("someone is seen", fmt::format("with probability {} at most", shown_probability(topology.log2_insecure)));
  report.line("no sum", fmt::format("with probability {} at most", shown_probability(topology.log2_incorrect)));
  report_side(report, "each client", cost.client);
  report_side(report, "server", cost.server);
  report.line("upload", fmt::format("{:.4f} of the packed vector of {} x {} bits, {:.3f} of 32-bit floats",
                                    cost.client.sent_bytes / cost.payload_bytes, dimension, bits,
                                    cost.client.sent_bytes / cost.plain_bytes));
  report.remark("Seconds are estimates for a recent core; secagg_bench (make bench) measures them here.");
  return report;
}

// --- demo --------------------------------------------------------------------------------------------------------------------

constexpr std::uint32_t kClients = 5;
constexpr std::uint64_t kDimension = 4;

struct DemoOptions {
  std::string seed = "7";
};

struct Demo {
  secagg::Cohort cohort;
  secagg::FixedPoint code;
  std::vector<std::vector<double>> updates;
  std::uint64_t round = 0;

  [[nodiscard]] std::vector<double> sum_of(const std::vector<std::uint32_t>& clients) const {
    std::vector<double> sum(kDimension);
    for (const std::uint32_t client : clients) {
      for (std::size_t i = 0; i < kDimension; ++i) sum[i] += updates[client][i];
    }
    return sum;
  }
};

Result<Demo> set_up(ReplayRandom& stream) {
  secagg::Cohort cohort = secagg::Cohort::draw(kClients, stream);
  NF_TRY(const secagg::FixedPoint code, secagg::FixedPoint::create({kDimension, 8.0, 0x1p-40, kClients}));
  std::vector<std::vector<double>> updates;
  for (std::uint32_t i = 0; i < kClients; ++i) {
    std::vector<float> draws(kDimension);
    fill_gaussian(stream, draws, 1);
    updates.emplace_back(draws.begin(), draws.end());
  }
  return Demo{std::move(cohort), code, std::move(updates)};
}

std::string shown_vector(const std::vector<double>& values) { return fmt::format("[{:.6f}]", fmt::join(values, ", ")); }

struct DemoRound {
  secagg::RoundOutcome outcome;
  std::vector<double> masked;  // what the first client sent, read as if it were an update
};

// A round in which the clients of `silent` send nothing from their masked input on.
Result<DemoRound> run_round(Demo& demo, const std::vector<std::uint32_t>& silent, ReplayRandom& stream) {
  const Assumptions assumptions{kClients, 0, 0.2, ThreatModel::kLyingServer};
  NF_TRY(const secagg::Topology topology, find_topology(assumptions));
  const secagg::RoundConfig config =
      demo.cohort.config(++demo.round, topology, ThreatModel::kLyingServer, 3, demo.code.dimension(), demo.code.bits());
  secagg::Policy policy;
  policy.corrupt = assumptions.corrupt;
  policy.drop = assumptions.drop;
  secagg::RecordingNetwork network;
  for (const std::uint32_t client : silent) network.silence(client, secagg::MessageType::kMaskedInput);
  NF_TRY(secagg::RoundOutcome outcome,
         simulate_round(
             demo.cohort, config, policy,
             [&](std::uint32_t client) { return demo.code.encode(stream, demo.updates[client]); }, stream, network));
  DemoRound round{std::move(outcome), {}};
  if (const secagg::Message* message = network.sent(0, secagg::MessageType::kMaskedInput)) {
    const auto envelope = secagg::parse_envelope(*message);
    const auto input = envelope ? parse_masked_input(envelope->body, config) : std::nullopt;
    if (!input) return internal_error("the demonstration cannot read its own message");
    secagg::LaneVector vector(config.dimension, config.bits);
    vector.add_packed(input->packed);
    round.masked = demo.code.decode(vector).values;
  }
  return round;
}

Result<void> report_sum(Report& report, const Demo& demo, const DemoRound& round, const char* key) {
  if (!round.outcome.sum) return internal_error("the demonstration ended without a sum");
  const std::vector<double> recovered = demo.code.decode(*round.outcome.sum).values;
  const std::vector<double> wanted = demo.sum_of(round.outcome.survivors);
  double error = 0;
  for (std::size_t i = 0; i < kDimension; ++i) error = std::max(error, std::abs(recovered[i] - wanted[i]));
  report.line("recovered sum", shown_vector(recovered));
  report.line("true sum", shown_vector(wanted));
  report.line("largest error", fmt::format("{:.2e}, less than a step of rounding for each client", error));
  report.set(key,
             Json{{"survivors", round.outcome.survivors}, {"sum", recovered}, {"true_sum", wanted}, {"error", error}});
  return success();
}

Result<Report> run_demo(const DemoOptions& o) {
  NF_TRY(const std::uint64_t seed, parse_count("--seed", o.seed));
  NF_TRY(ReplayRandom stream, ReplayRandom::create(seed));
  NF_TRY(Demo demo, set_up(stream));
  Report report("Five clients, one server that may lie, and a sum that nobody's update can be read from");
  NF_TRY(const DemoRound all, run_round(demo, {}, stream));
  report.line("one message", shown_vector(all.masked) + "   what the server sees of client 0");
  report.line("its update", shown_vector(demo.updates[0]) + "   what it never sees");
  report.set("masked_message", all.masked);
  report.set("update", demo.updates[0]);
  NF_TRY_VOID(report_sum(report, demo, all, "everyone"));
  NF_TRY(const DemoRound dropped, run_round(demo, {2}, stream));
  report.line("", "");
  report.line("client 2 is gone", "after its keys were shared: the others give what takes its masks off");
  NF_TRY_VOID(report_sum(report, demo, dropped, "one_dropped"));
  NF_TRY(const DemoRound few, run_round(demo, {1, 2}, stream));
  if (!few.outcome.aborted || few.outcome.sum) return internal_error("a round below its threshold gave a sum");
  report.line("", "");
  report.line(
      "2 clients are gone",
      fmt::format("{}: below the threshold the round ends, and the server has learned nothing, not even the sum "
                  "of the other three",
                  name_of(*few.outcome.aborted)));
  report.set("below_threshold", Json{{"aborted", std::string(name_of(*few.outcome.aborted))}});
  report.remark("What a sum itself says of those in it is for differential privacy to bound: docs/secagg.md.");
  return report;
}

}  // namespace

void add_secagg_command(CLI::App& app, Action& action) {
  CLI::App* group = app.add_subcommand("secagg", "Secure sums: the server sees only the sum");
  group->require_subcommand(1);
  const auto declare_demo = [](CLI::App& command, DemoOptions& o) {
    command.add_option("--seed", o.seed, "Of the keys and updates, which are made up")
        ->type_name("N")
        ->capture_default_str();
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
