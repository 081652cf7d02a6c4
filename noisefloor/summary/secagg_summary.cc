#include "noisefloor/summary/secagg_summary.h"

#include <fmt/format.h>

#include <fmt/ranges.h>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "noisefloor/secagg/abort.h"
#include "noisefloor/secagg/parameters.h"
#include "noisefloor/summary/summary_json.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

// --- A round as it is planned ----------------------------------------------------------------------------------------

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

Json probability_json(double log2) { return std::isfinite(log2) ? Json(log2) : Json(); }

Json side_json(const secagg::SideCost& cost) {
  return {{"sent_bytes", cost.sent_bytes},       {"received_bytes", cost.received_bytes},
          {"mask_bytes", cost.mask_bytes},       {"key_agreements", cost.agreements},
          {"verifications", cost.verifications}, {"cpu_seconds", cost.seconds()}};
}

std::string side_in_words(const secagg::SideCost& cost) {
  return fmt::format("sends {}, receives {}; {} of masks, {:.0f} key agreements: about {:.3g} s of one core",
                     shown_bytes(cost.sent_bytes), shown_bytes(cost.received_bytes), shown_bytes(cost.mask_bytes),
                     cost.agreements, cost.seconds());
}

std::string title_of(const secagg::Assumptions& assumed) {
  return fmt::format(
      "A secure sum of {} clients, {:g} % corrupt, {:g} % dropping out, {}", assumed.clients, 100 * assumed.corrupt,
      100 * assumed.drop,
      assumed.threat == secagg::ThreatModel::kLyingServer ? "a server that may lie" : "a curious server");
}

std::string_view shown_law(secagg::NoiseLaw law) {
  return law == secagg::NoiseLaw::kSkellam ? "skellam" : "discrete-gaussian";
}

void add_noise(Summary& summary, const secagg::NoisePlan& noise) {
  const secagg::DistributedNoiseOptions& options = noise.options;
  summary.set("noise", Json{{"law", shown_law(options.law)},
                            {"multiplier", options.noise_multiplier.value()},
                            {"minimum_survivors", options.minimum_survivors},
                            {"colluders", options.colluders},
                            {"granularity", noise.granularity},
                            {"sensitivity_over_clip", noise.inflation},
                            {"bits_for_little_rounding", noise.bits_for_little}});
  summary.line("noise", fmt::format("{}, {:g} clip norms with {} survivors, {} of whom leave theirs out: the minimum "
                                    "cohort, and the colluders, of the configuration",
                                    shown_law(options.law), options.noise_multiplier.value(), options.minimum_survivors,
                                    options.colluders));
  summary.line("rounding",
               fmt::format("to multiples of {:.3g} clip norms: one client moves the sum by {:.3f} clip norms",
                           noise.granularity, noise.inflation));
  if (noise.inflation <= 1.05) return;
  summary.remark(fmt::format(
      "Warning: rounding to {} bits makes the sensitivity {:.2f} times the clip norm, so the same noise protects that "
      "much less. {}",
      options.bits, noise.inflation,
      noise.bits_for_little > 0
          ? fmt::format("With {} bits it is {:g} times at most", noise.bits_for_little, secagg::kLittleInflation)
          : "Take fewer clients in a sum, or less noise"));
}

