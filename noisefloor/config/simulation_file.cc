#include "noisefloor/config/simulation_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/config/training_sections.h"

namespace noisefloor {
namespace {

using federated::Attack;
using federated::Cooperation;
using federated::LearningOptions;
using federated::PartitionKind;
using federated::Personal;
using federated::PrivacyMode;
using federated::RobustRule;
using federated::StrategyKind;
using federated::Weighting;
using internal::DataSection;
using internal::kAboveZero;
using internal::kNotNegative;
using internal::ModelSection;
using internal::Names;
using internal::Range;
using internal::SectionReader;
using internal::selector;

constexpr Range kShare{[](double x) { return x >= 0 && x <= 1; }, "from 0 to 1"};
constexpr Range kAtLeastOne{[](double x) { return x >= 1; }, "1 or above"};
constexpr std::size_t kMostSites = 100'000;
constexpr std::size_t kMostRounds = 1'000'000;
constexpr std::size_t kMostRows = std::size_t{1} << 40;
constexpr std::size_t kMostMethods = 100;

enum class By : std::uint8_t { kColumn, kFile, kEven, kDirichlet, kLabels, kQuantity };
constexpr Names<By, 6> kBy{{{"column", By::kColumn},
                            {"file", By::kFile},
                            {"even", By::kEven},
                            {"dirichlet", By::kDirichlet},
                            {"labels", By::kLabels},
                            {"quantity", By::kQuantity}}};
constexpr Names<Standardise, 3> kStandardise{
    {{"none", Standardise::kNone}, {"site", Standardise::kBySite}, {"all", Standardise::kByAll}}};
constexpr Names<Weighting, 2> kWeights{{{"rows", Weighting::kByCount}, {"equal", Weighting::kEqual}}};

// What users write as a method's kind: a strategy, or what to compare it with.
struct Kind {
  Cooperation cooperation = Cooperation::kFederated;
  StrategyKind strategy = StrategyKind::kFedAvg;
  friend bool operator==(const Kind&, const Kind&) = default;
};
constexpr Names<Kind, 10> kinds() {
  Names<Kind, 10> names{};
  for (std::size_t i = 0; i < federated::kStrategies.size(); ++i) {
    names[i].first = federated::kStrategies[i].first;
    names[i].second = {Cooperation::kFederated, federated::kStrategies[i].second};
  }
  names[8].first = "local-only";
  names[8].second = {Cooperation::kLocalOnly, StrategyKind::kFedAvg};
  names[9].first = "pooled";
  names[9].second = {Cooperation::kPooled, StrategyKind::kFedAvg};
  return names;
}
constexpr auto kKinds = kinds();

// --- [sites] ---------------------------------------------------------------------------------------------------------

SimulatedSites read_sites(const toml::table& table, const DataSection& data, Findings& findings) {
  SectionReader reader(table, "[sites]", findings);
  Located<By> by;
  reader.choice("by", kBy, by);
  reader.require("by", by, R"(add by = "column", "file", "even", "dirichlet", "labels" or "quantity")");
  const auto chosen = selector("by", kBy, by);
  SimulatedSites sites;
  Located<std::string> column;
  Located<std::vector<std::string>> names;
  Located<std::size_t> count;
  Located<std::size_t> least;
  Located<double> alpha;
  Located<std::size_t> shards;
  Located<Standardise> standardise;
  if (reader.takes("column", chosen, {By::kColumn})) reader.text("column", column);
  if (reader.takes("names", chosen, {By::kFile})) reader.texts("names", names);
  if (reader.takes("count", chosen, {By::kEven, By::kDirichlet, By::kLabels, By::kQuantity})) {
    reader.size("count", 1, kMostSites, count);
  }
  if (reader.takes("least", chosen, {By::kColumn, By::kEven, By::kDirichlet, By::kLabels, By::kQuantity})) {
    reader.size("least", 1, kMostRows, least);
  }
  if (reader.takes("alpha", chosen, {By::kDirichlet, By::kQuantity})) reader.number("alpha", alpha, kAboveZero);
  if (reader.takes("shards", chosen, {By::kLabels})) reader.size("shards", 1, kMostSites, shards);
  reader.choice("standardise", kStandardise, standardise);
  const bool csv = data.kind == internal::DataKind::kCsv;
  if (by.value == By::kColumn) {
    reader.require("column", column, "add column = \"…\", the column that says at which site a row is");
    if (data.kind && !csv) {
      reader.error("sites_do_not_fit", by.place, "only a CSV file has a column that says at which site a row is",
                   R"(divide the rows with by = "dirichlet", "labels", "quantity" or "even")");
    }
  } else if (by.value == By::kFile) {
    reader.require("names", names, R"(add names = ["…", "…"], which stand for {site} in the paths of [data])");
    const auto* text = std::get_if<TextFile>(&data.data.train);
    const std::string& path = text != nullptr ? text->path : std::get<IdxFiles>(data.data.train).images;
    if (data.kind && path.find(kSiteInPath) == std::string::npos) {
      reader.error("sites_do_not_fit", by.place,
                   fmt::format("each site has a file, and train is {} for all of them", shown(path)),
                   R"(write {site} where the path has the site's name: train = "{site}.csv")");
    }
  } else if (by.has()) {
    reader.require("count", count, "add count = …, the number of sites");
    if ((*by == By::kDirichlet || *by == By::kLabels) && data.has_target) {
      reader.error("sites_do_not_fit", by.place, "rows are divided by their classes, and these data have none",
                   R"(by = "quantity", "even" or "column")");
    }
  }
  reader.finish();
  sites.by = by.value == By::kColumn ? SitesBy::kColumn : by.value == By::kFile ? SitesBy::kFile : SitesBy::kPartition;
  sites.column = column.value.value_or("");
  sites.names = names.value.value_or(std::vector<std::string>{});
  sites.least = least.value.value_or(1);
  sites.standardise = standardise.value.value_or(Standardise::kNone);
  sites.partition.kind = by.value == By::kDirichlet  ? PartitionKind::kDirichlet
                         : by.value == By::kLabels   ? PartitionKind::kLabels
                         : by.value == By::kQuantity ? PartitionKind::kQuantity
                                                     : PartitionKind::kEven;
  sites.partition.sites = static_cast<std::uint32_t>(count.value.value_or(1));
  sites.partition.alpha = alpha.value.value_or(1);
  sites.partition.shards = static_cast<std::uint32_t>(shards.value.value_or(2));
  sites.partition.least = sites.least;
  return sites;
}

// --- [run], [privacy], [network], [faults] ---------------------------------------------------------------------------

std::vector<std::uint64_t> read_run(const toml::table& table, LearningOptions& o, Findings& findings) {
  SectionReader reader(table, "[run]", findings);
  Located<std::size_t> rounds;
  Located<std::size_t> spare;
  Located<std::size_t> batch;
  Located<std::size_t> steps;
  Located<double> epochs;
  Located<double> rate;
  Located<double> decay;
  Located<std::size_t> cohort;
  Located<double> limit;
  Located<std::size_t> every;
  Located<std::vector<std::size_t>> seeds;
  reader.size("rounds", 1, kMostRounds, rounds);
  reader.require("rounds", rounds, "add rounds = …, how often sites send their updates");
  reader.size("spare", 0, kMostRounds, spare);
  reader.size("batch_size", 1, kMostRows, batch);
  reader.require("batch_size", batch, "add batch_size = …, the (expected) number of rows in a local step");
  reader.size("local_steps", 1, kMostRows, steps);
  reader.number("local_epochs", epochs, kAboveZero);
  reader.exclude("local_steps", steps, "local_epochs", epochs,
                 "keep local_steps for the same number at all sites, or local_epochs for passes over each site's rows");
  if (!steps.stated() && !epochs.stated()) {
    reader.missing("key_missing", "local_steps and no local_epochs", "add local_epochs = 1, or local_steps = …");
  }
  reader.number("learning_rate", rate, kAboveZero);
  reader.require("learning_rate", rate, "add learning_rate = …, the length of local steps");
  reader.number("weight_decay", decay, kNotNegative);
  reader.size("minimum_cohort", 0, kMostSites, cohort);
  reader.number("round_limit", limit, kAboveZero);
  reader.size("evaluate_every", 1, kMostRounds, every);
  if (reader.holds("seeds")) reader.sizes("seeds", 0, kMostRows, seeds);
  reader.finish();
  o.rounds = rounds.value.value_or(1);
  o.spare = spare.value.value_or(0);
  o.batch = batch.value.value_or(1);
  o.steps = steps.value.value_or(0);
  o.epochs = epochs.value.value_or(1);
  o.rate = rate.value.value_or(0.1);
  o.weight_decay = decay.value.value_or(0);
  o.minimum_cohort = static_cast<std::uint32_t>(cohort.value.value_or(1));
  if (limit.has()) o.round_limit_ms = static_cast<std::uint64_t>(std::max(1.0, std::min(*limit, 1e9) * 1000));
  o.evaluate_every = every.value.value_or(o.rounds <= 50 ? 1 : (o.rounds + 49) / 50);
  std::vector<std::uint64_t> found;
  for (const std::size_t seed : seeds.value.value_or(std::vector<std::size_t>{0})) found.push_back(seed);
  return found;
}

void read_privacy(const toml::table& table, LearningOptions& o, Findings& findings) {
  SectionReader reader(table, "[privacy]", findings);
  Located<PrivacyMode> mode;
  Located<Epsilon> epsilon;
  Located<Delta> delta;
  Located<NoiseMultiplier> noise;
  Located<ClipNorm> clip;
  Located<bool> adaptive;
  Located<SamplingRate> rate;
  reader.choice("mode", federated::kPrivacyModes, mode);
  reader.require(
      "mode", mode,
      R"(add mode = "local": each site adds noise; "secagg": all together, inside a secure sum; or "central")");
  const auto chosen = selector("mode", federated::kPrivacyModes, mode);
  const auto noisy = {PrivacyMode::kLocal, PrivacyMode::kSecagg, PrivacyMode::kCentral};
  Located<std::size_t> colluders;
  if (reader.takes("epsilon", chosen, noisy)) reader.quantity("epsilon", epsilon);
  if (reader.takes("delta", chosen, noisy)) reader.quantity("delta", delta);
  if (reader.takes("noise_multiplier", chosen, noisy)) reader.quantity("noise_multiplier", noise);
  if (reader.takes("clip_norm", chosen, noisy)) reader.quantity("clip_norm", clip);
  if (reader.takes("colluders", chosen, {PrivacyMode::kSecagg})) reader.size("colluders", 0, kMostSites, colluders);
  if (reader.takes("adaptive_clip", chosen, {PrivacyMode::kCentral})) reader.flag("adaptive_clip", adaptive);
  if (reader.takes("site_rate", chosen, {PrivacyMode::kCentral})) reader.quantity("site_rate", rate);
  if (mode.has() && *mode != PrivacyMode::kNone) {
    reader.require("clip_norm", clip,
                   *mode == PrivacyMode::kCentral ? "add clip_norm = 1.0, the longest update of one site"
                                                  : "add clip_norm = 1.0, the longest gradient of one row");
    reader.require("delta", delta, "add delta = 1e-5, well below one over the number of rows (or of sites)");
    if (!epsilon.stated() && !noise.stated()) {
      reader.missing("key_missing", "epsilon and no noise_multiplier",
                     "add epsilon = …, what each budget allows: noise is calibrated to it");
    }
    if (delta.has() && !(delta.value->value() > 0)) {
      reader.error("gaussian_needs_delta", delta.place, "delta is 0, and noise is Gaussian: no epsilon is large enough",
                   "set delta to well below one over the number of rows (or of sites)");
    }
  }
  reader.elsewhere("unit", R"(it follows from mode: rows with "local" and "secagg", whole sites with "central")");
  reader.finish();
  o.mode = mode.value.value_or(PrivacyMode::kNone);
  o.epsilon = epsilon.value;
  o.delta = delta.value.value_or(o.delta);
  o.noise = noise.value;
  o.clip = clip.value;
  o.colluders = static_cast<std::uint32_t>(colluders.value.value_or(0));
  o.adaptive_clip = adaptive.value.value_or(false);
  o.sampling = rate.value;
}

void read_network(const toml::table& table, LearningOptions& o, Findings& findings) {
  SectionReader reader(table, "[network]", findings);
  Located<double> latency;
  Located<double> speed;
  Located<double> step;
  reader.number("latency_ms", latency, kNotNegative);
  reader.number("megabytes_per_second", speed, kAboveZero);
  reader.number("step_ms", step, kNotNegative);
  reader.finish();
  o.network.latency_ms = latency.value.value_or(o.network.latency_ms);
  o.network.megabytes_per_second = speed.value.value_or(o.network.megabytes_per_second);
  o.network.step_ms = step.value.value_or(o.network.step_ms);
}

void read_faults(const toml::table& table, LearningOptions& o, Findings& findings) {
  SectionReader reader(table, "[faults]", findings);
  Located<double> away;
  Located<double> stragglers;
  Located<double> slowdown;
  Located<std::size_t> attackers;
  Located<Attack> attack;
  Located<double> strength;
  reader.number("away", away, kShare);
  reader.number("stragglers", stragglers, kShare);
  reader.number("slowdown", slowdown, kAtLeastOne);
  reader.size("attackers", 0, kMostSites, attackers);
  reader.choice("attack", federated::kAttacks, attack);
  reader.number("strength", strength);
  if (slowdown.stated() && !stragglers.stated()) reader.unused("slowdown", "stragglers, and there are none");
  for (const auto& [key, stated] : {std::pair{"attack", attack.stated()}, std::pair{"strength", strength.stated()}}) {
    if (stated && !attackers.stated()) reader.unused(key, "attackers, and there are none");
  }
  if (attackers.stated()) {
    reader.require("attack", attack, R"(add attack = "sign-flip", "label-flip", "gaussian" or another)");
  }
  reader.finish();
  o.faults.away = away.value.value_or(0);
  o.faults.stragglers = stragglers.value.value_or(0);
  o.faults.slowdown = slowdown.value.value_or(o.faults.slowdown);
  o.faults.liars = static_cast<std::uint32_t>(attackers.value.value_or(0));
  o.faults.attack = attack.value.value_or(o.faults.attack);
  o.faults.strength = strength.value.value_or(o.faults.strength);
}

// --- [[method]] ------------------------------------------------------------------------------------------------------

class MethodReader {
 public:
  MethodReader(const toml::table& table, std::size_t number, Findings& findings)
      : reader_(table, fmt::format("[[method]] number {}", number), findings) {}

