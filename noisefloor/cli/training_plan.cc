#include "noisefloor/cli/training_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/input.h"
#include "noisefloor/plan/closed_form.h"
#include "noisefloor/plan/exact.h"
#include "noisefloor/plan/utility_graph.h"
#include "noisefloor/release/document.h"
#include "noisefloor/report/chart.h"
#include "version.h"

namespace noisefloor::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxPlanBytes = std::size_t{16} << 20;
constexpr const char* kPlanName = "plan.json";
constexpr const char* kItem = "training";
constexpr double kRoundedDown = 1 - 1e-12;  // so that shares add up to no more than the whole

const char* in_words(UtilityData data) {
  switch (data) {
    case UtilityData::kPublic:
      return "a utility graph of the training data, which the file declares public";
    case UtilityData::kProxy:
      return "a utility graph of proxy data";
    case UtilityData::kBudgeted:
      break;
  }
  return "a utility graph of private trainings, which were charged";
}

Result<std::string> digest_of_file(const std::string& path) {
  NF_TRY(const std::string text, read_text(path));
  return to_hex(blake2b(text));
}

// What all of it is about.
struct Flow {
  const PlanTrainingOptions& options;
  const TrainingFile& file;
  const TrainingGoal& goal;
  const TrainingExamples& examples;
  std::size_t threads;
  std::filesystem::path folder;
  Epsilon target;        // of everything
  Delta delta;           // of each private use
  double utility_spent;  // of the target
  Ledger& ledger;

  [[nodiscard]] const Training& training() const { return file.training; }
};

Result<void> check(const TrainingFile& file, const TrainingExamples& examples) {
  const Training& training = file.training;
  if (!training.goal) {
    return invalid_argument(
        "the file has no [plan]: add it, with utility = \"public\", \"proxy\" or \"budgeted\" "
        "(docs/formats/training.md)");
  }
  if (!training.privacy.private_training) return invalid_argument("a training with noise = \"none\" needs no plan");
  if (training.descent.discrete_noise || training.descent.adaptive || !training.descent.clip ||
      !std::holds_alternative<FlatClip>(*training.descent.clip)) {
    return invalid_argument(R"(plans are for Gaussian noise and one clip norm: clipping = "flat", noise = "gaussian")");
  }
  if (!examples.test) return invalid_argument("there are no test data: give test or test_fraction under [data]");
  return success();
}

TrainingFile with_clip(const TrainingFile& file, ClipNorm clip) {
  TrainingFile changed = file;
  changed.training.descent.clip = FlatClip{clip};
  return changed;
}

RunRequest utility_run(const Flow& flow, ClipNorm clip, const Noise& noise) {
  return {.files = {},
          .key = {},
          .noise = noise,
          .delta = flow.delta,
          .replay_seed = {},
          .from = {},
          .title = fmt::format("utility graph, clip norm {:g}: ", clip.value()),
          .quiet = flow.options.quiet};
}