void add_lines(Summary& summary, const secagg::PlannedRound& round) {
  const secagg::Topology& topology = round.topology;
  const bool complete = topology.degree + 1 == round.assumptions.clients;
  summary.line("degree", fmt::format("{} neighbours each{}", topology.degree, complete ? ", which is everyone" : ""));
  summary.line("threshold", fmt::format("{} of them must answer", topology.threshold));
  if (topology.minimum_roster < round.assumptions.clients) {
    summary.line("roster", fmt::format("{} of the {} clients at least, with every corrupt client of the registry",
                                       topology.minimum_roster, round.assumptions.clients));
  }
  const bool tries = round.assumptions.threat == secagg::ThreatModel::kLyingServer && !complete;
  summary.line(
      "someone is seen",
      fmt::format(
          "with probability {} at most{}", shown_probability(topology.log2_insecure),
          tries ? fmt::format(", after 2^{:g} rosters that the server may try", round.assumptions.grinding_bits) : ""));
  if (std::isfinite(topology.log2_insecure)) {
    summary.line("security",
                 fmt::format("{:.1f} bits for the registry, whoever of it is in the roster", -topology.log2_insecure));
  } else {
    summary.line("security", "unconditional for the registry: the graph is complete, nothing is left to chance");
  }
  summary.line("no sum", fmt::format("with probability {} at most", shown_probability(topology.log2_incorrect)));
  if (round.noise.has_value()) add_noise(summary, *round.noise);
  summary.line("each client", side_in_words(round.cost.client));
  summary.line("server", side_in_words(round.cost.server));
  summary.line("upload", fmt::format("{:.4f} of the packed vector of {} x {} bits, {:.3f} of 32-bit floats",
                                     round.cost.client.sent_bytes / round.cost.payload_bytes, round.dimension,
                                     round.bits, round.cost.client.sent_bytes / round.cost.plain_bytes));
  summary.remark("Seconds are estimates for a recent core; secagg_bench (make bench) measures them here.");
}

// --- The demonstration -----------------------------------------------------------------------------------------------

std::string shown_vector(const std::vector<double>& values) { return fmt::format("[{:.6f}]", fmt::join(values, ", ")); }

void add_sum(Summary& summary, const secagg::RecoveredSum& round, const char* key) {
  summary.line("recovered sum", shown_vector(round.sum));
  summary.line("true sum", shown_vector(round.true_sum));
  summary.line("largest error", fmt::format("{:.2e}, less than a step of rounding for each client", round.error));
  summary.set(
      key,
      Json{{"survivors", round.survivors}, {"sum", round.sum}, {"true_sum", round.true_sum}, {"error", round.error}});
}

}  // namespace

Summary summary_of(const secagg::PlannedRound& round) {
  const secagg::RoundCost& cost = round.cost;
  Summary summary(title_of(round.assumptions));
  summary.set("clients", round.assumptions.clients);
  summary.set("threat", name_of(round.assumptions.threat));
  summary.set("minimum_roster", round.topology.minimum_roster);
  summary.set("grinding_bits", round.assumptions.grinding_bits);
  summary.set("degree", round.topology.degree);
  summary.set("threshold", round.topology.threshold);
  summary.set("log2_insecure", probability_json(round.topology.log2_insecure));
  summary.set("security_bits", probability_json(-round.topology.log2_insecure));
  summary.set("log2_incorrect", probability_json(round.topology.log2_incorrect));
  summary.set("client", side_json(cost.client));
  summary.set("server", side_json(cost.server));
  summary.set("payload_bytes", cost.payload_bytes);
  summary.set("upload_over_payload", cost.client.sent_bytes / cost.payload_bytes);
  summary.set("upload_over_float32", cost.client.sent_bytes / cost.plain_bytes);
  add_lines(summary, round);
  return summary;
}

Summary summary_of(const secagg::Demonstration& demonstration) {
  Summary summary("Five clients, one server that may lie, and a sum that nobody's update can be read from");
  summary.line("one message", shown_vector(demonstration.masked) + "   what the server sees of client 0");
  summary.line("its update", shown_vector(demonstration.update) + "   what it never sees");
  summary.set("masked_message", demonstration.masked);
  summary.set("update", demonstration.update);
  add_sum(summary, demonstration.everyone, "everyone");
  summary.line("", "");
  summary.line("client 2 is gone", "after its keys were shared: the others give what takes its masks off");
  add_sum(summary, demonstration.one_dropped, "one_dropped");
  summary.line("", "");
  summary.line(
      "2 clients are gone",
      fmt::format("{}: below the threshold the round ends, and the server has learned nothing, not even the sum "
                  "of the other three",
                  name_of(demonstration.below_threshold)));
  summary.set("below_threshold", Json{{"aborted", name_of(demonstration.below_threshold)}});
  summary.remark("What a sum itself says of those in it is for differential privacy to bound: docs/secagg.md.");
  return summary;
}

}  // namespace noisefloor
