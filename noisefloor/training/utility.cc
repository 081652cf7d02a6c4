#include "noisefloor/training/utility.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "noisefloor/release/document.h"
#include "noisefloor/release/paid_statement.h"
#include "noisefloor/training/exposing.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;

TrainingFile with_clip(const TrainingFile& file, ClipNorm clip) {
  TrainingFile changed = file;
  changed.training.descent.clip = FlatClip{clip};
  return changed;
}

// Proxy rows are public, and so is their number.
TrainingFile for_proxy(const TrainingFile& file, const Dataset& proxy) {
  TrainingFile changed = file;
  TrainingData& data = changed.training.data;
  data.rows = proxy.rows;
  data.people = proxy.units();
  data.test_fraction = 0;
  data.validation_fraction = 0;
  changed.training.descent.rows_by_rate.reset();
  return changed;
}

RunRequest utility_run(const UtilityQuestion& question, ClipNorm clip, const Noise& noise) {
  const bool proxy = question.goal().utility == UtilityData::kProxy;
  return {.files = {},
          .key = {},
          .noise = noise,
          .delta = question.delta,
          .replay_seed = {},
          .from = {},
          .title = fmt::format("utility graph, clip norm {:g}: ", clip.value()),
          .exposure = question.exposure,
          .public_rows = proxy};
}

// Trains a model with each clip norm, and measures the accuracy that noise leaves.
Result<std::vector<UtilityCurve>> measured(const UtilityQuestion& question, const TrainingFile& base,
                                           const TrainingExamples& examples, const Noise& noise,
                                           const JobControl& control) {
  std::vector<UtilityCurve> curves;
  for (const ClipNorm clip : question.goal().clip_norms) {
    const TrainingFile file = with_clip(base, clip);
    NF_TRY(TrainingSession session, begin_session(file, examples, question.machine));
    NF_TRY(const std::vector<float> weights, run_as_part(session, utility_run(question, clip, noise), control));
    NF_TRY(ReplayRandom random, ReplayRandom::create(1));
    NF_TRY(UtilityCurve curve, utility_curve(*session.model, weights, clip, question.goal().noise,
                                             question.goal().draws, *question.examples.test, random));
    curves.push_back(std::move(curve));
  }
  return curves;
}

std::string as_document(const std::vector<UtilityCurve>& curves) {
  Json list = Json::array();
  for (const UtilityCurve& curve : curves) {
    Json points = Json::array();
    for (const UtilityPoint& p : curve.points) {
      points.push_back(
          {{"noise_multiplier", p.noise.value()}, {"lowest", p.lowest}, {"mean", p.mean}, {"highest", p.highest}});
    }
    list.push_back({{"clip_norm", curve.clip.value()}, {"accuracy", curve.accuracy}, {"points", points}});
  }
  return Json{{"utility_graph", list}}.dump();
}

// Requires: as_document made the document, and its certificate was checked.
Result<std::vector<UtilityCurve>> from_document(const std::string& text) {
  const Json document = Json::parse(text);
  std::vector<UtilityCurve> curves;
  for (const Json& item : document.at("utility_graph")) {
    NF_TRY(const ClipNorm clip, ClipNorm::make(item.at("clip_norm").get<double>()));
    UtilityCurve curve{clip, item.at("accuracy").get<double>(), {}};
    for (const Json& p : item.at("points")) {
      NF_TRY(const NoiseMultiplier noise, NoiseMultiplier::make(p.at("noise_multiplier").get<double>()));
      curve.points.push_back({noise, p.at("lowest"), p.at("mean"), p.at("highest")});
    }
    curves.push_back(std::move(curve));
  }
  return curves;
}

Result<std::vector<UtilityCurve>> charged(const UtilityQuestion& question, Ledger& ledger, const JobControl& control) {
  NF_TRY(const UtilitySpend spend, utility_spend(question));
  ReleaseRequest request{spend.request};
  request.in_ledger = true;
  FileOutlet outlet((question.folder / "utility-graph.json").string(),
                    (question.folder / "utility-graph.certificate.json").string());
  NF_TRY(const TrainingSession session, begin_session(question.file, question.examples, question.machine));
  NF_TRY(const std::optional<StartPoint> start, start_of(session, &ledger));
  const auto run = [&](const CertifiedSpend& paid) -> Result<Draft> {
    NF_TRY(const std::vector<UtilityCurve> curves,
           measured(question, question.file, question.examples, spend.noise, control));
    NF_TRY(const DpStatement statement, paid_statement(ledger, paid.budget, paid.reservations, start));
    NF_TRY(Draft draft, document_draft(ReleaseKind::kUtilityGraph, question.file.training.name, as_document(curves),
                                       statement, question.delta, spend.request.note.configuration,
                                       data_declaration(session), question.machine.version));
    draft.certificate.start = start;
    return draft;
  };
  NF_TRY(const Released made, release_by(request, ledger, outlet, run));
  if (made.again && control.observer != nullptr) {
    control.observer->note("the utility graph was drawn before: nothing was spent");
  }
  NF_TRY(const std::optional<Document> document, read_document(made.release.bytes));
  return from_document(document->content);
}

}  // namespace

