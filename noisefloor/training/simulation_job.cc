#include "noisefloor/training/simulation_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <utility>

#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/table/csv.h"
#include "noisefloor/table/split.h"
#include "noisefloor/training/examples.h"

namespace noisefloor {
namespace {

using federated::Cooperation;
using federated::FederatedQuality;
using federated::LearningOptions;
using federated::LearningResult;
using federated::SimulatedRound;

// The readers of training files are for a Training: this one has what they look at.
TrainingFile as_training(const SimulationFile& file, const std::string& location) {
  const Training training{.name = file.name,
                          .data = file.data,
                          .model = file.model,
                          .privacy = {.budget = file.name,
                                      .epsilon = Epsilon::of(1),
                                      .delta = Delta::of(0),
                                      .target_epsilon = {},
                                      .target_delta = Delta::of(0),
                                      .noise_multiplier = {},
                                      .private_training = false},
                          .descent = {.batch_size = Rows::of(1),
                                      .steps = {},
                                      .clip = {},
                                      .adaptive = {},
                                      .optimizer = {},
                                      .learning_rate = {},
                                      .augmentation = {}}};
  return {training, std::filesystem::path(location).parent_path().string(), {}, location, ""};
}

std::string with_site(std::string path, const std::string& site) {
  for (auto at = path.find(kSiteInPath); at != std::string::npos; at = path.find(kSiteInPath, at + site.size())) {
    path.replace(at, kSiteInPath.size(), site);
  }
  return path;
}

ExampleFiles with_site(const ExampleFiles& files, const std::string& site) {
  if (const auto* idx = std::get_if<IdxFiles>(&files)) {
    return IdxFiles{with_site(idx->images, site), with_site(idx->labels, site)};
  }
  return TextFile{with_site(std::get<TextFile>(files).path, site)};
}

bool names_site(const ExampleFiles& files) {
  const auto* text = std::get_if<TextFile>(&files);
  const std::string& path = text != nullptr ? text->path : std::get<IdxFiles>(files).images;
  return path.find(kSiteInPath) != std::string::npos;
}

// The cells of a column, one of each record. The rows are public.
Result<std::vector<std::string>> cells_of(const std::string& path, const CsvFormat& format, const std::string& column) {
  NF_TRY(ByteSource source, ByteSource::open(path));
  NF_TRY(CsvReader reader, CsvReader::open(std::move(source), format));
  const auto found = std::find(reader.header().begin(), reader.header().end(), column);
  if (found == reader.header().end()) {
    return input_data_error(fmt::format("{} has no column {}: sites are told apart by it", shown(path), shown(column)));
  }
  const auto place = static_cast<std::size_t>(found - reader.header().begin());
  std::vector<std::string> cells;
  for (;;) {
    NF_TRY(const bool more, reader.next());
    if (!more) return cells;
    cells.emplace_back(reader.cells()[place]);
  }
}

struct Held {
  Dataset train;
  Dataset test;
};

Result<Held> divided(const Dataset& all, const TrainingData& data, std::uint64_t seed) {
  NF_TRY(const Split split, split_by_fraction(all, 0, data.test_fraction, data.split_seed + seed));
  Held held;
  NF_TRY(held.train, all.take(split.train));
  NF_TRY(held.test, all.take(split.test));
  return held;
}

// The rows of a file that the sites share, and which are at which site.
struct Grouped {
  Dataset rows;
  std::map<std::string, std::vector<std::uint64_t>> at;
};

Result<Grouped> by_column(const TrainingFile& training, const ExampleFiles& files, const std::string& column,
                          std::size_t threads) {
  Grouped grouped;
  NF_TRY(grouped.rows, read_examples_of(training, files, threads));
  const std::string path = training.resolve(std::get<TextFile>(files).path);
  NF_TRY(const auto cells, cells_of(path, std::get<CsvTable>(training.training.data.format).format, column));
  if (cells.size() != grouped.rows.rows) {
    return input_data_error(
        fmt::format("{} has {} records and {} examples", shown(path), cells.size(), grouped.rows.rows));
  }
  for (std::size_t row = 0; row < cells.size(); ++row) grouped.at[cells[row]].push_back(row);
  return grouped;
}

class DataReader {
 public:
  DataReader(const SimulationFile& file, const std::string& location, std::size_t threads)
      : file_(file), training_(as_training(file, location)), threads_(threads) {}

