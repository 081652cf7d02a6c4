// The experiments of Proactive DP (section 4 and appendix D.3): five clients and a server, asynchronous by one round.
// How the sample size matters at a given ε, how ε matters, and what training without noise would reach. Closed-form
// plans stand beside exact ones. Writes tables, CSV and pictures.
//
//   proactive strongly-convex|plain-convex [--data FILE --dimension D [--classes A,B]] [--test FILE] [options]
//   proactive non-convex                   [--data FOLDER]                                           [options]
//
// Options: --output DIR, --rate R, --repeats N (trainings behind each accuracy by ε, with weights, samples and noise
// drawn anew: their mean, and the range in the picture), --quick (a few of the trainings).
//
// Without --data: for the convex problems a generated table (20 features, a noisy linear rule), for LeNet the images of
// Debian's dataset-fashion-mnist. FILE is in the LIBSVM format, values in [-1, 1], labels -1 and +1 unless --classes
// says otherwise; without --test a sixth of it is kept for testing. FOLDER holds MNIST's four files.
//
// --rate is the first step size of one example; a round of s examples moves by s times that, up to a bound.
//
// Noise is drawn from fixed seeds here, so that everyone gets the same numbers: these are measurements on public data,
// not releases.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "noisefloor/accounting/pld.h"
#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/federated/asynchronous.h"
#include "noisefloor/federated/planned_client.h"
#include "noisefloor/plan/closed_form.h"
#include "noisefloor/plan/exact.h"
#include "noisefloor/plan/utility_graph.h"
#include "noisefloor/report/chart.h"
#include "noisefloor/sgd/lanes_source.h"
#include "noisefloor/table/idx.h"
#include "noisefloor/table/libsvm.h"
#include "noisefloor/table/split.h"

namespace {

namespace nf = noisefloor;
namespace lanes = noisefloor::lanes;

constexpr std::size_t kClients = 5;
constexpr std::size_t kMarks = 12;  // points of each curve

template <class T>
T value_of(nf::Result<T> result) {
  if (!result.has_value()) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}
void done(const nf::Result<void>& result) {
  if (!result.has_value()) throw std::runtime_error(result.error().message);
}

struct Options {
  std::string problem;
  std::string data;
  std::string test;
  std::size_t dimension = 22;
  std::vector<std::string> classes = {"-1", "1"};
  std::optional<double> rate;
  std::uint64_t repeats = 1;
  std::filesystem::path output;
  bool quick = false;
};

// What is trained, and how: Tables 2 to 4 of the paper.
struct Problem {
  std::string title;
  std::vector<nf::Dataset> shares;  // of each client; one for all if every client holds a copy
  nf::Dataset test;
  std::vector<lanes::Layer> layers;
  lanes::Loss loss;
  double epochs;
  double clip;
  double rate;  // of each example at first, up to `largest_rate` of a round's mean
  double largest_rate;
  double rate_times_noise = 0;  // above 0: the rate is this over the noise, `rate` at most; less noise, longer steps
  nf::RateDecay decay;
  double beta;  // of the rate, by examples
  double weight_decay;
  double epsilon;  // at which sample sizes are compared
  std::vector<std::uint64_t> sizes;
  std::vector<double> epsilons;
  std::vector<double> clips;   // of the utility graph
  std::vector<double> noises;  // of the utility graph

