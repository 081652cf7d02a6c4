#include "noisefloor/config/pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "noisefloor/base/text.h"
#include "noisefloor/config/toml_reader.h"

namespace noisefloor {
namespace {

using internal::kAboveZero;
using internal::Names;
using internal::names_of;
using internal::place_of;
using internal::SectionReader;

constexpr Names<Technique, 5> kTechniques{{{"dp-sgd", Technique::kDpSgd},
                                           {"dp-aggregation", Technique::kDpAggregation},
                                           {"federated", Technique::kFederated},
                                           {"secure-aggregation", Technique::kSecureAggregation},
                                           {"synthetic", Technique::kSynthetic}}};
constexpr Names<NoiseMechanism, 6> kMechanisms{{{"laplace", NoiseMechanism::kLaplace},
                                                {"gaussian", NoiseMechanism::kGaussian},
                                                {"geometric", NoiseMechanism::kGeometric},
                                                {"exponential", NoiseMechanism::kExponential},
                                                {"permute-and-flip", NoiseMechanism::kPermuteAndFlip},
                                                {"randomized-response", NoiseMechanism::kRandomizedResponse}}};
constexpr Names<Statistic, 5> kStatistics{{{"count", Statistic::kCount},
                                           {"histogram", Statistic::kHistogram},
                                           {"sum", Statistic::kSum},
                                           {"mean", Statistic::kMean},
                                           {"quantile", Statistic::kQuantile}}};
constexpr Names<BoundsSource, 3> kBounds{
    {{"public", BoundsSource::kPublic}, {"private", BoundsSource::kPrivate}, {"data", BoundsSource::kData}}};
constexpr Names<Tuning, 3> kTunings{{{"every-trial", Tuning::kEveryTrial},
                                     {"repeat-and-select", Tuning::kRepeatAndSelect},
                                     {"public-data", Tuning::kPublicData}}};

void read_budget(const toml::table& table, Budget& budget, bool& readable, Findings& findings) {
  budget.place = place_of(table.source());
  SectionReader reader(table, "[budget]", findings);
  reader.quantity("epsilon", budget.epsilon);
  reader.quantity("delta", budget.delta);
  reader.choice("adjacency", names_of<Adjacency>(Adjacency::kAddRemove, Adjacency::kReplaceOne), budget.adjacency);
  reader.choice("unit", names_of<PrivacyUnit>(PrivacyUnit::kRow, PrivacyUnit::kPerson), budget.unit);
  reader.choice("rule", names_of<Rule>(Rule::kPlanned, Rule::kBasic), budget.rule);
  reader.finish();
  readable = readable && reader.good();
}

void read_data(const toml::table& table, Data& data, bool& readable, Findings& findings) {
  data.place = place_of(table.source());
  SectionReader reader(table, "[data]", findings);
  reader.quantity("rows", data.rows);
  reader.quantity("people", data.people);
  reader.quantity("rows_per_person", data.rows_per_person);
  reader.finish();
  readable = readable && reader.good();
}

using Uses = std::vector<Technique>;

// A key that no technique of the run uses would do nothing, while its author thinks that it does.
template <class T>
void expect_use(const Run& run, std::string_view key, const Located<T>& field, const Uses& uses, Findings& findings) {
  if (!field.stated() || !run.technique.has()) return;
  if (std::any_of(uses.begin(), uses.end(), [&](Technique technique) { return run.uses(technique); })) return;
  std::vector<std::string_view> names;
  for (Technique technique : uses) names.push_back(name_of(technique));
  findings.error("key_not_used", field.place,
                 fmt::format("{} of run {} would do nothing: it belongs to {}, which the run does not have", key,
                             shown(run.name), fmt::join(names, " or ")),
                 key == "epsilon" && run.uses(Technique::kDpSgd)
                     ? "training is calibrated to target_epsilon: did you mean that?"
                     : fmt::format("remove {}, or add \"{}\" to technique", key, names.front()));
}

void expect_uses(const Run& run, Findings& findings) {
  const Uses training{Technique::kDpSgd};
  const Uses queries{Technique::kDpAggregation};
  const Uses noisy{Technique::kDpSgd, Technique::kDpAggregation};
  const Uses clipped{Technique::kDpSgd, Technique::kFederated};
  const Uses stated{Technique::kDpAggregation, Technique::kSynthetic};
  const Uses any_private{Technique::kDpSgd, Technique::kDpAggregation, Technique::kSynthetic};
  const Uses federated{Technique::kFederated};
  const Uses synthetic{Technique::kSynthetic};
  expect_use(run, "target_epsilon", run.privacy.target_epsilon, noisy, findings);
  expect_use(run, "epsilon", run.privacy.epsilon, stated, findings);
  expect_use(run, "delta", run.privacy.delta, any_private, findings);
  expect_use(run, "noise_multiplier", run.noise.multiplier, noisy, findings);
  expect_use(run, "clip_norm", run.noise.clip_norm, clipped, findings);
  expect_use(run, "accountant", run.privacy.accountant, noisy, findings);
  expect_use(run, "batch_size", run.sampling.batch_size, training, findings);
  expect_use(run, "sample_rate", run.sampling.sample_rate, training, findings);
  expect_use(run, "steps", run.sampling.steps, training, findings);
  expect_use(run, "epochs", run.sampling.epochs, training, findings);
  expect_use(run, "sampler", run.sampling.sampler, clipped, findings);
  expect_use(run, "clients", run.federation.clients, federated, findings);
  expect_use(run, "clients_per_round", run.federation.clients_per_round, federated, findings);
  expect_use(run, "smallest_client", run.federation.smallest_client, federated, findings);
  expect_use(run, "rounds", run.federation.rounds, federated, findings);
  expect_use(run, "local_epochs", run.federation.local_epochs, federated, findings);
  expect_use(run, "local_steps", run.federation.local_steps, federated, findings);
  expect_use(run, "mechanism", run.noise.mechanism, queries, findings);
  expect_use(run, "statistic", run.query.statistic, queries, findings);
  expect_use(run, "queries", run.query.queries, queries, findings);
  expect_use(run, "lower", run.bounds.lower, queries, findings);
  expect_use(run, "upper", run.bounds.upper, queries, findings);
  expect_use(run, "bounds", run.bounds.source, stated, findings);
  expect_use(run, "bounds_epsilon", run.bounds.epsilon, stated, findings);
  expect_use(run, "method", run.method, synthetic, findings);
}

Run read_run(const toml::table& table, std::size_t number, Findings& findings) {
  Run run;
  run.place = place_of(table.source());
  SectionReader reader(table, fmt::format("[[run]] number {}", number), findings);
  reader.text("name", run.stated_name);
  run.name = run.stated_name.value.value_or(fmt::format("run {}", number));
  reader.choices("technique", kTechniques, run.technique);
  reader.quantity("target_epsilon", run.privacy.target_epsilon);
  reader.quantity("epsilon", run.privacy.epsilon);
  reader.quantity("delta", run.privacy.delta);
  reader.quantity("noise_multiplier", run.noise.multiplier);
  reader.quantity("clip_norm", run.noise.clip_norm);
  reader.choice("accountant",
                names_of<Accountant>(Accountant::kPld, Accountant::kRdp, Accountant::kZcdp, Accountant::kGdp,
                                     Accountant::kAdvanced, Accountant::kBasic),
                run.privacy.accountant);
  reader.quantity("batch_size", run.sampling.batch_size);
  reader.quantity("sample_rate", run.sampling.sample_rate);
  reader.quantity("steps", run.sampling.steps);
  reader.number("epochs", run.sampling.epochs, kAboveZero);
  reader.choice("sampler", internal::kSamplers, run.sampling.sampler);
  reader.quantity("clients", run.federation.clients);
  reader.quantity("clients_per_round", run.federation.clients_per_round);
  reader.quantity("smallest_client", run.federation.smallest_client);
  reader.quantity("rounds", run.federation.rounds);
  reader.number("local_epochs", run.federation.local_epochs, kAboveZero);
  reader.quantity("local_steps", run.federation.local_steps);
  reader.flag("secure_aggregation", run.federation.secure_aggregation);
  reader.choice("mechanism", kMechanisms, run.noise.mechanism);
  reader.choice("statistic", kStatistics, run.query.statistic);
  reader.quantity("queries", run.query.queries);
  reader.number("lower", run.bounds.lower);
  reader.number("upper", run.bounds.upper);
  reader.choice("bounds", kBounds, run.bounds.source);
  reader.quantity("bounds_epsilon", run.bounds.epsilon);
  reader.text("method", run.method);
  reader.quantity("trials", run.tuning.trials);
  reader.choice("tuning", kTunings, run.tuning.how);
  reader.count("replay_seed", run.noise.replay_seed);
  reader.flag("release", run.release);
  reader.finish();
  run.readable = reader.good();
  expect_uses(run, findings);
  return run;
}

void read_document(const toml::table& document, Pipeline& pipeline, Findings& findings) {
  SectionReader reader(document, "the pipeline", findings);
  reader.text("name", pipeline.name);
  if (const toml::table* table = reader.section("budget")) {
    read_budget(*table, pipeline.budget, pipeline.readable, findings);
  }
  if (const toml::table* table = reader.section("data")) read_data(*table, pipeline.data, pipeline.readable, findings);
  for (const toml::table* table : reader.sections("run", "run")) {
    pipeline.runs.push_back(read_run(*table, pipeline.runs.size() + 1, findings));
  }
  reader.finish();
  pipeline.readable = pipeline.readable && reader.good();
}

}  // namespace

std::string_view name_of(Technique technique) {
  for (const auto& [name, value] : kTechniques) {
    if (value == technique) return name;
  }
  return "";
}

bool Run::uses(Technique wanted) const {
  return technique.has() &&
         std::find(technique.value->begin(), technique.value->end(), wanted) != technique.value->end();
}

bool Run::has_secure_aggregation() const {
  return uses(Technique::kSecureAggregation) || federation.secure_aggregation.value.value_or(false);
}

PipelineText read_pipeline(std::string_view text) {
  PipelineText result;
  Findings findings;
  const auto document =
      internal::parse_document(text, "split the pipeline into files that are checked one by one", findings);
  if (document) {
    read_document(*document, result.pipeline, findings);
  } else {
    result.pipeline.readable = false;
  }
  result.findings = findings.sorted();
  return result;
}

}  // namespace noisefloor
