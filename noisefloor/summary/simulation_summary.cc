#include "noisefloor/summary/simulation_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "noisefloor/report/simulation_report.h"
#include "noisefloor/summary/summary_json.h"

namespace noisefloor {
namespace {

using federated::LearningResult;
using federated::PrivacyMode;
using federated::SimulatedRound;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMostListed = 6;

std::string percent(const std::optional<OverSeeds>& value) {
  return value ? fmt::format("{:.1f} %", 100 * value->mean) : "-";
}

std::string state_name(federated::RunState state) {
  return state == federated::RunState::kComplete ? "complete" : "incomplete";
}

Json json_of(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json json_of(const SimulatedRound& round) {
  Json json{{"round", round.round}, {"counted", round.counted}, {"sites", round.survivors}};
  if (round.quality) {
    json["loss"] = round.quality->loss;
    json["accuracy"] = json_of(round.quality->accuracy);
    json["macro_accuracy"] = json_of(round.quality->macro);
    json["worst_accuracy"] = json_of(round.quality->worst);
  }
  if (!round.epsilon.empty()) json["epsilon"] = round.epsilon;
  json["bytes_up"] = round.bytes_up;
  json["bytes_down"] = round.bytes_down;
  json["seconds"] = round.seconds;
  return json;
}

Json json_of(const SimulationJob& job, const SimulatedRun& run) {
  const LearningResult& r = run.result;
  Json json{{"method", job.file().methods[run.method].name},
            {"seed", run.seed},
            {"state", state_name(r.state)},
            {"private", false},
            {"parameters", r.parameters},
            {"loss", r.quality.loss},
            {"accuracy", json_of(r.quality.accuracy)},
            {"macro_accuracy", json_of(r.quality.macro)},
            {"worst_accuracy", json_of(r.quality.worst)},
            {"auc", json_of(run.auc)}};
  json["noise_multiplier"] = r.noise;
  json["epsilon"] = r.rounds.back().epsilon;
  json["joined"] = r.joined;
  json["declined"] = r.declined;
  Json sites = Json::array();
  for (const Quality& quality : r.quality.sites) {
    sites.push_back({{"examples", quality.examples},
                     {"loss", quality.loss},
                     {"accuracy", json_of(quality.accuracy)},
                     {"auc", json_of(quality.auc)}});
  }
  json["site_quality"] = std::move(sites);
  Json rounds = Json::array();
  for (const SimulatedRound& round : r.rounds) rounds.push_back(json_of(round));
  json["rounds"] = std::move(rounds);
  return json;
}

std::string spent_text(const SimulationJob& job, const std::vector<SimulatedRun>& runs, std::size_t method) {
  if (job.file().methods[method].options.mode == PrivacyMode::kNone) return "inf";
  const auto epsilon = over_seeds(
      runs, method, [](const SimulatedRun& run) -> std::optional<double> { return largest_epsilon(run.result); });
  return epsilon ? fmt::format("{:.4f}", std::ceil(epsilon->highest * 1e4 - 1e-6) / 1e4) : "-";
}

void add_table(Summary& summary, const SimulationJob& job, const std::vector<SimulatedRun>& runs) {
  summary.line("method", fmt::format("{:>9}  {:>9}  {:>9}  {:>7}  {:>9}  {:>9}  {:>11}", "accuracy", "mean site",
                                     "worst", "loss", "epsilon", "MB sent", "simulated s"));
  for (std::size_t method = 0; method < job.file().methods.size(); ++method) {
    const auto figure = [&](const auto& of) {
      return over_seeds(runs, method, [&](const SimulatedRun& run) -> std::optional<double> { return of(run.result); });
    };
    const auto loss = figure([](const auto& r) -> std::optional<double> { return r.quality.loss; });
    const auto sent = figure([](const auto& r) -> std::optional<double> {
      return static_cast<double>(r.rounds.back().bytes_up + r.rounds.back().bytes_down) / 1e6;
    });
    const auto seconds = figure([](const auto& r) -> std::optional<double> { return r.rounds.back().seconds; });
    summary.line(job.file().methods[method].name,
                 fmt::format("{:>9}  {:>9}  {:>9}  {:>7.4f}  {:>9}  {:>9.2f}  {:>11.1f}",
                             percent(figure([](const auto& r) { return r.quality.accuracy; })),
                             percent(figure([](const auto& r) { return r.quality.macro; })),
                             percent(figure([](const auto& r) { return r.quality.worst; })), loss ? loss->mean : 0.0,
                             spent_text(job, runs, method), sent ? sent->mean : 0.0, seconds ? seconds->mean : 0.0));
  }
}

std::string rows_in_words(const SimulationData& data) {
  std::size_t least = data.train.front().rows;
  std::size_t most = 0;
  for (const Dataset& rows : data.train) {
    least = std::min(least, rows.rows);
    most = std::max(most, rows.rows);
  }
  return least == most ? fmt::format("{} rows each", least) : fmt::format("{} to {} rows", least, most);
}

}  // namespace

Summary summary_of(const SimulationJob& job, const std::vector<SimulatedRun>& runs) {
  const SimulationFile& file = job.file();
  Summary summary(fmt::format(
      "{}: {} at {} sites ({}), {} rounds, {}", file.name,
      file.methods.size() == 1 ? std::string("one method") : fmt::format("{} methods", file.methods.size()),
      job.data().names.size(), rows_in_words(job.data()), file.methods.front().options.rounds,
      file.seeds.size() == 1 ? std::string("one seed") : fmt::format("mean of {} seeds", file.seeds.size())));
  add_table(summary, job, runs);
  Json json = Json::array();
  for (const SimulatedRun& run : runs) json.push_back(json_of(job, run));
  summary.set("private", false);
  summary.set("sites", Json(job.data().names));
  summary.set("runs", json);
  if (job.wish().write_files) {
    for (const auto& [key, name] : {std::pair{"table", kSimulationTableName}, std::pair{"picture", kSimulationPicture},
                                    std::pair{"report", kSimulationPage}}) {
      const std::string path = (job.folder() / name).string();
      summary.set(key, path);
      summary.line(key, path);
    }
  }
  for (const SimulatedRun& run : runs) {
    if (run.result.state == federated::RunState::kComplete) continue;
    summary.remark(
        fmt::format("{}, seed {}: the run ended after {} rounds that counted. Too many sites declined, were "
                    "away or sent what no sum can hold.",
                    file.methods[run.method].name, run.seed,
                    std::count_if(run.result.rounds.begin(), run.result.rounds.end(),
                                  [](const SimulatedRound& r) { return r.counted && r.round > 0; })));
  }
  const std::string tests = job.data().tests_by_site ? "each row by the model that its site would use"
                                                     : "on test rows that are the same for all sites";
  summary.remark(fmt::format("Quality is measured without noise, {}.", tests));
  summary.remark(
      "Simulated: noise is repeated from a seed, so nothing here is private. Epsilon is what such a run would cost a "
      "site at most.");
  return summary;
}

Summary outline_of(const SimulationJob& job) {
  const SimulationData& data = job.data();
  Summary summary(fmt::format("{}: {} sites ({}), {} parameters; nothing was simulated", job.file().name,
                              data.names.size(), rows_in_words(data), job.parameters()));
  Json sites = Json::array();
  for (std::size_t i = 0; i < data.names.size(); ++i) {
    const std::size_t tests = data.tests[data.tests_by_site ? i : 0].rows;
    sites.push_back({{"site", data.names[i]}, {"rows", data.train[i].rows}, {"test_rows", tests}});
    if (i < 20) summary.line(data.names[i], fmt::format("{} rows, {} test rows", data.train[i].rows, tests));
  }
  if (data.names.size() > 20) summary.line("…", fmt::format("{} more", data.names.size() - 20));
  if (data.left_out > 0) summary.line("left out", fmt::format("{} sites with too few rows", data.left_out));
  summary.set("dry_run", true);
  summary.set("sites", sites);
  Json methods = Json::array();
  for (const SimulatedMethod& method : job.file().methods) methods.push_back(method.name);
  summary.set("methods", methods);
  return summary;
}

std::string run_heading(const SimulationJob& job, std::size_t method, std::uint64_t seed) {
  const std::string which = job.file().seeds.size() > 1 ? fmt::format(", seed {}", seed) : "";
  return job.file().methods[method].name + which;
}

std::string round_heading() {
  return fmt::format("{:>6}  {:>6}  {:>8}  {:>9}  {:>9}  {:>8}  {}", "round", "sites", "loss", "accuracy", "MB sent",
                     "seconds", "epsilon");
}

std::string round_line(const SimulatedRound& round) {
  std::string epsilon = "-";
  if (!round.epsilon.empty()) {
    const auto [least, most] = std::minmax_element(round.epsilon.begin(), round.epsilon.end());
    epsilon = fmt::format("{:.3f}", *least);
    if (round.epsilon.size() > kMostListed) {
      if (*most > *least) epsilon += fmt::format(" to {:.3f}", *most);
    } else {
      for (std::size_t i = 0; i < round.epsilon.size(); ++i) {
        const std::string one = fmt::format("{:.3f}", round.epsilon[i]);
        epsilon = i == 0 ? one : epsilon + " " + one;
      }
    }
  }
  const auto& quality = round.quality;
  return fmt::format("{:>6}  {:>6}  {:>8}  {:>9}  {:>9.2f}  {:>8.1f}  {}", round.round,
                     round.round > 0 && !round.counted ? "void" : fmt::format("{}", round.survivors),
                     quality ? fmt::format("{:.4f}", quality->loss) : "-",
                     quality && quality->accuracy ? fmt::format("{:.2f} %", 100 * *quality->accuracy) : "-",
                     static_cast<double>(round.bytes_up + round.bytes_down) / 1e6, round.seconds, epsilon);
}

}  // namespace noisefloor
