#include "noisefloor/pate/pate_job.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/accounting/rdp.h"
#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/overloaded.h"
#include "noisefloor/base/text.h"
#include "noisefloor/event/json.h"
#include "noisefloor/pate/student.h"
#include "noisefloor/random/uniform.h"
#include "noisefloor/release/answer_road.h"
#include "noisefloor/release/paid_statement.h"
#include "noisefloor/training/examples.h"
#include "noisefloor/training/exposing.h"
#include "noisefloor/training/model_release.h"
#include "noisefloor/training/payer.h"
#include "noisefloor/training/run_notes.h"

namespace noisefloor {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr const char* kPublicExamples = "the public examples";
// From this share of the public examples on, they are taken to be rows of the private data.
constexpr double kSharedRows = 0.1;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string digest_of_examples(const Dataset& data) {
  const std::string_view bytes(reinterpret_cast<const char*>(data.features.data()),  // NOLINT: as bytes
                               data.features.size() * sizeof(float));
  return to_hex(blake2b(bytes));
}

template <class Number>
std::string digest_of_numbers(const std::vector<Number>& numbers) {
  return to_hex(blake2b({reinterpret_cast<const char*>(numbers.data()),  // NOLINT: as bytes
                         numbers.size() * sizeof(Number)}));
}

std::string path_of(const ExampleFiles& files) {
  if (const auto* idx = std::get_if<IdxFiles>(&files)) return idx->images;
  return std::get<TextFile>(files).path;
}

std::vector<std::string> classes_of_data(const Training& training, std::int32_t count) {
  std::vector<std::string> names;
  if (const auto* table = std::get_if<CsvTable>(&training.data.format)) {
    if (const auto* label = std::get_if<LabelColumn>(&table->schema.outcome)) names = label->classes;
  }
  for (auto i = static_cast<std::int32_t>(names.size()); i < count; ++i) names.push_back(fmt::format("{}", i));
  return names;
}

std::vector<std::uint64_t> range_of(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> all(last - first);
  std::iota(all.begin(), all.end(), first);
  return all;
}

// The first `count` of the pool's examples in an order that depends on the seed alone.
Result<std::vector<std::uint64_t>> order_of(std::uint64_t pool, std::uint64_t count, std::uint64_t seed) {
  NF_TRY(ReplayRandom random, ReplayRandom::create(seed));
  std::vector<std::uint64_t> order = range_of(0, pool);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::swap(order[i], order[i + uniform_below(random, pool - i)]);
  }
  order.resize(count);
  return order;
}

// The examples of the pool's file, without those that are held out and without labels.
Result<Dataset> read_pool(const PateFile& file, std::size_t threads) {
  NF_TRY(Dataset all, read_inputs(file.pate.teachers, file.teachers.resolve(path_of(file.pate.pool)), threads));
  if (file.pate.held_out >= all.rows) {
    return invalid_argument(
        fmt::format("held_out = {} leaves none of the {} public examples to ask about", file.pate.held_out, all.rows));
  }
  std::fill(all.labels.begin(), all.labels.end(), 0);
  if (file.pate.held_out == 0) return all;
  return all.take(range_of(0, all.rows - file.pate.held_out));
}

// The rows to measure the student by, of which none is in the pool.
Result<std::optional<Dataset>> test_rows(const PateFile& file, std::optional<Dataset> test) {
  if (!test || !file.pate.tests_held_out()) return test;
  if (file.pate.held_out == 0) {
    return invalid_argument(
        "the file of public examples is the test file, too, and the student would be tested on what it learned from: "
        "say held_out = … under [public], how many rows at its end are kept for the test");
  }
  NF_TRY(Dataset kept, test->take(range_of(test->rows - file.pate.held_out, test->rows)));
  return std::optional(std::move(kept));
}