  SimulatedMethod read(const LearningOptions& common) {
    SimulatedMethod method{"", common};
    LearningOptions& o = method.options;
    Located<std::string> name;
    Located<Kind> kind;
    reader_.text("name", name);
    reader_.choice("kind", kKinds, kind);
    reader_.require("kind", kind, R"(add kind = "fedavg", or another strategy, or "local-only" or "pooled")");
    const auto found = selector("kind", kKinds, kind);
    o.cooperation = kind.value.value_or(Kind{}).cooperation;
    o.strategy.kind = kind.value.value_or(Kind{}).strategy;
    read_mode(o);
    read_strategy(found, o);
    read_robust(found, o);
    read_personal(found, o);
    read_own_run(o);
    Located<bool> is_private;
    reader_.flag("private", is_private);
    const bool has_noise = o.mode != PrivacyMode::kNone;
    if (is_private.value == true && !has_noise) {
      reader_.error("key_not_used", is_private.place, "private = true, and there is no [privacy] with a mode",
                    R"(add [privacy], with mode = "local", "secagg" or "central")");
    }
    // What central noise protects, whole sites, is not there where each learns for itself or all rows are in one place.
    // Nor is there a sum of one site alone; all rows in one place get the noise that the sum would have.
    const bool comparable = o.cooperation == Cooperation::kFederated || o.mode == PrivacyMode::kLocal ||
                            (o.mode == PrivacyMode::kSecagg && o.cooperation == Cooperation::kPooled);
    if (is_private.value == true && !comparable) {
      reader_.error("key_not_used", is_private.place, "noise on a sum over sites needs sites that send",
                    "remove private = true: this method is for comparison, without noise");
    }
    if (!is_private.value.value_or(comparable)) without_noise(o);
    if (o.mode == PrivacyMode::kSecagg && o.cooperation == Cooperation::kPooled) {
      o.mode = PrivacyMode::kLocal;
      o.colluders = 0;
    }
    if (o.cooperation != Cooperation::kFederated) o.faults = {};
    reader_.finish();
    method.name = name.value.value_or(default_name(o));
    place = name.stated() ? name.place : kind.place;
    return method;
  }
  Place place;