  Result<SimulationData> read(std::uint64_t seed) {
    seed_ = seed;
    SimulationData data;
    switch (file_.sites.by) {
      case SitesBy::kFile:
        NF_TRY_VOID(read_files(data));
        break;
      case SitesBy::kColumn:
        NF_TRY_VOID(read_column(data));
        break;
      case SitesBy::kPartition:
        NF_TRY_VOID(read_partition(data));
    }
    // Groups are for recall of suggestions, and people for other units.
    for (auto* sets : {&data.train, &data.tests}) {
      for (Dataset& set : *sets) set.groups.clear();
    }
    standardise(data);
    return data;
  }

 private:
  Result<void> read_files(SimulationData& data) {
    for (const std::string& site : file_.sites.names) {
      NF_TRY(Dataset rows, read_examples_of(training_, with_site(file_.data.train, site), threads_));
      NF_TRY_VOID(add_site(data, site, std::move(rows)));
      if (!file_.data.test || !names_site(*file_.data.test)) continue;
      NF_TRY(Dataset test, read_examples_of(training_, with_site(*file_.data.test, site), threads_));
      data.tests.push_back(std::move(test));
      data.tests_by_site = true;
    }
    return read_common_test(data);
  }

  Result<void> read_column(SimulationData& data) {
    NF_TRY(const Grouped grouped, by_column(training_, file_.data.train, file_.sites.column, threads_));
    std::optional<Grouped> tests;
    if (file_.data.test) {
      NF_TRY(tests, by_column(training_, *file_.data.test, file_.sites.column, threads_));
    }
    for (const auto& [site, numbers] : grouped.at) {
      if (numbers.size() < file_.sites.least) {
        ++data.left_out;
        continue;
      }
      NF_TRY(Dataset rows, grouped.rows.take(numbers));
      NF_TRY_VOID(add_site(data, site, std::move(rows)));
      if (!tests) continue;
      const auto found = tests->at.find(site);
      const std::vector<std::uint64_t> none;
      NF_TRY(Dataset test, tests->rows.take(found == tests->at.end() ? none : found->second));
      data.tests.push_back(std::move(test));
      data.tests_by_site = true;
    }
    if (data.names.empty()) {
      return invalid_argument(fmt::format("no site has {} rows: lower least under [sites]", file_.sites.least));
    }
    return success();
  }

  Result<void> read_partition(SimulationData& data) {
    NF_TRY(Dataset all, read_examples_of(training_, file_.data.train, threads_));
    if (!file_.data.test) {
      NF_TRY(Held held, divided(all, file_.data, seed_));
      all = std::move(held.train);
      data.tests.push_back(std::move(held.test));
    }
    federated::PartitionOptions options = file_.sites.partition;
    options.seed = seed_;
    NF_TRY(const auto parts, federated::partition_rows(options, all.rows, all.labels, all.classes));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      NF_TRY(Dataset rows, all.take(parts[i]));
      data.names.push_back(fmt::format("{}", i + 1));
      data.train.push_back(std::move(rows));
    }
    return read_common_test(data);
  }

  // Keeps a part for tests, unless there is a file for them.
  Result<void> add_site(SimulationData& data, const std::string& name, Dataset rows) {
    data.names.push_back(name);
    if (file_.data.test) {
      data.train.push_back(std::move(rows));
      return success();
    }
    NF_TRY(Held held, divided(rows, file_.data, seed_));
    data.train.push_back(std::move(held.train));
    data.tests.push_back(std::move(held.test));
    data.tests_by_site = true;
    return success();
  }

  Result<void> read_common_test(SimulationData& data) {
    if (!data.tests.empty() || !file_.data.test) return success();
    NF_TRY(Dataset test, read_examples_of(training_, *file_.data.test, threads_));
    data.tests.push_back(std::move(test));
    return success();
  }