// Public examples that are private rows would learn their own labels, and vote for themselves.
Result<void> expect_others(const Dataset& data, const Dataset& pool) {
  std::set<Digest> rows;
  const auto digest = [](std::span<const float> example) {
    return blake2b({reinterpret_cast<const char*>(example.data()), example.size_bytes()});  // NOLINT: as bytes
  };
  for (std::size_t i = 0; i < pool.rows; ++i) rows.insert(digest(pool.example(i)));
  std::set<Digest> shared;
  for (std::size_t i = 0; i < data.rows; ++i) {
    if (data.is_null(i)) continue;
    const Digest one = digest(data.example(i));
    if (rows.contains(one)) shared.insert(one);
  }
  if (static_cast<double>(shared.size()) < kSharedRows * static_cast<double>(rows.size())) return success();
  return invalid_argument(
      "the public examples are rows of the private data: give examples that anyone may have, or nothing is protected. "
      "Nothing was spent");
}

Result<void> expect_small_delta(Delta delta, const PublicCount& count, PrivacyUnit unit) {
  const double share = 1 / static_cast<double>(count.units.value());
  if (delta.value() < share) return success();
  const char* units = unit == PrivacyUnit::kPerson ? "people" : "rows";
  return invalid_argument(
      fmt::format("delta is {:g}, and must be well below 1/{}, which is {:.3g} for {} {}: take a smaller delta in "
                  "[budget], or target_delta in [votes]",
                  delta.value(), units, share, count.units.value(), units));
}

std::optional<Sanitising> sanitising_of(const Pate& pate) {
  if (!pate.sanitised) return std::nullopt;
  return Sanitising{pate.sanitised->order, pate.sanitised->smoothness, pate.sanitised->noise, pate.sanitised->delta};
}

Result<void> write_privately(const std::string& path, const std::string& content) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  const mode_t before = ::umask(S_IRWXG | S_IRWXO);
  const Result<void> written = write_file(path, content);
  (void)::umask(before);
  NF_TRY_VOID(written);
  if (::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0) return io_error("cannot make private: " + shown(path));
  return success();
}

// The key of a student: of the release that is in its place, or the first of `base`, `base`-2, … that nobody has used.
// A student costs nothing, so that the same one may be released into another place, too.
Result<std::string> free_key(Ledger& ledger, const std::string& budget, const std::string& base, Outlet& outlet) {
  NF_TRY(const std::optional<std::string> kept, outlet.kept());
  std::optional<std::uint64_t> own;
  if (kept) {
    const Result<VerifiedRelease> there = verify_any_release(*kept);
    if (there.has_value()) {
      const Certificate& certificate = there.value().certificate.certificate;
      if (certificate.spend && !certificate.spend->reservations.empty()) own = certificate.spend->reservations.back();
    }
  }
  std::string found = base;
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    for (std::size_t n = 2;; ++n) {
      const std::optional<std::uint64_t> used = state.find_key(budget, found);
      if (!used || used == own) return success();
      found = fmt::format("{}-{}", base, n);
    }
  }));
  return found;
}

Json epsilon_json(const Certificate& certificate) {
  return {{"lower", certificate.epsilon.lower}, {"upper", certificate.epsilon.upper}};
}

}  // namespace

PateFiles files_of(const Pate& pate, const std::filesystem::path& folder) {
  return {{folder.empty() ? std::filesystem::path(pate.teachers.name) : folder}};
}