// Models trained with each clip norm, and what noise leaves of them.
Result<std::vector<UtilityCurve>> measured(const Flow& flow, const TrainingExamples& examples, const Noise& noise) {
  std::vector<UtilityCurve> curves;
  for (const ClipNorm clip : flow.goal.clip_norms) {
    const TrainingFile file = with_clip(flow.file, clip);
    NF_TRY(TrainingSession session, begin_session(file, examples, flow.threads));
    NF_TRY(const std::vector<float> weights, run_as_part(session, utility_run(flow, clip, noise)));
    NF_TRY(ReplayRandom random, ReplayRandom::create(1));
    NF_TRY(UtilityCurve curve,
           utility_curve(*session.model, weights, clip, flow.goal.noise, flow.goal.draws, *flow.examples.test, random));
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

// Requires a document that as_document made: its certificate was checked.
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

// All of its models are one release: reserved before the first is trained, and kept in the ledger, so that planning again
// costs nothing more.
Result<std::vector<UtilityCurve>> charged(const Flow& flow) {
  const Training& training = flow.training();
  NF_TRY(const Steps count, Steps::make(flow.goal.clip_norms.size()));
  NF_TRY(TrainingSession session, begin_session(flow.file, flow.examples, flow.threads));
  NF_TRY(const Steps in_all, Steps::make(session.steps.value() * count.value()));
  NF_TRY(const Noise noise,
         noise_of({flow.goal.utility_epsilon, flow.delta, {}}, training, session.sampler, in_all, *session.model));
  NF_TRY(DpEvent one, event_of(session, utility_run(flow, flow.goal.clip_norms.front(), noise)));
  const DpStatement statement{training.privacy.adjacency, PrivacyUnit::kRow, SelfComposedEvent{count, std::move(one)}};
  NF_TRY(const std::string digest, digest_of_file(flow.options.file));
  const std::string configuration = Json{{"training_file", digest}, {"rows", flow.examples.train.rows}}.dump();
  ReleaseRequest request{
      {training.privacy.budget, fmt::format("{}/utility-graph-{}", training.name, digest.substr(0, 16)), statement}};
  request.spend.delta = flow.delta;
  request.spend.note = {training.name, "utility graph", {"dp-sgd"}, configuration};
  request.in_ledger = true;
  FileOutlet outlet((flow.folder / "utility-graph.json").string(),
                    (flow.folder / "utility-graph.certificate.json").string());
  NF_TRY(const Released made, release_by(request, flow.ledger, outlet, [&](const CertifiedSpend&) -> Result<Draft> {
           NF_TRY(const std::vector<UtilityCurve> curves, measured(flow, flow.examples, noise));
           return document_draft(ReleaseKind::kUtilityGraph, training.name, as_document(curves), statement, flow.delta,
                                 configuration, kDataDeclaration, NOISEFLOOR_VERSION);
         }));
  if (made.again && !flow.options.quiet) fmt::print(stderr, "the utility graph was drawn before: nothing was spent\n");
  NF_TRY(const std::optional<Document> document, read_document(made.release.bytes));
  return from_document(document->content);
}

Chart chart_of(const Flow& flow, const std::vector<UtilityCurve>& curves) {
  Chart chart;
  chart.title = flow.training().name + ": what noise costs in accuracy";
  chart.subtitle =
      fmt::format("share of accuracy left with noise on the final weights, {} draws each", flow.goal.draws);
  chart.x_label = "noise multiplier";
  chart.y_label = "share of accuracy";
  chart.log_x = true;
  chart.marks = true;
  for (const UtilityCurve& curve : curves) {
    Chart::Series series{fmt::format("C = {:g}", curve.clip.value()), {}};
    for (const UtilityPoint& p : curve.points) series.points.push_back({p.noise.value(), p.lowest, p.highest});
    chart.series.push_back(std::move(series));
  }
  return chart;
}

std::string table_of(const std::vector<UtilityCurve>& curves) {
  std::string csv = "clip_norm,accuracy,noise_multiplier,lowest,mean,highest\n";
  for (const UtilityCurve& curve : curves) {
    for (const UtilityPoint& p : curve.points) {
      csv += fmt::format("{:g},{:.6g},{:g},{:.6g},{:.6g},{:.6g}\n", curve.clip.value(), curve.accuracy, p.noise.value(),
                         p.lowest, p.mean, p.highest);
    }
  }
  return csv;
}

// The most noise that leaves the goal within reach.
Result<UtilityChoice> chosen(const Flow& flow, const std::vector<UtilityCurve>& curves) {
  std::optional<UtilityChoice> best;
  double highest = 0;
  for (const UtilityCurve& curve : curves) {
    highest = std::max(highest, curve.accuracy);
    const double loss =
        flow.goal.target_accuracy ? 1 - *flow.goal.target_accuracy / curve.accuracy : flow.goal.allowed_loss;
    if (loss < 0) continue;
    const auto choice = recommended(std::span(&curve, 1), loss);
    if (choice && (!best || choice->noise > best->noise)) best = choice;
  }
  if (best) return *best;
  if (flow.goal.target_accuracy) {
    return invalid_argument(
        fmt::format("target_accuracy {:g} is out of reach with any of the noise_multipliers: the utility graph's best "
                    "model has {:.4f} "
                    "without noise. Lower the target, try smaller noise_multipliers or train for more epochs",
                    *flow.goal.target_accuracy, highest));
  }
  return invalid_argument(fmt::format(
      "even the smallest of the noise_multipliers costs more than allowed_loss {:g}: try smaller ones, or smaller "
      "clip_norms",
      flow.goal.allowed_loss));
}

Result<UtilityChoice> report_utility(Report& report, const Flow& flow) {
  std::error_code ignored;  // what cannot be made is said when it is written to
  std::filesystem::create_directories(flow.folder, ignored);
  std::vector<UtilityCurve> curves;
  if (flow.goal.utility == UtilityData::kBudgeted) {
    NF_TRY(curves, charged(flow));
  } else if (flow.goal.utility == UtilityData::kProxy) {
    TrainingExamples proxy;
    NF_TRY(proxy.train, read_examples_of(flow.file, *flow.goal.proxy, flow.threads));
    NF_TRY(curves, measured(flow, proxy, {}));
  } else {
    NF_TRY(curves, measured(flow, flow.examples, {}));
  }
  const std::string svg = (flow.folder / "utility-graph.svg").string();
  const std::string csv = (flow.folder / "utility-graph.csv").string();
  if (flow.goal.noise.size() > 1) NF_TRY_VOID(write_file(svg, to_svg(chart_of(flow, curves))));
  NF_TRY_VOID(write_file(csv, table_of(curves)));
  NF_TRY(const UtilityChoice choice, chosen(flow, curves));
  Json clips = Json::array();
  for (const UtilityCurve& curve : curves) {
    clips.push_back({{"clip_norm", curve.clip.value()}, {"accuracy", curve.accuracy}});
    report.line(fmt::format("clip norm {:g}", curve.clip.value()),
                fmt::format("accuracy {:.4f} before noise is added", curve.accuracy));
  }
  report.set("utility_graph", Json{{"data", in_words(flow.goal.utility)},
                                   {"svg", svg},
                                   {"csv", csv},
                                   {"models", clips},
                                   {"clip_norm", choice.clip.value()},
                                   {"noise_multiplier", choice.noise.value()}});
  report.line("utility graph", fmt::format("{}: at most noise {:.4g}, with clip norm {:g}", svg, choice.noise.value(),
                                           choice.clip.value()));
  return choice;
}

// The phase before, as it was trained.
struct Earlier {
  PlanFile plan;
  std::string model;
};

Result<Earlier> read_earlier(const PlanTrainingOptions& o) {
  const std::filesystem::path folder = o.after;
  NF_TRY(SignedPlan read, read_plan((folder / kPlanName).string(), o.file));
  if (read.plan.phase >= read.plan.phases) {
    return invalid_argument(fmt::format(
        "that was the last of {} phases, for which delta was divided before anything was spent: the training ends here",
        read.plan.phases));
  }
  std::error_code error;
  const std::filesystem::path model = std::filesystem::absolute(folder / "model.safetensors", error);
  if (error || !std::filesystem::exists(model, error)) {
    return invalid_argument(fmt::format("{} has no model: train by its plan first", noisefloor::shown(o.after)));
  }
  return Earlier{std::move(read.plan), model.string()};
}

Result<UtilityChoice> next_choice(const PlanTrainingOptions& o, const PlanFile& before) {
  double noise = before.noise.value() / 2;
  if (!o.noise_multiplier.empty()) {
    NF_TRY(noise, parse_number("--noise-multiplier", o.noise_multiplier));
  }
  NF_TRY(const NoiseMultiplier multiplier, NoiseMultiplier::make(noise));
  if (multiplier >= before.noise) {
    return invalid_argument(fmt::format("a next phase has less noise than the one before, {:g}; {:g} was given",
                                        before.noise.value(), noise));
  }
  return UtilityChoice{before.clip, multiplier};
}

// What this phase may cost: its even share of what is left, and if others may follow, no more than the closed form takes.
Result<Epsilon> epsilon_of_phase(const Flow& flow, const UtilityChoice& choice, std::uint64_t phase, double before) {
  const double left = flow.target.value() - flow.utility_spent - before;
  if (!(left > 0)) {
    return budget_exhausted(fmt::format("nothing is left of epsilon {:g}: {:g} was spent before", flow.target.value(),
                                        flow.utility_spent + before));
  }
  const double usual = proactive::epsilon_for(choice.noise.value(), flow.delta.value());
  return Epsilon::make(
      std::min(left / static_cast<double>(flow.goal.phases - phase + 1), phase < flow.goal.phases ? usual : left));
}

// Up to the noise that the utility graph allows: the least that keeps ε with the file's own batch, which is the better model;
// or, where that is too much or later phases are to have less, all of it, with the largest batch that keeps ε.
Result<ExactPlan> exact_plan(const ExactQuestion& question, const UtilityChoice& choice, Rows batch,
                             std::uint64_t phases) {
  if (phases == 1) {
    Result<ExactPlan> least = exact_for_size(question, batch);
    if (least.has_value() && least.value().noise <= choice.noise) return least;
  }
  return exact_for_noise(question, choice.noise);
}

Result<std::string> set_aside(const Flow& flow, PlanFile& plan) {
  NF_TRY_VOID(ensure_budget(flow.ledger, flow.training().privacy));
  const std::string name =
      fmt::format("{}/plan-{}", flow.training().privacy.budget, to_hex(digest_of(plan)).substr(0, 8));
  NF_TRY(const Epsilon epsilon, Epsilon::make(plan.certified.upper));
  BudgetTerms terms{name,
                    epsilon,
                    plan.delta,
                    plan.statement.adjacency,
                    plan.statement.unit,
                    Rule::kPlanned,
                    default_failures(Rule::kPlanned)};
  terms.plan = {{kItem, plan.statement.event, Steps::of(1)}};
  terms.parent = flow.training().privacy.budget;
  NF_TRY_VOID(flow.ledger.create_budget(terms));
  return name;
}

void report_plan(Report& report, const PlanFile& plan, const std::optional<ClosedFormPlan>& closed,
                 const std::string& path) {
  report.line("phase", fmt::format("{} of at most {}", plan.phase, plan.phases));
  report.line("plan", fmt::format("clip norm {:g}, noise {:.6g}, {} steps of {} out of {} rows", plan.clip.value(),
                                  plan.noise.value(), plan.steps.value(), plan.batch.value(), plan.rows.value()));
  report.line("epsilon", fmt::format("{} at delta {:.4g}", shown_interval(plan.certified.lower, plan.certified.upper),
                                     plan.delta.value()));
  if (closed) {
    report.line("closed form", fmt::format("{} rounds of {}: {:.3g} times as many", closed->setting.sizes.rounds(),
                                           closed->setting.sizes.largest(),
                                           static_cast<double>(closed->setting.sizes.rounds()) /
                                               static_cast<double>(plan.steps.value())));
    report.set("closed_form", Json{{"rounds", closed->setting.sizes.rounds()},
                                   {"batch", closed->setting.sizes.largest()},
                                   {"epsilon", closed->setting.epsilon.value()},
                                   {"gamma", closed->gamma}});
  }
  report.set("phase", plan.phase);
  report.set("clip_norm", plan.clip.value());
  report.set("noise_multiplier", plan.noise.value());
  report.set("batch", plan.batch.value());
  report.set("steps", plan.steps.value());
  report.set("epsilon", interval_json(plan.certified.lower, plan.certified.upper));
  report.set("delta", plan.delta.value());
  report.set("reserved", !plan.item.empty());
  report.set("plan", path);
  report.line("file", path + (plan.item.empty() ? "" : ", set aside in the ledger as " + plan.budget));
}

}  // namespace

Result<Report> plan_training(const PlanTrainingOptions& o) {
  NF_TRY(const TrainingFile file, read_training_file(o.file));
  const Training& training = file.training;
  NF_TRY(const std::size_t threads, parse_threads(o.threads));
  NF_TRY(const std::string digest, digest_of_file(o.file));
  std::optional<Earlier> earlier;
  if (!o.after.empty()) {
    NF_TRY(earlier, read_earlier(o));
  } else if (!o.noise_multiplier.empty()) {
    return invalid_argument("--noise-multiplier is for a next phase (--after), or for a plan from numbers alone");
  }
  NF_TRY(const TrainingExamples examples, read_examples(file, threads));
  NF_TRY_VOID(check(file, examples));
  const TrainingGoal& goal = *training.goal;
  const bool budgeted = goal.utility == UtilityData::kBudgeted;
  const std::size_t uses = goal.phases + (budgeted ? 1 : 0);
  const Epsilon target = training.privacy.target_epsilon.value_or(training.privacy.epsilon);
  NF_TRY(const BatchSampler sampler, sampler_of(training, examples.train.rows));
  const double one_row = 1 / static_cast<double>(sampler.rows().value());
  const double whole_delta = std::min(training.privacy.target_delta.value(), one_row);
  NF_TRY(const Delta delta, Delta::make(whole_delta / static_cast<double>(uses) * kRoundedDown));
  NF_TRY(const Steps steps, steps_of(training.descent, sampler));
  NF_TRY(const OpenedLedger opened, open_or_create(o));
  if (budgeted && !earlier) NF_TRY_VOID(ensure_budget(*opened.ledger, training.privacy));
  const std::filesystem::path folder = o.output.empty() ? training.name + "-plan" : o.output;
  const Flow flow{o,
                  file,
                  goal,
                  examples,
                  threads,
                  folder,
                  target,
                  delta,
                  budgeted ? goal.utility_epsilon->value() : 0,
                  *opened.ledger};
  for (const std::string& warning : file.warnings) fmt::print(stderr, "warning: {}\n", warning);

  Report report(fmt::format("Plan for {} at epsilon {:g}", training.name, target.value()));
  NF_TRY(const UtilityChoice choice, earlier ? next_choice(o, earlier->plan) : report_utility(report, flow));
  const std::uint64_t phase = earlier ? earlier->plan.phase + 1 : 1;
  const double before = earlier ? earlier->plan.epsilon_before + earlier->plan.certified.upper : 0;
  NF_TRY(const Epsilon epsilon, epsilon_of_phase(flow, choice, phase, before));
  const Rows rows = sampler.rows();
  const ExactQuestion question{
      .rows = rows,
      .epochs = static_cast<double>(steps.value()) * sampler.rate().value(),
      .target = {training.privacy.adjacency, epsilon, delta},
      .draw = training.descent.sampler == SamplerKind::kFixedSize ? Draw::kFixedSize : Draw::kPoisson};
  NF_TRY(const ExactPlan exact, exact_plan(question, choice, training.descent.batch_size, goal.phases));
  std::optional<ClosedFormPlan> closed;
  if (question.draw == Draw::kPoisson && training.privacy.adjacency == Adjacency::kAddRemove) {
    auto made = closed_form_plan({rows, question.epochs, delta}, exact.noise);
    if (made.has_value()) {
      NF_TRY(const Interval cost, certified_epsilon(made.value().setting));
      if (cost.upper <= made.value().setting.epsilon.value()) closed = std::move(made).value();
    }
  }
  NF_TRY(const Rows batch, Rows::make(exact.sizes.largest()));
  NF_TRY(const Steps rounds, Steps::make(exact.sizes.rounds()));
  PlanFile plan{training.name,
                digest,
                rows,
                choice.clip,
                exact.noise,
                batch,
                rounds,
                epsilon,
                delta,
                {training.privacy.adjacency, PrivacyUnit::kRow, exact.event},
                exact.epsilon,
                goal.target_accuracy,
                earlier ? "the phase before, with less noise" : in_words(goal.utility),
                phase,
                goal.phases,
                before,
                earlier ? earlier->model : "",
                training.privacy.budget,
                ""};
  if (o.reserve) {
    NF_TRY(plan.budget, set_aside(flow, plan));
    plan.item = kItem;
  }
  NF_TRY(const std::string key_file, key_file_of(o));
  NF_TRY(const SigningKey key, SigningKey::load(key_file));
  const std::string path = (folder / (phase == 1 ? kPlanName : fmt::format("plan-{}.json", phase))).string();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  NF_TRY_VOID(write_file(path, to_json(plan, key)));
  report_plan(report, plan, closed, path);
  if (whole_delta < training.privacy.target_delta.value()) {
    report.remark(
        fmt::format("delta {:g} is above 1/rows, at which a record could be published outright: the plan keeps "
                    "{:.4g}.",
                    training.privacy.target_delta.value(), whole_delta));
  }
  report.remark(fmt::format("Next: noisefloor train {} --plan {}", o.file, path));
  if (goal.utility == UtilityData::kPublic && !earlier) {
    report.remark("The utility graph was computed on the training data without noise: it is public only if they are.");
  }
  return report;
}

// --- Following one ----------------------------------------------------------------------------------------------------------

Result<SignedPlan> read_plan(const std::string& path, const std::string& training_file) {
  NF_TRY(const std::string text, read_file(path, kMaxPlanBytes));
  NF_TRY(SignedPlan read, parse_plan_file(text));
  NF_TRY(const std::string digest, digest_of_file(training_file));
  if (digest == read.plan.training) return read;
  return invalid_argument(
      fmt::format("{} is not the file that the plan was made for, or has changed since: make another plan",
                  noisefloor::shown(training_file)));
}

void follow_plan(const PlanFile& plan, Training& training) {
  training.descent.clip = FlatClip{plan.clip};
  training.descent.batch_size = plan.batch;
  training.descent.steps = plan.steps;
  training.privacy.budget = plan.budget;
  if (!plan.start_from.empty()) training.model.start_from = plan.start_from;
}

std::string key_of(const PlanFile& plan) { return "plan-" + to_hex(digest_of(plan)).substr(0, 32); }

Result<void> expect_rows(const PlanFile& plan, std::size_t rows) {
  if (rows == plan.rows.value()) return success();
  return invalid_argument(fmt::format("the plan is for {} rows of training data, and there are {}: make another plan",
                                      plan.rows.value(), rows));
}

Result<void> expect_signer(const SignedPlan& plan, Ledger& ledger) {
  return ledger.read([&](const LedgerState& state) -> Result<void> {
    if (state.genesis().key == plan.key) return success();
    return verification_failed("the plan was signed with the key of another ledger: name that one with --ledger");
  });
}

Result<void> finish_plan(Report& report, const SignedPlan& signed_plan, const std::string& path,
                         const OutputFiles& files, const std::string& training_file, TrainableModel& model,
                         std::span<const float> weights, const TrainingExamples& examples) {
  const PlanFile& plan = signed_plan.plan;
  NF_TRY(const std::string text, read_file(path, kMaxPlanBytes));
  NF_TRY_VOID(write_file((files.folder / kPlanName).string(), text));
  report.set("phase", plan.phase);
  if (!plan.target_accuracy || !examples.test) return success();
  const double accuracy = model.quality(weights, *examples.test).accuracy.value_or(0);
  Json json{{"target_accuracy", *plan.target_accuracy}, {"accuracy", accuracy}};
  if (accuracy >= *plan.target_accuracy) {
    json["decision"] = "done";
    report.line("target", fmt::format("accuracy {:.4f} is at least {:g}: done", accuracy, *plan.target_accuracy));
  } else if (plan.phase < plan.phases) {
    json["decision"] = "next phase";
    report.line("target", fmt::format("accuracy {:.4f} is below {:g}: a next phase, with less noise", accuracy,
                                      *plan.target_accuracy));
    report.remark(fmt::format("Next: noisefloor plan {} --after {}", training_file, files.folder.string()));
  } else {
    json["decision"] = "stop";
    report.line("target", fmt::format("accuracy {:.4f} is below {:g}, and this was the last phase: stop", accuracy,
                                      *plan.target_accuracy));
  }
  report.set("target", std::move(json));
  return success();
}

}  // namespace noisefloor::cli
