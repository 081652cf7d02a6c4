#include "noisefloor/audit/woven_canaries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <cstring>
#include <utility>
#include <variant>

#include "noisefloor/audit/certified_curve.h"

namespace noisefloor::audit {
namespace {

// Six tests share kRefuting: guesses against the curve and against ε, the rate, the reach, the noise, and all else.
constexpr double kEach = kRefuting / 6;
// Sums of many bounded terms are nearly Gaussian; eight standard deviations leave more than enough room for "nearly".
constexpr double kFarOut = 8;
constexpr double kFewestPairs = 50;
constexpr double kVeryUnlikely = 1e-9;  // for tests whose law is a close approximation
constexpr std::array<std::uint64_t, 3> kCanariesForAGuess{50, 10, 2};
constexpr std::size_t kFingerprint = 4;  // numbers
// Norms are those of floats.
constexpr double kNormTolerance = 1e-3;
// Single rows are looked at in the first steps, and then in one of so many.
constexpr std::uint64_t kAlwaysAlone = 8;
constexpr std::uint64_t kSometimesAlone = 8;
constexpr std::uint64_t kRowsOfNobody = std::uint64_t{1} << 40;  // for a sampler that needs a number

std::vector<std::uint8_t> toss(std::size_t count, BitStream& coins) {
  std::vector<std::uint8_t> in(count);
  for (std::uint8_t& coin : in) coin = static_cast<std::uint8_t>(coins.next_u64() >> 63);
  return in;
}

// Whether Σ of squares of `numbers` standard Gaussians is this small, or this large, with a probability below `p`.
bool too_small(double squares, double numbers, double p) { return boost::math::gamma_p(numbers / 2, squares / 2) < p; }
bool too_large(double squares, double numbers, double p) { return boost::math::gamma_q(numbers / 2, squares / 2) < p; }

std::uint64_t canaries_of(const RunFindings& f) { return f.counts.front().canaries; }

Result<void> check_findings(const RunFindings& f) {
  const std::uint64_t canaries = canaries_of(f);
  bool good = canaries <= kMostCanaries && f.steps > 0 && f.steps < (std::uint64_t{1} << 40) && f.blanks > 0 &&
              f.drawn <= f.steps * canaries;
  for (std::size_t i = 0; i < f.counts.size(); ++i) {
    NF_TRY_VOID(check_guesses(f.counts[i]));
    good = good && f.counts[i].canaries == canaries && f.counts[i].guesses == canaries / kCanariesForAGuess[i];
  }
  for (const double sum : {f.noise_squares, f.noise_sums, f.spread_of_canaries, f.spread_of_steps, f.moved_squares}) {
    good = good && std::isfinite(sum) && sum >= 0;
  }
  if (good && std::isfinite(f.noise_products) && std::isfinite(f.moved)) return success();
  return invalid_argument("these findings of an audit contradict each other");
}

double noise_of(const RunFindings& f, double tail) {
  const double numbers = static_cast<double>(f.blanks) * static_cast<double>(f.steps);
  return std::sqrt(f.noise_squares / (2 * boost::math::gamma_p_inv(numbers / 2, tail)));
}

// Σ of (count − its mean)² over its variance, for some binomial counts.
struct Dispersion {
  double squares;
  double counts;    // how many there are
  double expected;  // mean of each
  double variance;  // of each

  [[nodiscard]] bool is_large() const {
    return is_telling() && deviations() > kFarOut && too_large(squares, counts, kVeryUnlikely);
  }
  [[nodiscard]] bool is_small() const {
    return is_telling() && deviations() < -kFarOut && too_small(squares, counts, kVeryUnlikely);
  }