std::string to_json(const PateOutcome& outcome, const Pate& pate, const VoteCount& count) {
  Json json{{"model", outcome.files.student.model()},
            {"certificate", outcome.files.student.certificate()},
            {"labels", outcome.files.labels()},
            {"private", true},
            {"epsilon", epsilon_json(*outcome.student)},
            {"delta", outcome.student->delta.value()},
            {"teachers", pate.count},
            {"aggregator", name_of(pate.votes.aggregator)},
            {"noise", pate.votes.noise.value()}};
  if (pate.votes.threshold_noise) {
    json["threshold"] = pate.votes.threshold;
    json["threshold_noise"] = pate.votes.threshold_noise->value();
  }
  json["queries_charged"] = count.queries.value();
  json["answers_charged"] = count.answers.value();
  json["answer_epsilon"] = outcome.answer_epsilon;
  if (outcome.comparison_epsilon) json["comparison_epsilon"] = *outcome.comparison_epsilon;
  json["asked"] = outcome.asked;
  json["answered"] = outcome.answered;
  json["refused"] = outcome.asked - outcome.answered;
  json["student_labelled"] = outcome.own;
  if (outcome.sanitised) json["data_dependent_divergence"] = *outcome.sanitised;
  json["student"] = name_of(pate.student.kind);
  json["parameters"] = outcome.parameters;
  if (outcome.student_agrees) json["student_agrees_with_labels"] = *outcome.student_agrees;
  json["again"] = outcome.labels_again && outcome.student_again;
  json["teaching_seconds"] = outcome.teaching_seconds;
  json["learning_seconds"] = outcome.learning_seconds;
  if (outcome.compared) {
    json["compared"] = {{"name", outcome.compared->name},
                        {"epsilon", outcome.compared->epsilon},
                        {"accuracy", outcome.compared->accuracy}};
  }
  if (outcome.test) json["test"] = Json::parse(to_json(*outcome.test));
  if (!outcome.command.empty()) json["command"] = outcome.command;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<PateJob> PateJob::prepare(PateFile file, PateWish wish, const Machine& machine) {
  NF_TRY_VOID(require_backend(file.teachers.training, file.teachers.location, machine.torch));
  NF_TRY(TrainingExamples examples, read_examples(file.teachers, machine.threads));
  NF_TRY(Dataset pool, read_pool(file, machine.threads));
  NF_TRY(std::optional<Dataset> test, test_rows(file, std::move(examples.test)));
  NF_TRY(const PublicCount count, public_count_of(file.teachers.training, examples.train));
  const TrainingPrivacy& privacy = file.teachers.training.privacy;
  NF_TRY_VOID(expect_small_delta(file.pate.votes.target_delta, count, privacy.unit));
  NF_TRY_VOID(expect_others(examples.train, pool));
  std::optional<DpEvent> beside;
  if (const auto sanitising = sanitising_of(file.pate)) {
    NF_TRY(beside, sanitising_event(*sanitising));
    // What is not proved is refused before anybody teaches.
    NF_TRY_VOID(SmoothedBound::create(file.pate.votes.noise, static_cast<std::uint32_t>(examples.train.classes),
                                      sanitising->order, VoteNoise::kDiscrete));
  }
  NF_TRY(const PlannedVotes plan, plan_votes(file.pate.votes, privacy.adjacency, pool.rows, beside));
  NF_TRY(std::vector<std::uint64_t> order, order_of(pool.rows, plan.count.queries.value(), file.pate.votes.order_seed));
  std::vector<std::string> classes = classes_of_data(file.teachers.training, examples.train.classes);
  PateFiles files = files_of(file.pate, wish.folder);
  return PateJob(std::make_unique<Parts>(Parts{std::move(file), std::move(wish), machine, std::move(files),
                                               std::move(examples.train), std::move(pool), std::move(test), count, plan,
                                               std::move(order), std::move(classes)}));
}

std::string PateJob::key() const { return parts_->wish.key.empty() ? pate().teachers.name : parts_->wish.key; }

VoteTerms PateJob::terms() const {
  const Pate& asked = pate();
  const TrainingPrivacy& privacy = asked.teachers.privacy;
  const PateVotes& votes = asked.votes;
  Json json{{"aggregator", name_of(votes.aggregator)},
            {"noise", votes.noise.value()},
            {"queries", plan().count.queries.value()},
            {"answers", plan().count.answers.value()}};
  if (votes.threshold_noise) {
    json["threshold"] = votes.threshold;
    json["threshold_noise"] = votes.threshold_noise->value();
  }
  if (votes.aggregator == Aggregator::kInteractive) {
    // Its answers depend on the student.
    const PateStudent& student = asked.student;
    json["rounds"] = votes.rounds;
    json["own_confidence"] = votes.own_confidence;
    json["student"] = fmt::format("{} {} {} {} {} {} {} {}", name_of(student.kind), student.spreading.components,
                                  student.spreading.neighbours, student.spreading.smoothing, student.epochs,
                                  student.batch_size.value(), name_of(student.optimizer.kind), student.learning_rate);
  }
  if (asked.sanitised) {
    json["sanitised"] = {{"order", asked.sanitised->order},
                         {"smoothness", asked.sanitised->smoothness},
                         {"noise", asked.sanitised->noise.value()},
                         {"delta", asked.sanitised->delta.value()}};
  }
  json["teachers"] = asked.count;
  json["teaching"] = to_hex(blake2b(teaching_in_words(asked)));
  json["public_examples"] = digest_of_examples(parts_->pool);
  json["order"] = digest_of_numbers(parts_->order);
  return {.rules = votes,
          .count = plan().count,
          .sanitised = sanitising_of(asked),
          .adjacency = privacy.adjacency,
          .unit = privacy.unit,
          .queries = parts_->order,
          .classes = parts_->classes,
          .teachers = asked.count,
          .configuration = json.dump(),
          .data = fmt::format("{}; the public examples are taken as public; shards are by a secret random key; {}",
                              data_declaration(asked.teachers), in_words(parts_->count, privacy.unit))};
}

BallotTerms PateJob::ballot_terms() const {
  const Dataset& train = parts_->train;
  const std::string work =
      fmt::format("{} {} {} {} {} {} {} {}", teaching_in_words(pate()), train.rows, digest_of_examples(train),
                  digest_of_numbers(train.labels), digest_of_numbers(train.people), digest_of_numbers(train.nulls),
                  digest_of_examples(parts_->pool), digest_of_numbers(parts_->order));
  return {blake2b(work), pate().count, parts_->order.size(), static_cast<std::size_t>(train.classes)};
}

Result<PateCost> PateJob::cost() const {
  const VoteTerms asked = terms();
  const TrainingPrivacy& privacy = pate().teachers.privacy;
  const DatasetDescription dataset = description_of(pate().teachers);
  NF_TRY(const DpStatement statement, votes_statement(asked));
  Question question{"votes", statement, asked.rules.target_delta};
  question.configuration = asked.configuration;
  NF_TRY(ReserveRequest spend, spend_of({privacy.budget, key(), {}, {}, dataset.chosen}, question, nullptr));
  NF_TRY(const Interval epsilon, certified_epsilon(statement, question.delta));
  NF_TRY(const DpEvent answer, answer_event(asked.rules.aggregator, asked.rules.noise));
  NF_TRY(const Interval one, pld_epsilon(answer, privacy.adjacency, question.delta));
  PateCost cost{std::move(spend), plan(), epsilon, question.delta, budget_of(privacy), one.upper, {}};
  cost.budget.blocks = dataset.blocks;
  if (asked.rules.threshold_noise) {
    NF_TRY(const Interval comparison,
           pld_epsilon(comparison_event(*asked.rules.threshold_noise), privacy.adjacency, question.delta));
    cost.comparison_epsilon = comparison.upper;
  }
  return cost;
}

Result<Outlook> PateJob::outlook(Ledger* ledger) const {
  NF_TRY(const PateCost planned, cost());
  return outlook_for(description_of(pate().teachers).name, {planned.spend}, planned.budget, ledger);
}

Result<Released> PateJob::release_student(Ledger& ledger, const std::string& budget, const Certificate& votes,
                                          std::span<const ReleasedLabel> labels, std::vector<NamedTensor> tensors) {
  const Pate& asked = pate();
  const PateStudent& student = asked.student;
  const std::string configuration = Json{{"student", name_of(student.kind)},
                                         {"model", asked.teachers.model.name},
                                         {"components", student.spreading.components},
                                         {"neighbours", student.spreading.neighbours},
                                         {"smoothing", student.spreading.smoothing},
                                         {"epochs", student.epochs},
                                         {"batch_size", student.batch_size.value()},
                                         {"optimizer", name_of(student.optimizer.kind)},
                                         {"weight_decay", student.optimizer.weight_decay},
                                         {"learning_rate", student.learning_rate},
                                         {"labels", given_labels(labels).size()},
                                         {"votes", to_hex(votes.released)},
                                         {"public_examples", digest_of_examples(parts_->pool)}}
                                        .dump();
  const Digest released = digest_of(tensors);
  const DpStatement nothing{asked.teachers.privacy.adjacency, asked.teachers.privacy.unit, ZeroCostEvent{}};
  FileOutlet outlet(parts_->files.student.model(), parts_->files.student.certificate());
  const std::string base =
      fmt::format("{}-student-{}", key(), to_hex(blake2b(configuration + to_hex(released))).substr(0, 12));
  NF_TRY(std::string student_key, free_key(ledger, budget, base, outlet));
  ReleaseRequest request{{budget, std::move(student_key), nothing}};
  request.earlier = votes.spend->reservations;
  request.reader = read_model_release;
  request.spend.delta = Delta::of(0);  // the votes have paid
  request.spend.blocks = votes.spend->blocks;
  request.spend.note = {asked.teachers.name, "student", {"pate"}, configuration};
  request.spend.use = UseKind::kTraining;
  return release_by(request, ledger, outlet, [&](const CertifiedSpend& paid) -> Result<Draft> {
    NF_TRY(const DpStatement statement, paid_statement(ledger, paid.budget, paid.reservations, {}));
    NF_TRY(const Interval epsilon, certified_epsilon(statement, votes.delta));
    const auto steps = static_cast<std::uint64_t>(std::ceil(student.epochs));
    Certificate certificate{
        ReleaseKind::kModel,
        asked.teachers.name,
        statement,
        votes.delta,
        epsilon,
        certified_curve(statement),
        steps,
        false,
        configuration,
        fmt::format("{}; the student learned from public examples and released labels alone", votes.data),
        released,
        parts_->machine.version,
        {}};
    certificate.public_data = description_of(asked.teachers).is_public();
    TensorFile file{std::move(tensors), {}};
    return Draft{std::move(certificate), [file = std::move(file)](const std::string& text) mutable {
                   file.metadata[kCertificateKey] = text;
                   return to_safetensors(file);
                 }};
  });
}

Result<PateOutcome> PateJob::run(Ledger& ledger, const JobControl& control, const Hooks& hooks,
                                 const std::string& command) {
  const Pate& asked = pate();
  for (const std::string& warning : file().teachers.warnings) control.warn(warning);
  NF_TRY(const PateCost planned, cost());
  // Tables without labels cannot be compared by the ledger. Their examples were compared with these rows.
  if (const auto* text = std::get_if<TextFile>(&asked.pool)) {
    const Result<void> is_public = expect_public(ledger, file().teachers, *text, kPublicExamples);
    if (!is_public.has_value() && is_public.error().code != ErrorCode::kInputData) return is_public.error();
  }
  const RowsWish rows{.dataset = description_of(asked.teachers),
                      .uses = {&planned.spend, 1},
                      .outlook = [&] { return outlook(&ledger); },
                      .unknown = parts_->wish.unknown};
  NF_TRY(const ClaimedRows claimed, claim_rows(&ledger, file().teachers, rows, control));
  const auto release = [&](const Question& question) -> Result<ReleasedAnswer> {
    FileOutlet outlet(parts_->files.labels(), parts_->files.labels_certificate());
    return release_answer({claimed.budget,
                           key(),
                           {parts_->machine.version, AnswerDataset{description_of(asked.teachers).name}},
                           {},
                           description_of(asked.teachers).chosen},
                          question, ledger, outlet);
  };
  // Nothing is taught if the budget does not allow for the votes.
  NF_TRY(const Outlook ahead, outlook(&ledger));
  NF_TRY_VOID(expect_fits(ahead));
  const NewFolders folders(parts_->files.student.folder);
  std::error_code failed;
  std::filesystem::create_directories(parts_->files.student.folder, failed);
  if (failed)
    return io_error(
        fmt::format("cannot make the folder {}: {}", shown(parts_->files.student.folder.string()), failed.message()));
  PateOutcome outcome{.files = parts_->files,
                      .command = command,
                      .answer_epsilon = planned.answer_epsilon,
                      .comparison_epsilon = planned.comparison_epsilon,
                      .compared = parts_->wish.compare};
  const Clock::time_point start = Clock::now();
  Student student = Student::on(asked, parts_->pool, parts_->machine);
  auto poll = std::make_shared<Poll>();
  poll->teachers = asked.count;
  // Labels that were released before need no teacher.
  if (!ahead.asked_before) {
    NF_TRY(Ballots ballots, Ballots::open(parts_->files.ballots(), ballot_terms()));
    NF_TRY(const bool done, teach(asked, parts_->train, parts_->pool, parts_->order, parts_->machine, ballots,
                                  {hooks.teaching, control.stop}));
    if (!done || control.stop_asked()) {
      return invalid_argument(fmt::format(
          "stopped before the vote: nothing was spent. {} of {} teachers have learned; the same command goes on",
          ballots.count(), asked.count));
    }
    NF_TRY(poll->votes, ballots.counts());
  } else {
    Votes nobody(parts_->classes.size());
    nobody[0] = static_cast<std::uint32_t>(asked.count);
    poll->votes.assign(parts_->order.size(), nobody);
  }
  outcome.teaching_seconds = seconds_since(start);
  if (asked.votes.aggregator == Aggregator::kInteractive) {
    poll->predict = [&](std::span<const QueryAnswer> so_far, std::size_t first,
                        std::size_t last) -> Result<std::vector<Prediction>> {
      std::vector<ReleasedLabel> labels;
      for (std::size_t i = 0; i < so_far.size(); ++i) labels.push_back({parts_->order[i], so_far[i]});
      const std::vector<GivenLabel> given = given_labels(labels);
      if (given.empty()) return std::vector<Prediction>{};
      NF_TRY_VOID(student.learn(given));
      return student.predict(std::span(parts_->order).subspan(first, last - first));
    };
  }
  NF_TRY(Question question, votes_question(terms(), poll));
  if (ahead.asked_before) {
    // There is an answer: nothing is drawn, and a vote without teachers never is.
    question.draw = [](SecureRandom&) -> Result<Drawn> {
      return internal_error("labels that were released before are not drawn again");
    };
  }
  Result<ReleasedAnswer> voted = release(question);
  if (!voted.has_value()) return voted.error();
  const ReleasedAnswer& made = voted.value();
  if (!made.answer) return internal_error("the labels are not an answer of this version");
  outcome.labels_again = made.again;
  outcome.votes = made.release.certificate;
  NF_TRY(const std::vector<ReleasedLabel> labels, labels_of(*made.answer));
  outcome.asked = labels.size();
  for (const ReleasedLabel& one : labels) {
    outcome.answered += one.answer.source == LabelSource::kTeachers ? 1U : 0U;
    outcome.own += one.answer.source == LabelSource::kStudent ? 1U : 0U;
  }
  if (const AnswerValue* sanitised = find_value(*made.answer, "data_dependent_divergence")) {
    if (const auto* number = std::get_if<double>(&sanitised->value)) outcome.sanitised = *number;
  }
  const Clock::time_point learning = Clock::now();
  const std::vector<GivenLabel> given = given_labels(labels);
  NF_TRY_VOID(student.learn(given));
  NF_TRY(const Released released,
         release_student(ledger, claimed.budget, *outcome.votes, labels, student.named_weights()));
  outcome.student = released.release.certificate;
  outcome.student_again = released.again;
  outcome.learning_seconds = seconds_since(learning);
  outcome.parameters = student.parameters();
  std::vector<std::uint64_t> examples;
  for (const GivenLabel& one : given) examples.push_back(one.example);
  NF_TRY(const std::vector<Prediction> predicted, student.predict(examples));
  std::size_t agrees = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto best = std::max_element(predicted[i].begin(), predicted[i].end()) - predicted[i].begin();
    agrees += best == given[i].label ? 1U : 0U;
  }
  outcome.student_agrees = static_cast<double>(agrees) / static_cast<double>(given.size());
  if (parts_->test) outcome.test = student.quality(*parts_->test);
  // The student exists and is paid for, so a failure to write the notes beside it is not an error.
  const Result<void> written = write_file(parts_->files.notes(), to_json(outcome, asked, plan().count));
  if (!written.has_value()) control.warn(written.error().message);
  return outcome;
}