  struct Moments {
    std::vector<double> mean;
    std::vector<double> deviation;
  };
  static Moments moments_of(const std::vector<const Dataset*>& sets) {
    const std::size_t width = sets.front()->width();
    Moments moments{std::vector<double>(width), std::vector<double>(width)};
    double rows = 0;
    for (const Dataset* set : sets) {
      rows += static_cast<double>(set->rows);
      for (std::size_t i = 0; i < set->features.size(); ++i) moments.mean[i % width] += double{set->features[i]};
    }
    for (double& mean : moments.mean) mean /= std::max(rows, 1.0);
    for (const Dataset* set : sets) {
      for (std::size_t i = 0; i < set->features.size(); ++i) {
        moments.deviation[i % width] += std::pow(double{set->features[i]} - moments.mean[i % width], 2);
      }
    }
    for (double& deviation : moments.deviation) deviation = std::sqrt(deviation / std::max(rows, 1.0));
    return moments;
  }
  static void apply(const Moments& moments, Dataset& set) {
    const std::size_t width = moments.mean.size();
    for (std::size_t i = 0; i < set.features.size(); ++i) {
      // A column that is constant says nothing, and stays 0.
      const double deviation = moments.deviation[i % width];
      const double centred = double{set.features[i]} - moments.mean[i % width];
      set.features[i] = deviation > 1e-9 ? static_cast<float>(centred / deviation) : 0.0F;
    }
  }

  void standardise(SimulationData& data) const {
    const bool by_site = file_.sites.standardise == Standardise::kBySite;
    if (file_.sites.standardise == Standardise::kNone) return;
    std::vector<const Dataset*> all;
    for (const Dataset& set : data.train) all.push_back(&set);
    const Moments common = moments_of(all);
    std::vector<Moments> of_site(data.train.size(), common);
    for (std::size_t i = 0; by_site && i < of_site.size(); ++i) of_site[i] = moments_of({&data.train[i]});
    for (std::size_t i = 0; i < data.train.size(); ++i) apply(of_site[i], data.train[i]);
    for (std::size_t i = 0; i < data.tests.size(); ++i) apply(data.tests_by_site ? of_site[i] : common, data.tests[i]);
  }