 private:
  // Where hardly any two draws coincide, one pair more or less says nothing, and no approximation holds.
  [[nodiscard]] bool is_telling() const { return counts * expected * expected / 2 >= kFewestPairs; }
  // The fourth moment of a binomial count is larger than a Gaussian's.
  [[nodiscard]] double deviations() const {
    return (squares / counts - 1) / std::sqrt((2 + std::max(0.0, 1 / variance)) / counts);
  }
};

// Whether canaries were drawn as by coins of their own: as often as each other, and not together.
void judge_draws(const RunFindings& f, const DescentClaim& claim, RunJudgement& judged) {
  const double q = claim.rate.value();
  const auto steps = static_cast<double>(f.steps);
  const auto canaries = static_cast<double>(canaries_of(f));
  const Significance each = Significance::make(kEach / 2).value();
  judged.rate = clopper_pearson(f.drawn, f.steps * canaries_of(f), each);
  if (judged.rate.lower > q) {
    judged.refuted.push_back(
        fmt::format("canaries were drawn too often: at a rate of at least {:.6g}, and {:.6g} is "
                    "stated",
                    judged.rate.lower, q));
  }
  if (!(q < 1)) return;
  const double variance = q * (1 - q);
  const Dispersion turns{f.spread_of_canaries / (steps * variance), canaries, steps * q, variance * steps};
  if (turns.is_small()) {
    judged.refuted.emplace_back(
        "canaries were drawn in turns, and not each by a coin of its own: some are never drawn twice, as in shuffled "
        "batches");
  } else if (turns.is_large()) {
    judged.refuted.emplace_back("some canaries were drawn much more often than others");
  }
  if (Dispersion{f.spread_of_steps / (canaries * variance), steps, canaries * q, variance * canaries}.is_large()) {
    judged.refuted.emplace_back("canaries were drawn together, and not each by a coin of its own");
  }
}

void judge_noise(const RunFindings& f, const DescentClaim& claim, RunJudgement& judged) {
  const double z = claim.noise.value();
  const auto steps = static_cast<double>(f.steps);
  const auto blanks = static_cast<double>(f.blanks);
  judged.noise = {noise_of(f, 1 - kEach / 2), noise_of(f, kEach / 2)};
  if (judged.noise.upper < z) {
    judged.refuted.push_back(fmt::format(
        "the noise is too small: its multiplier is at most {:.6g}, and {:.6g} is stated", judged.noise.upper, z));
  }
  // Whether draws depend on each other is seen whatever their size.
  const double variance = f.noise_squares / (blanks * steps);
  const double together = variance > 0 ? f.noise_sums / (blanks * variance) : steps;
  if (too_large(together, steps, kVeryUnlikely) || too_small(together, steps, kVeryUnlikely)) {
    judged.refuted.emplace_back("the noise of different coordinates depends on each other");
  }
  const double pairs = blanks * (steps - 1);
  if (f.repeats > 0 || (pairs > 0 && std::fabs(f.noise_products) > kFarOut * std::sqrt(pairs) * variance)) {
    judged.refuted.emplace_back("noise was used more than once");
  }
}

// A canary that is in and was drawn moves its coordinate by its clipped gradient; the rest of its score is noise.
void judge_reach(const RunFindings& f, const DescentClaim& claim, RunJudgement& judged) {
  if (!(f.moved_squares > 0)) return;
  const double noise = std::max(judged.noise.upper, claim.noise.value());
  const double about = f.moved / f.moved_squares;
  const double spread = noise * std::sqrt(static_cast<double>(f.steps) / f.moved_squares);
  const boost::math::normal standard;
  const double far = boost::math::quantile(boost::math::complement(standard, kEach / 2));
  judged.reach = {about - far * spread, about + far * spread};
  if (judged.reach.lower > 1 + kNormTolerance) {
    judged.refuted.push_back(fmt::format(
        "gradients are not clipped: a canary moved the sum by at least {:.4g} clip norms", judged.reach.lower));
  }
}

// x is the event of one step: Gaussian noise, on a Poisson batch or on everything.
std::optional<std::pair<SamplingRate, NoiseMultiplier>> step_claim(const DpEvent& event) {
  if (const auto* plain = std::get_if<GaussianEvent>(&event.kind())) {
    return std::pair(SamplingRate::of(1), plain->noise_multiplier);
  }
  const auto* sampled = std::get_if<PoissonSampledEvent>(&event.kind());
  if (sampled == nullptr) return std::nullopt;
  const auto* noise = std::get_if<GaussianEvent>(&sampled->event.kind());
  if (noise == nullptr) return std::nullopt;
  return std::pair(sampled->sampling_rate, noise->noise_multiplier);
}

template <class Random>
Result<RunFindings> audit_by(const DpEvent& event, Adjacency adjacency, const WovenOptions& options, Random& random) {
  NF_TRY(const DescentClaim claim, descent_claim(event));
  const double share = claim.rate.value() * static_cast<double>(kRowsOfNobody);
  NF_TRY(const Rows batch, Rows::make(static_cast<std::uint64_t>(std::max(1.0, std::round(share)))));
  NF_TRY(const Rows rows, Rows::make(kRowsOfNobody));
  NF_TRY(const BatchSampler all, BatchSampler::poisson(rows, batch, adjacency));
  NF_TRY(const BatchSampler sampler, all.with_population(0));
  NoRows nobody;
  NF_TRY(const auto canaries, WovenCanaries::create(nobody, sampler, options, random));
  DpSgd::Options wanted;
  wanted.noise = claim.noise;
  NF_TRY(wanted.clip, ClipRule::create(FlatClip{ClipNorm::of(1)}));
  wanted.learning_rate.steps = claim.steps.value();
  NF_TRY(DpSgd sgd, DpSgd::create(wanted, canaries->sampler(), canaries->source(), canaries->extended({})));
  for (std::uint64_t i = 0; i < claim.steps.value(); ++i) {
    NF_TRY_VOID(sgd.step(random));
    NF_TRY_VOID(canaries->look(sgd));
  }
  return canaries->findings();
}

}  // namespace

bool operator==(const RunFindings& a, const RunFindings& b) {
  const auto tied = [](const RunFindings& f) {
    return std::tuple(f.steps, f.drawn, f.spread_of_canaries, f.spread_of_steps, f.moved, f.moved_squares, f.blanks,
                      f.noise_squares, f.noise_sums, f.noise_products, f.repeats);
  };
  const auto same_guesses = [](const CanaryGuesses& x, const CanaryGuesses& y) {
    return x.canaries == y.canaries && x.guesses == y.guesses && x.right == y.right;
  };
  return tied(a) == tied(b) && std::equal(a.counts.begin(), a.counts.end(), b.counts.begin(), same_guesses);
}

// Examples are the model's, then the canaries; parameters are the model's, then one for each canary, then the blanks.
class WovenCanaries::Source final : public GradientSource {
 public:
  Source(GradientSource& model, const std::vector<std::uint8_t>& in, std::size_t blanks, double norm_in_clips,
         bool replaced)
      : model_(&model),
        in_(in),
        blanks_(blanks),
        norm_in_clips_(norm_in_clips),
        replaced_(replaced),
        draws_(in.size()) {}