 private:
  using Found = internal::Selector<Kind, 10>;

  static Kind of(StrategyKind kind) { return {Cooperation::kFederated, kind}; }
  static std::initializer_list<Kind> federated_kinds() {
    static const std::initializer_list<Kind> kAll{of(StrategyKind::kFedAvg),  of(StrategyKind::kFedAvgM),
                                                  of(StrategyKind::kFedProx), of(StrategyKind::kScaffold),
                                                  of(StrategyKind::kFedAdam), of(StrategyKind::kFedAdagrad),
                                                  of(StrategyKind::kFedYogi), of(StrategyKind::kFedNova)};
    return kAll;
  }

  static void without_noise(LearningOptions& o) {
    o.mode = PrivacyMode::kNone;
    o.epsilon.reset();
    o.noise.reset();
    o.clip.reset();
    o.sampling.reset();
    o.adaptive_clip = false;
    o.colluders = 0;
    o.delta = LearningOptions::kNoDelta;
  }

  static std::string default_name(const LearningOptions& o) {
    std::string name;
    for (const auto& [known, kind] : kKinds) {
      if (kind == Kind{o.cooperation, o.strategy.kind}) name = known;
    }
    if (o.robust.rule != RobustRule::kMean) name += fmt::format(", {}", federated::name_of(o.robust.rule));
    if (o.personal != Personal::kNone) name += fmt::format(", {}", federated::name_of(o.personal));
    return name;
  }

