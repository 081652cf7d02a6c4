#include "noisefloor/config/pate.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/config/training_sections.h"

namespace noisefloor {
namespace {

using internal::BudgetKeys;
using internal::BudgetOf;
using internal::DataKind;
using internal::DataSection;
using internal::kAboveZero;
using internal::kBelowOne;
using internal::kBetweenZeroAndOne;
using internal::kNotNegative;
using internal::ModelSection;
using internal::Names;
using internal::names_of;
using internal::SectionReader;
using internal::selector;

constexpr std::size_t kMaxTeachers = 100'000;
constexpr std::size_t kMaxVotes = std::size_t{1} << 30;
constexpr std::size_t kMaxHeldOut = std::size_t{1} << 40;
constexpr std::size_t kMaxRounds = 100;
constexpr std::size_t kMaxComponents = 4096;
constexpr std::size_t kMaxNeighbours = 1000;

constexpr std::array<std::string_view, 4> kAggregatorNames{"lnmax", "gnmax", "confident-gnmax", "interactive-gnmax"};
constexpr std::array<std::string_view, 2> kTeacherNames{"network", "spread"};
constexpr std::array<std::string_view, 2> kStudentNames{"supervised", "spread"};

constexpr Names<Aggregator, 4> kAggregators{{{kAggregatorNames[0], Aggregator::kLnMax},
                                             {kAggregatorNames[1], Aggregator::kGnMax},
                                             {kAggregatorNames[2], Aggregator::kConfident},
                                             {kAggregatorNames[3], Aggregator::kInteractive}}};
constexpr Names<TeacherKind, 2> kTeachers{
    {{kTeacherNames[0], TeacherKind::kNetwork}, {kTeacherNames[1], TeacherKind::kSpread}}};
constexpr Names<StudentKind, 2> kStudents{
    {{kStudentNames[0], StudentKind::kSupervised}, {kStudentNames[1], StudentKind::kSpread}}};
constexpr auto kOptimizers = names_of<OptimizerKind>(OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kAdamW,
                                                     OptimizerKind::kAdagrad, OptimizerKind::kRmsProp);

// How a network without noise learns: the keys that teachers and student have in common.
struct Learning {
  double epochs = 0;
  Rows batch_size;
  Optimizer::Options optimizer{.kind = OptimizerKind::kAdam};
  double learning_rate = 0;

  void read(SectionReader& reader) {
    Located<double> stated_epochs;
    Located<Rows> stated_batch;
    Located<double> rate;
    Located<OptimizerKind> kind;
    Located<double> momentum;
    Located<double> decay;
    reader.number("epochs", stated_epochs, kAboveZero);
    reader.quantity("batch_size", stated_batch);
    reader.number("learning_rate", rate, kAboveZero);
    reader.choice("optimizer", kOptimizers, kind);
    const auto chosen = selector("optimizer", kOptimizers, kind, std::optional(optimizer.kind));
    if (reader.takes("momentum", chosen, {OptimizerKind::kSgd})) reader.number("momentum", momentum, kBelowOne);
    reader.number("weight_decay", decay, kNotNegative);
    if (kind.value == OptimizerKind::kSgd) {
      reader.require("learning_rate", rate, "add learning_rate = …, the length of the first steps");
    }
    epochs = stated_epochs.value.value_or(epochs);
    batch_size = stated_batch.value.value_or(batch_size);
    learning_rate = rate.value.value_or(learning_rate);
    optimizer.kind = kind.value.value_or(optimizer.kind);
    optimizer.momentum = momentum.value.value_or(0);
    optimizer.weight_decay = decay.value.value_or(0);
  }
};

// How labels are spread: the keys that teachers and student have in common.
struct SpreadingKeys {
  Located<std::size_t> components;
  Located<std::size_t> neighbours;
  Located<double> smoothing;