  [[nodiscard]] std::size_t examples() const override { return model_->examples() + in_.size(); }
  [[nodiscard]] std::size_t parameters() const override { return model_->parameters() + in_.size() + blanks_; }
  [[nodiscard]] std::size_t groups() const override { return model_->groups(); }
  [[nodiscard]] const People* people() const override { return model_->people(); }

  [[nodiscard]] Result<std::size_t> add(std::span<const float> at, std::span<const std::uint64_t> examples,
                                        const ClipRule* rule, BitStream& stream, std::span<float> sum) override {
    const auto first = std::lower_bound(examples.begin(), examples.end(), model_->examples());
    const auto rows = static_cast<std::size_t>(first - examples.begin());
    const std::size_t own = model_->parameters();
    if (rule != nullptr && rows > 0 && looks_now()) {
      NF_TRY_VOID(look_alone(at.first(own), examples.first(1), *rule, stream));
    }
    NF_TRY(const std::size_t within, model_->add(at.first(own), examples.first(rows), rule, stream, sum.first(own)));
    const auto each = static_cast<float>(length(rule));
    drawn_now_ = examples.size() - rows;
    for (const std::uint64_t example : examples.subspan(rows)) {
      const std::size_t canary = example - model_->examples();
      ++draws_[canary];
      if (in_[canary] != 0) {
        sum[own + canary] += each;
      } else if (replaced_) {
        sum[own + canary] -= each;  // another one is in its place
      }
    }
    ++calls_;
    return within;
  }