  // Another mode than that of [privacy], with its clip norm, epsilon and delta.
  void read_mode(LearningOptions& o) {
    Located<PrivacyMode> mode;
    reader_.choice("mode", federated::kPrivacyModes, mode);
    if (!mode.has() || *mode == o.mode) return;
    if (o.mode == PrivacyMode::kNone) {
      reader_.error("key_not_used", mode.place, "mode changes that of [privacy], and there is none",
                    "add [privacy], which says what budgets allow");
    }
    if (*mode == PrivacyMode::kNone) return without_noise(o);
    if (o.minimum_cohort == 0) o.minimum_cohort = *mode == PrivacyMode::kLocal ? 1 : 0;
    if (*mode == PrivacyMode::kSecagg && o.mode == PrivacyMode::kLocal) o.minimum_cohort = 0;
    o.mode = *mode;
    if (o.mode != PrivacyMode::kSecagg) o.colluders = 0;
    if (o.mode != PrivacyMode::kCentral) o.adaptive_clip = false;
    if (o.mode != PrivacyMode::kCentral) o.sampling.reset();
  }

  // What [run] and [privacy] say for all methods, and this one says for itself.
  void read_own_run(LearningOptions& o) {
    Located<double> rate;
    Located<std::size_t> rounds;
    Located<std::size_t> batch;
    Located<std::size_t> steps;
    Located<double> epochs;
    Located<std::size_t> cohort;
    Located<ClipNorm> clip;
    reader_.number("learning_rate", rate, kAboveZero);
    reader_.size("rounds", 1, kMostRounds, rounds);
    reader_.size("batch_size", 1, kMostRows, batch);
    reader_.size("local_steps", 1, kMostRows, steps);
    reader_.number("local_epochs", epochs, kAboveZero);
    reader_.exclude("local_steps", steps, "local_epochs", epochs, "keep one of them");
    reader_.size("minimum_cohort", 0, kMostSites, cohort);
    reader_.quantity("clip_norm", clip);
    if (clip.has() && o.mode == PrivacyMode::kNone) {
      reader_.error("key_not_used", clip.place, "nothing is clipped without noise", "remove clip_norm");
    }
    if (rate.has()) o.rate = *rate;
    if (rounds.has()) o.rounds = *rounds;
    if (rounds.has()) o.evaluate_every = o.rounds <= 50 ? 1 : (o.rounds + 49) / 50;
    if (batch.has()) o.batch = *batch;
    if (steps.has()) o.steps = *steps;
    if (epochs.has()) {
      o.steps = 0;
      o.epochs = *epochs;
    }
    if (cohort.has()) o.minimum_cohort = static_cast<std::uint32_t>(*cohort);
    if (clip.has()) o.clip = *clip;
  }