  [[nodiscard]] bool copies() const { return shares.size() == 1; }
  [[nodiscard]] const nf::Dataset& share(std::size_t client) const { return shares[copies() ? 0 : client]; }
  [[nodiscard]] nf::Rows rows() const { return value_of(nf::Rows::make(shares.front().rows)); }
  [[nodiscard]] nf::Delta delta() const {
    return value_of(nf::Delta::make(1 / static_cast<double>(shares.front().rows)));
  }
};

nf::Dataset generated(std::size_t rows) {
  constexpr std::size_t kFeatures = 20;
  nf::ReplayRandom random = value_of(nf::ReplayRandom::create(20'240'721));
  const auto uniform = [&] { return std::ldexp(static_cast<double>(random.next_u32()), -31) - 1; };
  std::vector<double> rule(kFeatures);
  for (double& weight : rule) weight = uniform();
  nf::Dataset data{.rows = rows, .shape = {kFeatures}, .features = {}, .labels = {}, .classes = 2, .targets = {}};
  for (std::size_t i = 0; i < rows; ++i) {
    double score = 0.25 * (uniform() + uniform() + uniform());
    for (const double weight : rule) {
      const double x = uniform();
      score += weight * x;
      data.features.push_back(static_cast<float>(x));
    }
    data.labels.push_back(score > 0 ? 1 : 0);
  }
  return data;
}

std::pair<nf::Dataset, nf::Dataset> convex_data(const Options& options) {
  const nf::LibsvmOptions format{.dimension = options.dimension, .classes = options.classes, .lower = -1, .upper = 1};
  const nf::Dataset all = options.data.empty() ? generated(60'000) : value_of(nf::read_libsvm(options.data, format));
  if (!options.test.empty()) return {all, value_of(nf::read_libsvm(options.test, format))};
  const nf::Split split = value_of(nf::split_by_fraction(all.rows, 0, 1.0 / 6, 1));
  return {value_of(all.take(split.train)), value_of(all.take(split.test))};
}

Problem convex(const Options& options, bool strongly) {
  auto [train, test] = convex_data(options);
  Problem problem;
  problem.title = strongly ? "logistic regression with ridge (strongly convex)" : "logistic regression (plain convex)";
  const std::size_t each = std::min<std::size_t>(10'000, train.rows / kClients);
  for (std::size_t client = 0; client < kClients; ++client) {
    std::vector<std::uint64_t> rows(each);
    for (std::size_t i = 0; i < each; ++i) rows[i] = client * each + i;
    problem.shares.push_back(value_of(train.take(rows)));
  }
  problem.test = std::move(test);
  problem.layers = {lanes::Linear{1}};
  problem.loss = lanes::Loss::kBinary;
  problem.epochs = 5;
  problem.clip = 0.1;
  problem.rate = strongly ? 0.05 : 0.02;
  problem.largest_rate = 4;
  problem.decay = strongly ? nf::RateDecay::kInverse : nf::RateDecay::kInverseRoot;
  problem.beta = strongly ? 0.001 : 0.01;
  problem.weight_decay = strongly ? 1 / static_cast<double>(each) : 0;
  problem.epsilon = 0.05;
  problem.sizes = {1, 5, 10, 15, 20, 26};
  problem.epsilons = {0.05, 0.1, 0.25, 0.5, 1, 2};
  problem.clips = {0.05, 0.075, 0.1, 0.2};
  problem.noises = {2, 4, 8, 12, 16, 20, 24, 30, 40};
  return problem;
}

Problem non_convex(const Options& options) {
  const std::string folder = options.data.empty() ? "/usr/share/datasets/fashion-mnist" : options.data;
  if (options.data.empty() && !std::filesystem::exists(folder)) {
    throw std::runtime_error(folder +
                             " is not there: install the package dataset-fashion-mnist, or give --data FOLDER");
  }
  const auto read = [&](const char* part) {
    nf::Dataset images = value_of(nf::read_idx(fmt::format("{}/{}-images-idx3-ubyte.gz", folder, part),
                                               fmt::format("{}/{}-labels-idx1-ubyte.gz", folder, part), 10));
    for (float& pixel : images.features) pixel = 2 * pixel - 1;  // from -1 to 1: gradients of all weights matter alike
    return images;
  };
  constexpr lanes::Activate kTanh{lanes::Activation::kTanh};
  // Windows that overlap: two points better than 2 by 2 at epsilon 0.15.
  constexpr lanes::Pool kPool{lanes::Pooling::kMax, 3, 2};
  Problem problem;
  problem.title = "LeNet-5 (non-convex)";
  problem.shares.push_back(read("train"));
  problem.test = read("t10k");
  problem.layers = {lanes::Conv2d{6, 5, 5, 1, 2},
                    kTanh,
                    kPool,
                    lanes::Conv2d{16, 5, 5, 1, 0},
                    kTanh,
                    kPool,
                    lanes::Flatten{},
                    lanes::Linear{120},
                    kTanh,
                    lanes::Linear{84},
                    kTanh,
                    lanes::Linear{10}};
  problem.loss = lanes::Loss::kCrossEntropy;
  problem.epochs = 6;
  problem.clip = 0.025;
  problem.rate = 0.1;
  problem.rate_times_noise = 0.146;
  problem.largest_rate = 40;
  problem.decay = nf::RateDecay::kInverseRoot;
  problem.beta = 0.003;
  problem.weight_decay = 0;
  problem.epsilon = 0.15;
  problem.sizes = {10, 25, 50, 100, 200, 300, 370};
  problem.epsilons = {0.15, 0.25, 0.5, 1, 2};
  problem.clips = {0.0125, 0.025, 0.05};
  problem.noises = {0.5, 1, 2, 4, 6, 8, 10, 12, 16};
  return problem;
}

struct Run {
  std::vector<float> weights;
  double accuracy = 0;
  std::vector<nf::Chart::Point> curve;  // accuracy by epochs
};

class Experiment {
 public:
  Experiment(Options options, Problem problem) : options_(std::move(options)), problem_(std::move(problem)) {
    std::filesystem::create_directories(options_.output);
    const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
    const nf::Dataset& first = problem_.shares.front();
    const lanes::Shape shape = first.shape.size() == 3 ? lanes::Shape{first.shape[0], first.shape[1], first.shape[2]}
                                                       : lanes::Shape{first.width(), 1, 1};
    for (std::size_t i = 0; i < kClients; ++i) {
      models_.push_back(value_of(nf::LanesSource::create(
          value_of(lanes::Program::create(shape, problem_.layers, problem_.loss)), problem_.share(i), threads)));
    }
  }

  void run() {
    say("{}: {} clients, {} rows each{}, {:g} epochs, clip norm {:g}\n", problem_.title, kClients,
        problem_.rows().value(), problem_.copies() ? " (the same ones)" : "", problem_.epochs, problem_.clip);
    utility_graph();
    const nf::ClosedFormPlan plan = closed(problem_.epsilon);
    const Run& clean = train(std::nullopt, plan.setting.sizes.largest(), problem_.clip);
    say("without noise, clipped: accuracy {:.4f}\n", clean.accuracy);
    by_epsilon(clean.accuracy);
    by_size(plan);
  }

 private:
  template <class... Args>
  void say(fmt::format_string<Args...> text, Args&&... args) const {
    fmt::print(text, std::forward<Args>(args)...);
    static_cast<void>(std::fflush(stdout));
  }

  void write(const std::string& name, const nf::Chart& chart, const std::string& csv) const {
    done(nf::write_file((options_.output / (name + ".svg")).string(), nf::to_svg(chart)));
    done(nf::write_file((options_.output / (name + ".csv")).string(), csv));
    say("  → {}/{}.svg, .csv\n", options_.output.string(), name);
  }

  [[nodiscard]] nf::ClosedFormPlan closed(double epsilon) const {
    return value_of(nf::closed_form_plan({problem_.rows(), problem_.epochs, problem_.delta()},
                                         value_of(nf::Epsilon::make(epsilon))));
  }

  // ε of one client's rounds, and if all clients hold the same rows, of those of all.
  [[nodiscard]] double epsilon_of(double noise, std::uint64_t size, bool all) const {
    const nf::SampleSizes sizes = value_of(nf::SampleSizes::for_epochs(problem_.rows(), problem_.epochs, size, 0));
    const nf::SampleSizes counted =
        value_of(nf::SampleSizes::constant(size, sizes.rounds() * (all && problem_.copies() ? kClients : 1)));
    const nf::DpEvent event = value_of(counted.event(problem_.rows(), value_of(nf::NoiseMultiplier::make(noise)),
                                                     nf::Adjacency::kAddRemove, nf::Draw::kPoisson));
    return value_of(nf::pld_epsilon(event, nf::Adjacency::kAddRemove, problem_.delta())).upper;
  }

  // What was trained before is not trained again.
  const Run& train(std::optional<double> noise, std::uint64_t size, double clip, std::uint64_t repeat = 0) {
    const std::tuple key(noise.value_or(0), size, clip, repeat);
    const auto known = runs_.find(key);
    if (known != runs_.end()) return known->second;
    return runs_.emplace(key, trained(noise, size, clip, repeat)).first->second;
  }

  Run trained(std::optional<double> noise, std::uint64_t size, double clip, std::uint64_t repeat) {
    const nf::Rows batch = value_of(nf::Rows::make(size));
    const std::uint64_t rounds =
        value_of(nf::SampleSizes::for_epochs(problem_.rows(), problem_.epochs, size, 0)).rounds();
    nf::ReplayRandom random = value_of(nf::ReplayRandom::create(size + 1'000'000 * repeat));
    nf::ReplayRandom first = value_of(nf::ReplayRandom::create(1 + repeat));
    const std::vector<float> initial = models_.front()->initial_weights(first);
    const double scale = static_cast<double>(size);  // the rate falls by examples, not by rounds
    double rate = problem_.rate;
    if (noise && problem_.rate_times_noise > 0) rate = std::min(rate, problem_.rate_times_noise / *noise);
    nf::PlannedClient::Updates updates;
    updates.optimizer.weight_decay = problem_.weight_decay;
    updates.learning_rate = {
        .initial = std::min(rate * scale, problem_.largest_rate),
        .decay = problem_.decay,
        .beta = problem_.beta * (problem_.decay == nf::RateDecay::kInverse ? scale : std::sqrt(scale)),
        .steps = rounds};
    Run run;
    const std::uint64_t every = std::max<std::uint64_t>(1, rounds / kMarks);
    const auto look = [&](std::uint64_t round, std::span<const float> weights) {
      if (round % every != 0 && round != rounds) return;
      const double accuracy = *models_.front()->quality(weights, problem_.test).accuracy;
      run.curve.push_back(
          {problem_.epochs * static_cast<double>(round) / static_cast<double>(rounds), accuracy, accuracy});
    };
    const nf::AsynchronousOptions asynchronous{.rounds = rounds, .broadcast = look};
    if (noise) {
      std::vector<nf::PlannedClient> clients = planned_clients(*noise, batch, rounds, clip, updates, initial);
      run.weights = value_of(nf::train_asynchronously(clients, random, asynchronous));
    } else {
      std::vector<nf::DpSgd> clients = clients_without_noise(batch, clip, updates, initial);
      run.weights = value_of(nf::train_asynchronously(clients, random, asynchronous));
    }
    run.accuracy = run.curve.back().upper;
    return run;
  }

  // Each with its plan, which it keeps to.
  std::vector<nf::PlannedClient> planned_clients(double noise, nf::Rows batch, std::uint64_t rounds, double clip,
                                                 const nf::PlannedClient::Updates& updates,
                                                 const std::vector<float>& initial) const {
    const nf::NoiseMultiplier multiplier = value_of(nf::NoiseMultiplier::make(noise));
    const nf::DpEvent event =
        value_of(value_of(nf::SampleSizes::constant(batch.value(), rounds))
                     .event(problem_.rows(), multiplier, nf::Adjacency::kAddRemove, nf::Draw::kPoisson));
    const nf::ClientPlan plan{
        problem_.rows(), value_of(nf::ClipNorm::make(clip)), multiplier,
        batch,           value_of(nf::Steps::make(rounds)),  {nf::Adjacency::kAddRemove, nf::PrivacyUnit::kRow, event}};
    std::vector<nf::PlannedClient> clients;
    for (const auto& model : models_) {
      clients.push_back(value_of(nf::PlannedClient::create(plan, updates, *model, initial)));
    }
    return clients;
  }

  std::vector<nf::DpSgd> clients_without_noise(nf::Rows batch, double clip, const nf::PlannedClient::Updates& updates,
                                               const std::vector<float>& initial) const {
    nf::DpSgd::Options options;
    options.clip = value_of(nf::ClipRule::create(nf::FlatClip{value_of(nf::ClipNorm::make(clip))}));
    options.optimizer = updates.optimizer;
    options.learning_rate = updates.learning_rate;
    const nf::BatchSampler sampler =
        value_of(nf::BatchSampler::poisson(problem_.rows(), batch, nf::Adjacency::kAddRemove));
    std::vector<nf::DpSgd> clients;
    for (const auto& model : models_) {
      clients.push_back(value_of(nf::DpSgd::create(options, sampler, *model, initial)));
    }
    return clients;
  }

  void utility_graph() {
    nf::Chart chart;
    chart.title = "Utility graph: " + problem_.title;
    chart.subtitle = "accuracy with noise on the final model, relative to none; 5 draws each";
    chart.x_label = "noise multiplier";
    chart.y_label = "share of accuracy";
    chart.marks = true;
    std::vector<nf::NoiseMultiplier> noises;
    for (const double noise : problem_.noises) noises.push_back(value_of(nf::NoiseMultiplier::make(noise)));
    std::vector<nf::UtilityCurve> curves;
    nf::ReplayRandom random = value_of(nf::ReplayRandom::create(2));
    const std::uint64_t size = closed(problem_.epsilon).setting.sizes.largest();
    if (options_.quick) problem_.clips = {problem_.clip};
    for (const double clip : problem_.clips) {
      const Run& run = train(std::nullopt, size, clip);
      curves.push_back(value_of(nf::utility_curve(*models_.front(), run.weights, value_of(nf::ClipNorm::make(clip)),
                                                  noises, 5, problem_.test, random)));
      nf::Chart::Series series{fmt::format("C = {:g}", clip), {}};
      for (const nf::UtilityPoint& p : curves.back().points)
        series.points.push_back({p.noise.value(), p.lowest, p.highest});
      chart.series.push_back(std::move(series));
    }
    say("utility graph:\n");
    for (const nf::UtilityCurve& curve : curves) {
      const auto choice = nf::recommended(std::span(&curve, 1), 0.1);
      say("  C = {:<7g} accuracy {:.4f}, loses 10 % of it at noise {}\n", curve.clip.value(), curve.accuracy,
          choice ? fmt::format("{:.3g}", choice->noise.value()) : "below the first");
    }
    write("utility-graph", chart, nf::to_csv(chart, "noise_multiplier", "ratio"));
  }

  void by_size(const nf::ClosedFormPlan& plan) {
    const double noise = plan.setting.noise.value();
    std::vector<std::uint64_t> sizes = problem_.sizes;
    if (options_.quick) sizes = {sizes[1], sizes[sizes.size() / 2]};
    if (sizes.back() != plan.setting.sizes.largest()) sizes.push_back(plan.setting.sizes.largest());
    nf::Chart chart;
    chart.title = fmt::format("Effect of the sample size at epsilon {:g}", problem_.epsilon);
    chart.subtitle = fmt::format("noise multiplier {:.4g}; {}", noise, problem_.title);
    chart.x_label = "epochs of each client";
    chart.y_label = "accuracy";
    chart.from_zero = false;
    std::string csv = "sample_size,rounds,exact_epsilon,accuracy\n";
    say("sample sizes at noise multiplier {:.5g}:\n", noise);
    for (const std::uint64_t size : sizes) {
      const Run& run = train(noise, size, problem_.clip);
      chart.series.push_back({fmt::format("s = {}", size), run.curve});
      const std::uint64_t rounds =
          value_of(nf::SampleSizes::for_epochs(problem_.rows(), problem_.epochs, size, 0)).rounds();
      csv += fmt::format("{},{},{:.6g},{:.4f}\n", size, rounds, epsilon_of(noise, size, false), run.accuracy);
      say("  s = {:<5} {:>6} rounds  accuracy {:.4f}\n", size, rounds, run.accuracy);
    }
    write("by-sample-size", chart, csv);
  }

  void by_epsilon(double clean) {
    std::vector<double> epsilons = problem_.epsilons;
    if (options_.quick) epsilons = {epsilons.front(), epsilons.back()};
    nf::Chart chart;
    chart.title = "Effect of epsilon: " + problem_.title;
    chart.subtitle = "plans of the closed form, and exact ones with the same noise or the same rounds";
    chart.x_label = "epsilon of each client";
    chart.y_label = "accuracy";
    chart.log_x = true;
    chart.from_zero = false;
    chart.marks = true;
    chart.level = {clean, fmt::format("without noise: {:.4f}", clean)};
    chart.series = {{"closed form", {}}, {"exact: larger s", {}}, {"exact: less noise", {}}};
    std::string csv =
        "epsilon,plan,noise_multiplier,sample_size,exact_epsilon,exact_epsilon_all_clients,accuracy,lowest,highest\n";
    say("epsilon  plan               noise      s  exact epsilon  of all clients  accuracy, {}\n",
        options_.repeats == 1 ? "one training" : fmt::format("mean and range of {} trainings", options_.repeats));
    for (const double epsilon : epsilons) {
      const nf::ClosedFormPlan plan = closed(epsilon);
      const nf::ExactQuestion question{.rows = problem_.rows(),
                                       .epochs = problem_.epochs,
                                       .target = {nf::Adjacency::kAddRemove, plan.setting.epsilon, problem_.delta()}};
      const nf::ExactPlan larger = value_of(nf::exact_for_noise(question, plan.setting.noise));
      const nf::ExactPlan quieter = value_of(nf::exact_for_sizes(question, plan.setting.sizes));
      const std::array<std::pair<double, std::uint64_t>, 3> plans{
          {{plan.setting.noise.value(), plan.setting.sizes.largest()},
           {larger.noise.value(), larger.sizes.largest()},
           {quieter.noise.value(), quieter.sizes.largest()}}};
      for (std::size_t i = 0; i < plans.size(); ++i) {
        const auto& [noise, size] = plans[i];
        double mean = 0;
        double lowest = 1;
        double highest = 0;
        for (std::uint64_t repeat = 0; repeat < options_.repeats; ++repeat) {
          const double accuracy = train(noise, size, problem_.clip, repeat).accuracy;
          mean += accuracy / static_cast<double>(options_.repeats);
          lowest = std::min(lowest, accuracy);
          highest = std::max(highest, accuracy);
        }
        const double exact = epsilon_of(noise, size, false);
        const double all = epsilon_of(noise, size, true);
        chart.series[i].points.push_back({epsilon, lowest, highest});
        csv += fmt::format("{:g},{},{:.6g},{},{:.6g},{:.6g},{:.4f},{:.4f},{:.4f}\n", epsilon, chart.series[i].name,
                           noise, size, exact, all, mean, lowest, highest);
        say("{:<8g} {:<17} {:>6.4g} {:>6} {:>14.5f} {:>15.5f} {:>9.4f}{}\n", epsilon, chart.series[i].name, noise, size,
            exact, all, mean, options_.repeats == 1 ? "" : fmt::format("  {:.4f} to {:.4f}", lowest, highest));
      }
    }
    if (problem_.copies()) {
      say("Every client holds all rows, so that the loss of a row is that of all clients together.\n");
    }
    write("by-epsilon", chart, csv);
  }

  Options options_;
  Problem problem_;
  std::vector<std::unique_ptr<nf::LanesSource>> models_;
  // By noise (0: none), size, clip norm and repeat.
  std::map<std::tuple<double, std::uint64_t, double, std::uint64_t>, Run> runs_;
};

Options parse(int argc, char** argv) {
  Options options;
  const std::string usage =
      "usage: proactive strongly-convex|plain-convex|non-convex [--data PATH] [--test FILE] [--dimension D] "
      "[--classes A,B] [--rate R] [--repeats N] [--output DIR] [--quick]";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto next = [&]() -> std::string {
      if (i + 1 == argc) throw std::runtime_error(fmt::format("{} needs a value\n{}", argument, usage));
      return argv[++i];
    };
    if (argument == "--data") {
      options.data = next();
    } else if (argument == "--test") {
      options.test = next();
    } else if (argument == "--dimension") {
      options.dimension = value_of(nf::parse_count(argument, next()));
    } else if (argument == "--classes") {
      const std::string both = next();
      const std::size_t comma = both.find(',');
      if (comma == std::string::npos) throw std::runtime_error("--classes takes two labels, such as 0,1\n" + usage);
      options.classes = {both.substr(0, comma), both.substr(comma + 1)};
    } else if (argument == "--rate") {
      options.rate = value_of(nf::parse_number(argument, next()));
    } else if (argument == "--repeats") {
      options.repeats = value_of(nf::parse_count(argument, next()));
      if (options.repeats == 0) throw std::runtime_error("--repeats takes a number from 1 on\n" + usage);
    } else if (argument == "--output") {
      options.output = next();
    } else if (argument == "--quick") {
      options.quick = true;
    } else if (options.problem.empty() &&
               (argument == "strongly-convex" || argument == "plain-convex" || argument == "non-convex")) {
      options.problem = argument;
    } else {
      throw std::runtime_error(usage);
    }
  }
  if (options.problem.empty()) throw std::runtime_error(usage);
  if (options.output.empty()) options.output = "proactive-" + options.problem;
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse(argc, argv);
    Problem problem =
        options.problem == "non-convex" ? non_convex(options) : convex(options, options.problem == "strongly-convex");
    if (options.rate) problem.rate = *options.rate;
    Experiment(options, std::move(problem)).run();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "proactive: {}\n", error.what());
    return 2;
  }
}