  // Where `chosen` is not `use`, the keys would do nothing.
  template <class Chosen, class Kind>
  void read(SectionReader& reader, const Chosen& chosen, Kind use) {
    if (reader.takes("components", chosen, {use})) reader.size("components", 1, kMaxComponents, components);
    if (reader.takes("neighbours", chosen, {use})) reader.size("neighbours", 1, kMaxNeighbours, neighbours);
    if (reader.takes("smoothing", chosen, {use})) reader.number("smoothing", smoothing, kBetweenZeroAndOne);
  }
  [[nodiscard]] PateSpreading made() const {
    const PateSpreading usual;
    return {components.value.value_or(usual.components), neighbours.value.value_or(usual.neighbours),
            smoothing.value.value_or(usual.smoothing)};
  }
};

struct TeacherKeys {
  Located<TeacherKind> kind;
  SpreadingKeys spreading;
  Located<std::size_t> count;
  Located<std::uint64_t> seed;
  Learning learning{.epochs = 40, .batch_size = Rows::of(32), .learning_rate = 1e-2};

  void read(const toml::table& table, Findings& findings) {
    SectionReader reader(table, "[teachers]", findings);
    reader.size("count", 2, kMaxTeachers, count);
    reader.require("count", count, "add count = …, the number of teachers: each learns from its own part of the rows");
    reader.choice("kind", kTeachers, kind);
    const auto chosen = selector("kind", kTeachers, kind, std::optional(TeacherKind::kNetwork));
    spreading.read(reader, chosen, TeacherKind::kSpread);
    if (kind.value == TeacherKind::kSpread) {
      for (const char* key :
           {"epochs", "batch_size", "learning_rate", "optimizer", "momentum", "weight_decay", "seed"}) {
        (void)reader.takes(key, chosen, {TeacherKind::kNetwork});
      }
    } else {
      reader.count("seed", seed);
      learning.read(reader);
    }
    for (const char* key : {"noise_multiplier", "clip_norm", "target_epsilon"}) {
      reader.elsewhere(key, "teachers learn without noise, and are never released: noise is on their votes ([votes])");
    }
    reader.finish();
  }
};

struct PoolKeys {
  Located<std::string> file;
  Located<std::size_t> held_out;

  void read(const toml::table& table, Findings& findings) {
    SectionReader reader(table, "[public]", findings);
    reader.text("file", file);
    reader.require("file", file, "add file = \"…\", public examples in the format of [data]; labels are not read");
    reader.size("held_out", 0, kMaxHeldOut, held_out);
    reader.elsewhere("labels", "labels of public examples are not read: teachers give them");
    reader.finish();
  }
};

struct VoteKeys {
  Located<Aggregator> aggregator;
  Located<NoiseScale> noise;
  Located<std::size_t> threshold;
  Located<NoiseScale> threshold_noise;
  Located<Steps> queries;
  Located<Steps> answers;
  Located<Epsilon> target_epsilon;
  Located<Delta> target_delta;
  Located<std::uint64_t> order_seed;
  Located<std::size_t> rounds;
  Located<double> own_confidence;
  std::optional<PateSanitised> sanitised;

  void read(const toml::table& table, const BudgetKeys& budget, const TeacherKeys& teachers, Findings& findings) {
    SectionReader reader(table, "[votes]", findings);
    reader.choice("aggregator", kAggregators, aggregator);
    const auto chosen = selector("aggregator", kAggregators, aggregator, std::optional(Aggregator::kConfident));
    reader.quantity("noise", noise);
    reader.require("noise", noise, "add noise = …, the noise on each count, in votes");
    const std::initializer_list<Aggregator> with_threshold{Aggregator::kConfident, Aggregator::kInteractive};
    if (reader.takes("threshold", chosen, with_threshold)) reader.size("threshold", 1, kMaxTeachers, threshold);
    if (reader.takes("threshold_noise", chosen, with_threshold)) reader.quantity("threshold_noise", threshold_noise);
    reader.quantity("queries", queries);
    if (reader.takes("answers", chosen, with_threshold)) reader.quantity("answers", answers);
    if (chosen.value && has_threshold(*chosen.value)) {
      reader.require("threshold", threshold, "add threshold = …, the votes from which teachers agree enough");
      reader.require("threshold_noise", threshold_noise, "add threshold_noise = …, the noise on the largest count");
      reader.require("queries", queries, "add queries = …: each one costs its comparison, answered or not");
    }
    if (reader.takes("rounds", chosen, {Aggregator::kInteractive})) reader.size("rounds", 2, kMaxRounds, rounds);
    if (reader.takes("own_confidence", chosen, {Aggregator::kInteractive})) {
      reader.number("own_confidence", own_confidence, kBetweenZeroAndOne);
    }
    reader.quantity("target_epsilon", target_epsilon);
    reader.quantity("target_delta", target_delta);
    reader.count("order_seed", order_seed);
    read_sanitised(reader, findings);
    reader.finish();
    check(reader, budget, teachers);
  }