Result<OwnFigures> PateJob::own_figures(Ledger& ledger) {
  const DatasetDescription dataset = description_of(pate().teachers);
  if (!std::filesystem::exists(parts_->files.ballots())) {
    return invalid_argument("there are no ballots to look at: they were wiped, or nobody has voted yet");
  }
  if (!dataset.is_public()) {
    const std::string what = "how teachers vote, without noise: " + to_hex(ballot_terms().work);
    NF_TRY_VOID(ledger.expose(
        {dataset.name, ExposureKind::kEvaluation, blake2b(what), key() + "-own-figures", pate().teachers.name}));
  }
  NF_TRY(const Ballots ballots, Ballots::open(parts_->files.ballots(), ballot_terms()));
  NF_TRY(const std::vector<Votes> counts, ballots.counts());
  const PateVotes& rules = pate().votes;
  OwnFigures figures;
  figures.by_agreement.assign(10, 0);
  for (const Votes& votes : counts) {
    const double share =
        static_cast<double>(*std::max_element(votes.begin(), votes.end())) / static_cast<double>(pate().count);
    figures.agreement += share / static_cast<double>(counts.size());
    ++figures.by_agreement[std::min<std::size_t>(9, static_cast<std::size_t>(10 * share))];
  }
  // As the papers have it: comparisons of all queries, and the answers that are expected.
  figures.data_dependent_epsilon = std::numeric_limits<double>::infinity();
  for (const double order : default_orders()) {
    double sum = 0;
    for (const Votes& votes : counts) {
      double one = rules.aggregator == Aggregator::kLnMax
                       ? laplace_votes_divergence(log_wrong_laplace(votes, rules.noise), rules.noise, order)
                       : gaussian_votes_divergence(log_wrong_gaussian(votes, rules.noise, VoteNoise::kDiscrete),
                                                   rules.noise, order);
      if (rules.threshold_noise) {
        const double above = log_above(votes, rules.threshold, *rules.threshold_noise);
        one = std::exp(above) * one + threshold_divergence(above, *rules.threshold_noise, order);
      }
      sum += one;
    }
    figures.data_dependent_epsilon =
        std::min(figures.data_dependent_epsilon, epsilon_from_renyi(order, sum, rules.target_delta.value()));
  }
  NF_TRY(const PateCost planned, cost());
  figures.data_independent_epsilon = planned.epsilon.upper;
  const Json json{{"private", "figures of the custodian without noise: not for release"},
                  {"agreement", figures.agreement},
                  {"queries_by_agreement_in_tenths", figures.by_agreement},
                  {"data_dependent_epsilon", figures.data_dependent_epsilon},
                  {"data_independent_epsilon", figures.data_independent_epsilon}};
  NF_TRY_VOID(write_privately(parts_->files.own_figures(), json.dump(2) + "\n"));
  return figures;
}

}  // namespace noisefloor