  void read_strategy(const Found& found, LearningOptions& o) {
    const auto adaptive = {of(StrategyKind::kFedAdam), of(StrategyKind::kFedYogi), of(StrategyKind::kFedAdagrad)};
    const auto option = [&](std::string_view key, std::initializer_list<Kind> uses, const Range& range, double& value) {
      Located<double> field;
      if (reader_.takes(key, found, uses)) reader_.number(key, field, range);
      value = field.value.value_or(value);
    };
    const bool is_adaptive = std::find(adaptive.begin(), adaptive.end(), of(o.strategy.kind)) != adaptive.end();
    if (is_adaptive && o.cooperation == Cooperation::kFederated) o.strategy.server_rate = 0.1;
    option("server_rate", federated_kinds(), kAboveZero, o.strategy.server_rate);
    option("momentum", {of(StrategyKind::kFedAvgM)}, internal::kBelowOne, o.strategy.momentum);
    option("beta1", adaptive, internal::kBelowOne, o.strategy.beta1);
    option("beta2", {of(StrategyKind::kFedAdam), of(StrategyKind::kFedYogi)}, internal::kBelowOne, o.strategy.beta2);
    option("tau", adaptive, kAboveZero, o.strategy.tau);
    option("proximal", {of(StrategyKind::kFedProx)}, kNotNegative, o.strategy.proximal);
    Located<Weighting> weights;
    if (reader_.takes("weights", found, federated_kinds())) reader_.choice("weights", kWeights, weights);
    const bool central = o.mode == PrivacyMode::kCentral || o.mode == PrivacyMode::kSecagg;
    const bool robust = reader_.holds("rule");
    o.weighting = weights.value.value_or(central || robust ? Weighting::kEqual : Weighting::kByCount);
  }