  [[nodiscard]] const std::vector<std::uint64_t>& draws() const { return draws_; }
  [[nodiscard]] std::size_t drawn_now() const { return drawn_now_; }

 private:
  [[nodiscard]] bool looks_now() const { return calls_ < kAlwaysAlone || calls_ % kSometimesAlone == 0; }

  // The length of a canary's gradient after the rule: it is as long in every group of layers.
  [[nodiscard]] double length(const ClipRule* rule) const {
    const double norm = norm_in_clips_ * (rule != nullptr ? rule->sensitivity().value() : 1);
    if (rule == nullptr) return norm;
    const std::size_t groups = std::holds_alternative<GroupClip>(rule->kind()) ? model_->groups() : 1;
    const std::vector<double> squared(groups, norm * norm);
    std::vector<double> factors(groups);
    (void)rule->factors(std::span<const double>(squared), groups, 1, std::span<double>(factors));
    double sum = 0;
    for (const double factor : factors) sum += factor * factor * norm * norm;
    return std::sqrt(sum);
  }

  // What one row adds, by the model's own code: never longer than the clip norm, whatever the row.
  [[nodiscard]] Result<void> look_alone(std::span<const float> at, std::span<const std::uint64_t> row,
                                        const ClipRule& rule, BitStream& stream) {
    alone_.assign(model_->parameters(), 0.0F);
    NF_TRY_VOID(model_->add(at, row, &rule, stream, alone_));
    double squared = 0;
    for (const float x : alone_) squared += static_cast<double>(x) * static_cast<double>(x);
    if (std::sqrt(squared) <= rule.sensitivity().value() * (1 + kNormTolerance)) return success();
    return verification_failed(
        "the audit ends this training: the gradient of a single row was longer than the clip norm, so that no epsilon "
        "holds. Nothing was published; what was reserved stays spent. This is a fault of the program: do not use its "
        "models, and report it (SECURITY.md)");
  }