const char* in_words(UtilityData data) {
  switch (data) {
    case UtilityData::kPublic:
      return "a utility graph of the training data without noise";
    case UtilityData::kProxy:
      return "a utility graph of proxy data";
    case UtilityData::kBudgeted:
      break;
  }
  return "a utility graph of private trainings, which were charged";
}

Result<UtilitySpend> utility_spend(const UtilityQuestion& question) {
  const Training& training = question.file.training;
  NF_TRY(const Steps count, Steps::make(question.goal().clip_norms.size()));
  NF_TRY(TrainingSession session, begin_session(question.file, question.examples, question.machine));
  NF_TRY(const Steps in_all, Steps::make(session.steps.value() * count.value()));
  NF_TRY(const Noise noise, noise_of({question.goal().utility_epsilon, question.delta, {}}, training, session.sampler,
                                     in_all, *session.model));
  NF_TRY(DpStatement one, statement_of(session, utility_run(question, question.goal().clip_norms.front(), noise)));
  const DpStatement statement{one.adjacency, one.unit, SelfComposedEvent{count, std::move(one.event)}};
  const std::string digest = question.file.digest();
  ReserveRequest request{training.privacy.budget,
                         fmt::format("{}/utility-graph-{}", training.name, digest.substr(0, 16)), statement};
  request.delta = question.delta;
  request.blocks = description_of(training).chosen;
  request.note = {training.name,
                  "utility graph",
                  {"dp-sgd"},
                  Json{{"training_file", digest}, {"rows", session.count.units.value()}}.dump()};
  request.use = UseKind::kUtilityGraph;
  return UtilitySpend{std::move(request), noise};
}

Result<std::vector<UtilityCurve>> utility_graph(const UtilityQuestion& question, Ledger* ledger,
                                                const JobControl& control) {
  switch (question.goal().utility) {
    case UtilityData::kPublic:
      return measured(question, question.file, question.examples, {}, control);
    case UtilityData::kProxy: {
      TrainingExamples proxy;
      NF_TRY(proxy.train, read_examples_of(question.file, *question.goal().proxy, question.machine.threads));
      return measured(question, for_proxy(question.file, proxy.train), proxy, {}, control);
    }
    case UtilityData::kBudgeted:
      break;
  }
  if (ledger == nullptr)
    return invalid_argument("a utility graph of private data must be charged to a ledger: give one");
  return charged(question, *ledger, control);
}

std::string utility_table(const std::vector<UtilityCurve>& curves) {
  std::string csv = "clip_norm,accuracy,noise_multiplier,lowest,mean,highest\n";
  for (const UtilityCurve& curve : curves) {
    for (const UtilityPoint& p : curve.points) {
      csv += fmt::format("{:g},{:.6g},{:g},{:.6g},{:.6g},{:.6g}\n", curve.clip.value(), curve.accuracy, p.noise.value(),
                         p.lowest, p.mean, p.highest);
    }
  }
  return csv;
}

Result<UtilityChoice> choose_noise(const TrainingGoal& goal, const std::vector<UtilityCurve>& curves) {
  std::optional<UtilityChoice> best;
  double highest = 0;
  for (const UtilityCurve& curve : curves) {
    highest = std::max(highest, curve.accuracy);
    const double loss = goal.target_accuracy ? 1 - *goal.target_accuracy / curve.accuracy : goal.allowed_loss;
    if (loss < 0) continue;
    const auto choice = recommended(std::span(&curve, 1), loss);
    if (choice && (!best || choice->noise > best->noise)) best = choice;
  }
  if (best) return *best;
  if (goal.target_accuracy) {
    return invalid_argument(
        fmt::format("target_accuracy {:g} is out of reach with any of the noise_multipliers: the utility graph's best "
                    "model has {:.4f} without noise. Lower the target, try smaller noise_multipliers or train for "
                    "more epochs",
                    *goal.target_accuracy, highest));
  }
  return invalid_argument(fmt::format(
      "even the smallest of the noise_multipliers costs more than allowed_loss {:g}: try smaller ones, or smaller "
      "clip_norms",
      goal.allowed_loss));
}

}  // namespace noisefloor