  void read_robust(const Found& found, LearningOptions& o) {
    Located<RobustRule> rule;
    Located<std::size_t> liars;
    Located<double> norm;
    if (reader_.takes("rule", found, federated_kinds())) reader_.choice("rule", federated::kRobustRules, rule);
    const auto chosen = selector("rule", federated::kRobustRules, rule, std::optional(RobustRule::kMean));
    if (reader_.takes("liars", chosen,
                      {RobustRule::kNormBound, RobustRule::kMedian, RobustRule::kTrimmedMean, RobustRule::kKrum,
                       RobustRule::kMultiKrum, RobustRule::kBulyan, RobustRule::kGeometricMedian,
                       RobustRule::kCentredClipping})) {
      reader_.size("liars", 0, kMostSites, liars);
    }
    if (reader_.takes("norm", chosen, {RobustRule::kNormBound, RobustRule::kCentredClipping})) {
      reader_.number("norm", norm, kAboveZero);
    }
    o.robust.rule = rule.value.value_or(RobustRule::kMean);
    o.robust.liars = static_cast<std::uint32_t>(liars.value.value_or(o.faults.liars));
    if (o.robust.rule == RobustRule::kMean) o.robust.liars = 0;
    o.robust.norm = norm.value;
  }

  void read_personal(const Found& found, LearningOptions& o) {
    Located<Personal> personal;
    Located<double> pull;
    Located<std::size_t> steps;
    if (reader_.takes("personal", found, federated_kinds())) {
      reader_.choice("personal", federated::kPersonal, personal);
    }
    const auto chosen = selector("personal", federated::kPersonal, personal, std::optional(Personal::kNone));
    if (reader_.takes("pull", chosen, {Personal::kDitto})) reader_.number("pull", pull, kNotNegative);
    if (reader_.takes("fine_tune_steps", chosen, {Personal::kFineTune})) {
      reader_.size("fine_tune_steps", 1, kMostRows, steps);
    }
    o.personal = personal.value.value_or(Personal::kNone);
    o.ditto = pull.value.value_or(o.ditto);
    o.fine_tune_steps = steps.value.value_or(o.fine_tune_steps);
  }