  const SimulationFile& file_;
  TrainingFile training_;
  std::size_t threads_;
  std::uint64_t seed_ = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Result<void> expect_writable(const SimulationWish& wish) {
  if (!wish.write_files) return success();
  std::error_code failed;
  std::filesystem::create_directories(wish.folder, failed);
  if (failed)
    return io_error(fmt::format("the folder {} cannot be made: {}", shown(wish.folder.string()), failed.message()));
  return success();
}

}  // namespace

std::optional<OverSeeds> over_seeds(const std::vector<SimulatedRun>& runs, std::size_t method,
                                    const std::function<std::optional<double>(const SimulatedRun&)>& figure) {
  std::optional<OverSeeds> all;
  double sum = 0;
  double count = 0;
  for (const SimulatedRun& run : runs) {
    if (run.method != method) continue;
    const std::optional<double> value = figure(run);
    if (!value) return std::nullopt;
    sum += *value;
    ++count;
    if (!all) all = OverSeeds{0, *value, *value};
    all->lowest = std::min(all->lowest, *value);
    all->highest = std::max(all->highest, *value);
  }
  if (all) all->mean = sum / count;
  return all;
}

double largest_epsilon(const LearningResult& result) {
  const auto& epsilon = result.rounds.back().epsilon;
  if (epsilon.empty()) return HUGE_VAL;
  return *std::max_element(epsilon.begin(), epsilon.end());
}

Result<SimulationFile> read_simulation_file(const std::string& path) {
  NF_TRY(const std::string text, read_file(path, kMaxPipelineBytes));
  SimulationText read = read_simulation(text, files_beside(path));
  if (read.simulation) return *std::move(read.simulation);
  std::size_t errors = 0;
  std::string first = path + ": cannot be read";
  for (const Finding& finding : read.findings) {
    if (finding.severity != Severity::kError) continue;
    if (errors++ > 0) continue;
    first = fmt::format("{}:{}:{}: {}; {}", path, finding.place.line, finding.place.column, finding.message,
                        finding.remedy);
  }
  return invalid_argument(first + (errors > 1 ? fmt::format(" (and {} more)", errors - 1) : ""));
}

Result<SimulationJob> SimulationJob::prepare(const std::string& path, SimulationWish wish, const Machine& machine) {
  auto parts = std::make_unique<Parts>();
  NF_TRY(parts->file, read_simulation_file(path));
  parts->location = path;
  parts->wish = std::move(wish);
  if (parts->wish.folder.empty()) parts->wish.folder = parts->file.name + "-simulation";
  parts->machine = machine;
  NF_TRY(parts->first, DataReader(parts->file, path, machine.threads).read(parts->file.seeds.front()));
  const TrainingFile training = as_training(parts->file, path);
  Machine one = machine;
  one.threads = 1;
  NF_TRY(const auto model, bind_model(training.training, parts->first.train.front(), one));
  parts->parameters = model->parameters();
  return SimulationJob(std::move(parts));
}

Result<std::vector<SimulatedRun>> SimulationJob::run(const JobControl& control, const Observe& observe) {
  NF_TRY_VOID(expect_writable(wish()));
  const TrainingFile training = as_training(file(), parts_->location);
  Machine one = parts_->machine;
  one.threads = 1;  // each site is one thread's
  const federated::ModelMaker maker = [&](const Dataset& rows) { return bind_model(training.training, rows, one); };
  std::vector<SimulatedRun> runs;
  for (const std::uint64_t seed : file().seeds) {
    NF_TRY(const SimulationData data, seed == file().seeds.front()
                                          ? Result<SimulationData>(parts_->first)
                                          : DataReader(file(), parts_->location, parts_->machine.threads).read(seed));
    std::vector<federated::SimulatedSite> sites;
    for (std::size_t i = 0; i < data.names.size(); ++i) sites.push_back({data.names[i], &data.train[i]});
    federated::SimulatedTests tests;
    for (const Dataset& set : data.tests) tests.sets.push_back(&set);
    tests.by_site = data.tests_by_site;
    NF_TRY(const auto model, maker(data.train.front()));
    NF_TRY(ReplayRandom random, ReplayRandom::create(seed));
    const std::vector<float> initial = model->initial_weights(random);
    for (std::size_t method = 0; method < file().methods.size(); ++method) {
      LearningOptions options = file().methods[method].options;
      options.seed = seed;
      options.threads = parts_->machine.threads;
      const auto start = std::chrono::steady_clock::now();
      Result<LearningResult> learned =
          federated::simulate_learning(options, sites, tests, maker, initial, [&](const SimulatedRound& round) {
            if (observe) observe(method, seed, round);
            return !control.stop_asked();
          });
      if (!learned.has_value()) {
        Error error = std::move(learned).error();
        error.message = fmt::format("{}: {}", file().methods[method].name, error.message);
        return error;
      }
      if (control.stop_asked()) return invalid_argument("the simulation was stopped");
      SimulatedRun run{method, seed, std::move(learned).value(), {}, seconds_since(start)};
      if (tests.sets.size() == 1 && !run.result.quality.sites.empty()) run.auc = run.result.quality.sites.front().auc;
      runs.push_back(std::move(run));
    }
  }
  if (wish().write_files) {
    NF_TRY_VOID(write_file((folder() / kSimulationTableName).string(), simulation_table(*this, runs)));
  }
  return runs;
}

std::string simulation_table(const SimulationJob& job, const std::vector<SimulatedRun>& runs) {
  std::string csv =
      "method,seed,round,counted,sites,loss,accuracy,macro_accuracy,worst_accuracy,epsilon,bytes_up,bytes_down,"
      "seconds\n";
  const auto cell = [](const std::optional<double>& value) { return value ? fmt::format("{:.8g}", *value) : ""; };
  for (const SimulatedRun& run : runs) {
    for (const SimulatedRound& round : run.result.rounds) {
      std::string quality = ",,,";
      if (round.quality) {
        quality = fmt::format("{:.8g},{},{},{}", round.quality->loss, cell(round.quality->accuracy),
                              cell(round.quality->macro), cell(round.quality->worst));
      }
      std::optional<double> epsilon;
      if (!round.epsilon.empty()) epsilon = *std::max_element(round.epsilon.begin(), round.epsilon.end());
      csv += fmt::format("\"{}\",{},{},{},{},{},{},{},{},{:.6g}\n", job.file().methods[run.method].name, run.seed,
                         round.round, round.counted ? 1 : 0, round.survivors, quality, cell(epsilon), round.bytes_up,
                         round.bytes_down, round.seconds);
    }
  }
  return csv;
}

}  // namespace noisefloor