  GradientSource* model_;
  const std::vector<std::uint8_t>& in_;
  std::size_t blanks_;
  double norm_in_clips_;
  bool replaced_;
  std::vector<std::uint64_t> draws_;
  std::size_t drawn_now_ = 0;
  std::uint64_t calls_ = 0;
  std::vector<float> alone_;
};

WovenCanaries::WovenCanaries(std::unique_ptr<Source> source, BatchSampler sampler, std::vector<std::uint8_t> in,
                             std::size_t model, std::size_t blanks)
    : source_(std::move(source)),
      sampler_(std::move(sampler)),
      in_(std::move(in)),
      model_(model),
      scores_(in_.size()),
      before_(blanks) {
  so_far_.blanks = blanks;
}

WovenCanaries::~WovenCanaries() = default;

Result<std::unique_ptr<WovenCanaries>> WovenCanaries::create(GradientSource& model, const BatchSampler& sampler,
                                                             const WovenOptions& options, BitStream& coins) {
  if (options.canaries < kFewestCanaries || options.canaries > kMostCanaries) {
    return invalid_argument(fmt::format("an audit takes {} to {} canaries; {} were asked for", kFewestCanaries,
                                        kMostCanaries, options.canaries));
  }
  if (options.blanks < kFingerprint || options.blanks > kMostCanaries || !(options.norm_in_clips >= 1) ||
      !std::isfinite(options.norm_in_clips)) {
    return invalid_argument("canaries need at least four blank coordinates, and gradients of a clip norm or more");
  }
  if (sampler.law().draw() != Draw::kPoisson) {
    return invalid_argument(
        "canaries join batches by coins of their own, which batches of a fixed size do not allow: use sampler = "
        "\"poisson\", or no canaries");
  }
  std::vector<std::uint8_t> in = toss(options.canaries, coins);
  NF_TRY(BatchSampler drawing, sampler.with_population(model.examples() + in.size()));
  // The source refers to the coins where they stay.
  auto made = std::unique_ptr<WovenCanaries>(
      new WovenCanaries(nullptr, std::move(drawing), std::move(in), model.parameters(), options.blanks));
  made->source_ = std::make_unique<Source>(model, made->in_, options.blanks, options.norm_in_clips,
                                           sampler.adjacency() == Adjacency::kReplaceOne);
  return made;
}

GradientSource& WovenCanaries::source() { return *source_; }

std::vector<float> WovenCanaries::extended(std::vector<float> initial) const {
  initial.resize(initial.size() + in_.size() + before_.size(), 0.0F);
  return initial;
}

Result<void> WovenCanaries::look(std::span<const float> released, double unit) {
  if (released.size() != model_ + in_.size() + before_.size() || !(unit > 0)) {
    return invalid_argument("an audit looks at all coordinates of a step, in clip norms");
  }
  const std::span<const float> own = released.subspan(model_, in_.size());
  for (std::size_t i = 0; i < own.size(); ++i) scores_[i] += static_cast<double>(own[i]) / unit;
  const std::span<const float> blanks = released.last(before_.size());
  double sum = 0;
  for (std::size_t i = 0; i < blanks.size(); ++i) {
    const auto x = static_cast<float>(static_cast<double>(blanks[i]) / unit);
    const auto number = static_cast<double>(x);
    sum += number;
    so_far_.noise_squares += number * number;
    so_far_.noise_products += number * static_cast<double>(before_[i]);
    before_[i] = x;
  }
  so_far_.noise_sums += sum * sum;
  std::array<std::uint64_t, 2> bits{};
  static_assert(sizeof(bits) == kFingerprint * sizeof(float));
  std::memcpy(bits.data(), before_.data(), sizeof(bits));
  seen_.push_back((bits[0] * 0x9e3779b97f4a7c15U) ^ (bits[1] + (bits[0] >> 29U)));
  const double expected = sampler_.rate().value() * static_cast<double>(in_.size());
  const double off = static_cast<double>(source_->drawn_now()) - expected;
  so_far_.spread_of_steps += off * off;
  ++so_far_.steps;
  return success();
}

Result<void> WovenCanaries::look(const DpSgd& sgd) {
  return look(sgd.released(), sgd.clip_norm() / static_cast<double>(sgd.sampler().expected_batch().value()));
}

Result<RunFindings> WovenCanaries::findings() const {
  RunFindings found = so_far_;
  std::vector<ScoredCanary> scored;
  for (std::size_t i = 0; i < in_.size(); ++i) scored.push_back({scores_[i], in_[i] != 0});
  for (std::size_t i = 0; i < found.counts.size(); ++i) {
    NF_TRY(found.counts[i], guess(scored, in_.size() / kCanariesForAGuess[i]));
  }
  const std::vector<std::uint64_t>& all = source_->draws();
  const bool replaced = sampler_.adjacency() == Adjacency::kReplaceOne;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto draws = static_cast<double>(all[i]);
    found.drawn += all[i];
    if (in_[i] == 0 && !replaced) continue;
    found.moved += (in_[i] != 0 ? draws : -draws) * scores_[i];
    found.moved_squares += draws * draws;
  }
  const double mean = static_cast<double>(found.drawn) / static_cast<double>(in_.size());
  for (const std::uint64_t draws : source_->draws()) {
    found.spread_of_canaries += (static_cast<double>(draws) - mean) * (static_cast<double>(draws) - mean);
  }
  std::vector<std::uint64_t> sorted = seen_;
  std::sort(sorted.begin(), sorted.end());
  found.repeats = static_cast<std::uint64_t>(sorted.end() - std::unique(sorted.begin(), sorted.end()));
  return found;
}