 private:
  void read_sanitised(SectionReader& reader, Findings& findings) {
    const toml::table* table = reader.section("sanitised");
    if (table == nullptr) return;
    SectionReader keys(*table, "[votes.sanitised]", findings);
    Located<double> order;
    Located<double> smoothness;
    Located<NoiseScale> sanitising_noise;
    Located<Delta> delta;
    keys.number("order", order, kAboveZero);
    keys.number("smoothness", smoothness, kAboveZero);
    keys.quantity("noise", sanitising_noise);
    keys.quantity("delta", delta);
    keys.require("order", order, "add order = …, of the Rényi divergence, chosen without looking at the votes");
    keys.require("delta", delta, "add delta = …, the part of delta that this number takes");
    keys.finish();
    if (order.has() && *order <= 1) {
      keys.error("out_of_range", order.place, fmt::format("order is {:g}, and must be above 1", *order),
                 "give an order above 1, such as 20");
    }
    if (order.has() && smoothness.has() && 2 * *order * *smoothness >= 1) {
      keys.error(
          "out_of_range", smoothness.place,
          fmt::format("smoothness is {:g}, and must be below 1/(2 order) = {:.6g}", *smoothness, 1 / (2 * *order)),
          "leave it out for 0.4/order");
    }
    if (delta.has() && delta.value->value() == 0) {
      keys.error("out_of_range", delta.place, "delta is 0, and the number has Gaussian noise",
                 "give a part of the total that is above 0");
    }
    if (aggregator.has() && *aggregator == Aggregator::kLnMax) {
      keys.error("conflicting_keys", keys.place(), "a sanitised cost is known for Gaussian noise alone",
                 "leave [votes.sanitised] out, or take another aggregator");
    }
    if (!keys.good() || !order.has() || !delta.has() || *order <= 1) return;
    sanitised = PateSanitised{*order, smoothness.value.value_or(0.4 / *order),
                              sanitising_noise.value.value_or(NoiseScale::of(20)), *delta};
  }

  void check(SectionReader& reader, const BudgetKeys& budget, const TeacherKeys& teachers) const {
    if (threshold.has() && teachers.count.has() && *threshold > *teachers.count) {
      reader.error("out_of_range", threshold.place,
                   fmt::format("threshold = {} is above the number of teachers, {}", *threshold, *teachers.count),
                   "give a number of votes that can be reached, such as four fifths of the teachers");
    }
    if (queries.has() && answers.has() && answers.value->value() > queries.value->value()) {
      reader.error("out_of_range", answers.place,
                   fmt::format("answers = {} is above queries = {}", answers.value->value(), queries.value->value()),
                   "each query is answered once at most: give no more answers than queries");
    }
    if (target_epsilon.has() && budget.epsilon.has() && *target_epsilon > *budget.epsilon) {
      reader.error("target_above_total", target_epsilon.place,
                   fmt::format("target_epsilon = {:g} is above the total of {:g}", target_epsilon.value->value(),
                               budget.epsilon.value->value()),
                   "give at most the total; or raise epsilon in [budget]");
    }
    const Located<Delta>& delta = target_delta.stated() ? target_delta : budget.delta;
    if (target_delta.has() && budget.delta.has() && *target_delta > *budget.delta) {
      reader.error("target_above_total", target_delta.place,
                   fmt::format("target_delta = {:g} is above the total of {:g}", target_delta.value->value(),
                               budget.delta.value->value()),
                   "give at most the total; or raise delta in [budget]");
    }
    if (delta.has() && delta.value->value() == 0 && aggregator.value != Aggregator::kLnMax) {
      reader.error("gaussian_needs_delta", delta.place,
                   "delta is 0, and votes get Gaussian noise: no epsilon is enough",
                   "set delta well below 1/rows; or take aggregator = \"lnmax\"");
    }
    if (sanitised && delta.has() && sanitised->delta >= *delta) {
      reader.error("target_above_total", delta.place,
                   fmt::format("delta of [votes.sanitised] is {:g}, and all of {:g} is not left for the votes",
                               sanitised->delta.value(), delta.value->value()),
                   "give it a tenth of the total");
    }
  }
};

struct StudentKeys {
  Located<StudentKind> kind;
  SpreadingKeys spreading;
  Learning learning{.epochs = 20, .batch_size = Rows::of(64), .learning_rate = 3e-3};