  SectionReader reader_;
};

// --- The file --------------------------------------------------------------------------------------------------------

std::optional<SimulationFile> read_file_of(const toml::table& document, const ReadNamedFile& named,
                                           Findings& findings) {
  SectionReader reader(document, "the simulation file", findings);
  const Located<std::string> name = internal::read_name(reader, "what people call the simulation");
  const toml::table* data_table = reader.required_section("data");
  const toml::table* model_table = reader.required_section("model");
  const toml::table* sites_table = reader.required_section("sites");
  const toml::table* run_table = reader.required_section("run");
  const toml::table* privacy_table = reader.section("privacy");
  const toml::table* network_table = reader.section("network");
  const toml::table* faults_table = reader.section("faults");
  const std::vector<const toml::table*> methods = reader.sections("method", "method");
  reader.elsewhere("budget", "a simulation spends nothing: what sites may spend stands in [privacy]");
  reader.elsewhere("training", "local steps stand in [run]");
  reader.finish();

  SimulationFile file;
  DataSection data;
  if (data_table != nullptr) {
    data = internal::read_data_section(*data_table, named, findings);
    const bool is_public = data.data.is_public || (data.data.dataset && data.data.dataset->is_public());
    if (!is_public) {
      SectionReader of_data(*data_table, "[data]", findings);
      of_data.error("rows_not_public", {},
                    "a simulation repeats its noise from a seed and measures without noise, so nothing that it shows "
                    "is private",
                    "add public = true under [data] if the rows are public or made up; do not simulate with others");
    }
    if (data.unit == PrivacyUnit::kPerson) {
      SectionReader of_data(*data_table, "[data]", findings);
      of_data.error("unit_does_not_fit", {}, "simulated sites draw rows, and these data say which rows are whose",
                    "leave unit and person out: what is protected follows from [privacy]");
    }
    const bool has_test = data.data.test || data.data.test_fraction > 0;
    if (!has_test) {
      SectionReader of_data(*data_table, "[data]", findings);
      of_data.missing("key_missing", "test and no test_fraction", "add test_fraction = 0.2, or test = \"…\"");
    }
  }
  ModelSection model;
  if (model_table != nullptr) {
    model = internal::read_model_section(*model_table, data, findings);
    if (model.model.torch) {
      SectionReader of_model(*model_table, "[model]", findings);
      of_model.error("model_does_not_fit", {}, "simulated sites have small models, and this one needs libtorch",
                     R"(kind = "logistic", "mlp", "lenet5" or another that needs no libtorch)");
    }
    if (model.model.start_from) {
      SectionReader of_model(*model_table, "[model]", findings);
      of_model.error("key_not_used", {}, "simulated runs begin with random weights, and the model names a file of some",
                     "remove start_from");
    }
  }
  if (sites_table != nullptr) file.sites = read_sites(*sites_table, data, findings);
  LearningOptions common;
  if (run_table != nullptr) file.seeds = read_run(*run_table, common, findings);
  if (privacy_table != nullptr) read_privacy(*privacy_table, common, findings);
  const bool on_sum = common.mode == PrivacyMode::kCentral || common.mode == PrivacyMode::kSecagg;
  if (on_sum && run_table != nullptr && !run_table->contains("minimum_cohort")) {
    common.minimum_cohort = 0;
  }
  if (network_table != nullptr) read_network(*network_table, common, findings);
  if (faults_table != nullptr) read_faults(*faults_table, common, findings);
  std::set<std::string> names;
  for (const toml::table* table : methods) {
    MethodReader one(*table, file.methods.size() + 1, findings);
    file.methods.push_back(one.read(common));
    if (!names.insert(file.methods.back().name).second) {
      findings.error("duplicate_name", one.place,
                     fmt::format("two methods are called {}", shown(file.methods.back().name)),
                     "give one of them another name = \"…\"");
    }
  }
  if (methods.empty()) {
    reader.missing("key_missing", "[[method]]",
                   R"(add [[method]] with kind = "fedavg", and others to compare it with)");
  } else if (methods.size() > kMostMethods) {
    reader.error("out_of_range", {}, fmt::format("{} methods are too many for one picture", methods.size()),
                 fmt::format("compare at most {}", kMostMethods));
  }
  const bool noisy = std::any_of(file.methods.begin(), file.methods.end(), [](const SimulatedMethod& method) {
    return method.options.mode == PrivacyMode::kLocal || method.options.mode == PrivacyMode::kSecagg;
  });
  if (noisy && file.sites.standardise != Standardise::kNone) {
    reader.error("standardise_not_private", {},
                 "means and variances of rows would be used without noise, and noise on gradients does not cover that",
                 "remove standardise: columns are scaled by their public bounds; or compare without [privacy]");
  }
  if (has_errors(findings.list())) return std::nullopt;
  file.name = *name;
  file.data = std::move(data.data);
  file.model = std::move(model.model);
  return file;
}

}  // namespace

SimulationText read_simulation(std::string_view text, const ReadNamedFile& named) {
  SimulationText result;
  Findings findings;
  const auto document = internal::parse_document(text, "leave out comments, or methods", findings);
  if (document) result.simulation = read_file_of(*document, named, findings);
  result.findings = findings.sorted();
  return result;
}

bool is_simulation(std::string_view text) {
  Findings ignored;
  const auto document = internal::parse_document(text, "", ignored);
  return document && document->contains("sites");
}

}  // namespace noisefloor