Result<std::size_t> NoRows::add(std::span<const float> /*at*/, std::span<const std::uint64_t> /*examples*/,
                                const ClipRule* /*rule*/, BitStream& /*stream*/, std::span<float> /*sum*/) {
  return std::size_t{0};
}

Result<DescentClaim> descent_claim(const DpEvent& event) {
  Steps steps = Steps::of(1);
  const DpEvent* step = &event;
  if (const auto* many = std::get_if<SelfComposedEvent>(&event.kind())) {
    steps = many->count;
    step = &many->event;
  }
  const auto claim = step_claim(*step);
  if (claim) return DescentClaim{claim->first, claim->second, steps};
  return invalid_argument(
      "canaries audit one descent with Gaussian noise on Poisson batches, and this release was made in another way");
}

Result<RunJudgement> judge(const RunFindings& findings, const DpEvent& event, Adjacency adjacency, Delta delta) {
  NF_TRY(const DescentClaim claim, descent_claim(event));
  NF_TRY(const CertifiedCurve curve, CertifiedCurve::create(event, adjacency, delta));
  return judge(findings, claim, curve);
}

Result<RunJudgement> judge(const RunFindings& findings, const DescentClaim& claim, const CertifiedCurve& curve) {
  NF_TRY_VOID(check_findings(findings));
  if (claim.steps.value() != findings.steps) {
    return invalid_argument(
        fmt::format("an audit saw {} steps of the {} that are certified", findings.steps, claim.steps.value()));
  }
  RunJudgement judged;
  judged.certified = curve.epsilon();
  const auto tries = static_cast<double>(findings.counts.size());
  NF_TRY(const Significance shown, Significance::make((1 - kAuditConfidence) / tries));
  NF_TRY(const Significance each, Significance::make(kEach / tries));
  const auto certified = [&](double found) { return curve.false_alarms(found); };
  bool refuted = false;
  for (const CanaryGuesses& counts : findings.counts) {
    judged.measured = std::max(judged.measured, one_run_epsilon(counts, curve.delta(), shown));
    judged.measured_gaussian =
        std::max(judged.measured_gaussian, one_run_gaussian(counts, curve.delta(), shown).epsilon);
    if (!refuted && (refuted_in_one_run(counts, certified, each) ||
                     one_run_epsilon(counts, curve.delta(), each) > judged.certified.upper)) {
      refuted = true;
      judged.refuted.push_back(
          fmt::format("{} of {} guesses about canaries were right, which is more than epsilon "
                      "{:.6g} allows",
                      counts.right, counts.guesses, judged.certified.upper));
    }
  }
  judge_draws(findings, claim, judged);
  judge_noise(findings, claim, judged);
  judge_reach(findings, claim, judged);
  return judged;
}

Result<void> expect_unrefuted(const RunJudgement& judgement) {
  if (judgement.refuted.empty()) return success();
  std::string list;
  for (const std::string& one : judgement.refuted) list += (list.empty() ? "" : "; ") + one;
  return verification_failed(
      fmt::format("the audit REFUTES epsilon {:.6g}: {}. Do not publish this model, nor others that this program made; "
                  "an honest run fails with a probability below {:g}. Try `noisefloor audit` on another machine, and "
                  "report it (SECURITY.md)",
                  judgement.certified.upper, list, kRefuting));
}

Result<RunFindings> audit_event(const DpEvent& event, Adjacency adjacency, const WovenOptions& options,
                                SecureRandom& random) {
  return audit_by(event, adjacency, options, random);
}

Result<RunFindings> audit_event(const DpEvent& event, Adjacency adjacency, const WovenOptions& options,
                                ReplayRandom& random) {
  return audit_by(event, adjacency, options, random);
}

}  // namespace noisefloor::audit