  void read(const toml::table& table, Findings& findings) {
    SectionReader reader(table, "[student]", findings);
    reader.choice("kind", kStudents, kind);
    const auto chosen = selector("kind", kStudents, kind, std::optional(StudentKind::kSpread));
    spreading.read(reader, chosen, StudentKind::kSpread);
    learning.read(reader);
    reader.finish();
  }
};

TrainingDescent descent_of(const Learning& learning) {
  TrainingDescent descent{.batch_size = learning.batch_size,
                          .steps = {},
                          .epochs = learning.epochs,
                          .clip = {},
                          .adaptive = {},
                          .optimizer = learning.optimizer,
                          .learning_rate = {},
                          .augmentation = {}};
  descent.learning_rate.initial = learning.learning_rate;
  return descent;
}

std::optional<Pate> read_document(const toml::table& document, const ReadNamedFile& named, Findings& findings) {
  SectionReader reader(document, "the file", findings);
  const Located<std::string> name = internal::read_name(reader, "what people call the student");
  const bool names_dataset = static_cast<bool>(document["data"]["dataset"]);
  const toml::table* budget_table = names_dataset ? reader.section("budget") : reader.required_section("budget");
  const toml::table* data_table = reader.required_section("data");
  const toml::table* model_table = reader.required_section("model");
  const toml::table* teachers_table = reader.required_section("teachers");
  const toml::table* pool_table = reader.required_section("public");
  const toml::table* votes_table = reader.required_section("votes");
  const toml::table* student_table = reader.section("student");
  reader.elsewhere("training", "teachers learn as [teachers] says, and the student as [student] says");
  reader.finish();

  DataSection data;
  if (data_table != nullptr) data = internal::read_data_section(*data_table, named, findings);
  if (data.has_target || data.kind == DataKind::kText) {
    reader.error("data_do_not_fit", {}, "teachers vote for classes, and these data have none",
                 "give data with a label and its classes");
  }
  if (data.data.test_fraction > 0 || data.data.validation_fraction > 0) {
    reader.error("data_do_not_fit", {}, "test_fraction and validation_fraction would keep rows from private data",
                 "measure the student by public rows: test = … under [data]");
  }
  BudgetKeys budget;
  if (data.data.dataset && !data.data.dataset->is_public()) {
    budget = internal::budget_of(data);
    reader.elsewhere("budget", "the dataset that [data] names has the budget of all of its uses: remove [budget] here");
  } else if (budget_table != nullptr) {
    budget = internal::read_budget_section(*budget_table, BudgetOf::kTraining, findings);
  } else if (data.data.dataset) {
    reader.missing("section_missing", "[budget]", "add [budget]: the dataset is public and has none");
  }
  ModelSection model;
  if (model_table != nullptr) model = internal::read_model_section(*model_table, data, findings);
  if (model.model.start_from) {
    reader.error("key_not_used", {}, "start_from is for one network, and there are many teachers",
                 "leave it out: all teachers start from weights that depend on the seed alone");
  }
  TeacherKeys teachers;
  PoolKeys pool;
  VoteKeys votes;
  StudentKeys student;
  if (teachers_table != nullptr) teachers.read(*teachers_table, findings);
  if (pool_table != nullptr) pool.read(*pool_table, findings);
  if (votes_table != nullptr) votes.read(*votes_table, budget, teachers, findings);
  if (student_table != nullptr) student.read(*student_table, findings);
  if (has_errors(findings.list())) return std::nullopt;

  const Epsilon target = votes.target_epsilon.value.value_or(*budget.epsilon);
  const Delta delta = votes.target_delta.value.value_or(*budget.delta);
  const bool idx = data.kind == DataKind::kIdx;
  const PrivacyUnit unit = data.unit;
  Pate pate{.teachers = Training{.name = *name,
                                 .data = std::move(data.data),
                                 .model = std::move(model.model),
                                 .privacy = {.budget = budget.name.value.value_or(*name),
                                             .epsilon = *budget.epsilon,
                                             .delta = *budget.delta,
                                             .adjacency = *budget.neighbours(),
                                             .unit = unit,
                                             .target_epsilon = target,
                                             .target_delta = delta,
                                             .noise_multiplier = {}},
                                 .descent = descent_of(teachers.learning)},
            .count = *teachers.count,
            .kind = teachers.kind.value.value_or(TeacherKind::kNetwork),
            .spreading = teachers.spreading.made(),
            .seed = teachers.seed.value.value_or(0),
            .pool = idx ? ExampleFiles(IdxFiles{*pool.file, ""}) : ExampleFiles(TextFile{*pool.file}),
            .held_out = pool.held_out.value.value_or(0),
            .votes = {.aggregator = votes.aggregator.value.value_or(Aggregator::kConfident),
                      .noise = *votes.noise,
                      .threshold = static_cast<std::uint32_t>(votes.threshold.value.value_or(0)),
                      .threshold_noise = votes.threshold_noise.value,
                      .queries = votes.queries.value,
                      .answers = votes.answers.value,
                      .target_epsilon = target,
                      .target_delta = delta,
                      .order_seed = votes.order_seed.value.value_or(0),
                      .own_confidence = votes.own_confidence.value.value_or(0.9)},
            .sanitised = votes.sanitised,
            .student = {.batch_size = student.learning.batch_size}};
  if (pate.votes.aggregator == Aggregator::kInteractive) pate.votes.rounds = votes.rounds.value.value_or(2);
  PateStudent& made = pate.student;
  made.kind = student.kind.value.value_or(made.kind);
  made.spreading = student.spreading.made();
  made.epochs = student.learning.epochs;
  made.optimizer = student.learning.optimizer;
  made.learning_rate = student.learning.learning_rate;
  if (pate.votes.queries && pate.votes.queries->value() > kMaxVotes) return std::nullopt;
  return pate;
}

std::string path_of(const ExampleFiles& files) {
  if (const auto* idx = std::get_if<IdxFiles>(&files)) return idx->images;
  return std::get<TextFile>(files).path;
}

}  // namespace

std::string_view name_of(Aggregator aggregator) { return kAggregatorNames.at(static_cast<std::size_t>(aggregator)); }

std::string_view name_of(TeacherKind kind) { return kTeacherNames.at(static_cast<std::size_t>(kind)); }

std::string_view name_of(StudentKind kind) { return kStudentNames.at(static_cast<std::size_t>(kind)); }

bool Pate::tests_held_out() const { return teachers.data.test && path_of(*teachers.data.test) == path_of(pool); }

PateText read_pate(std::string_view text, const ReadNamedFile& named) {
  PateText result;
  Findings findings;
  const auto document =
      internal::parse_document(text, "leave out comments, or values that \"other\" can stand for", findings);
  if (document) result.pate = read_document(*document, named, findings);
  result.findings = findings.sorted();
  return result;
}

bool is_pate(std::string_view text) {
  Findings ignored;
  const auto document = internal::parse_document(text, "", ignored);
  return document && document->contains("votes");
}

}  // namespace noisefloor
