// How good PATE's students are on images in the format of MNIST, by the protocol that papers use: the training images
// are private, the first 9,000 test images are public and without labels, and the last 1,000 test images measure the
// student. Prints one line for each seed and setting: exact ε, answers, how many labels are right, and the accuracy of
// the student beside that of one teacher and of the teachers' plurality. (The last two, and which labels are right,
// would be private or unknown in a real use: here all labels are public.)
//
//   pate_accuracy TRAIN_IMAGES TRAIN_LABELS TEST_IMAGES TEST_LABELS FILE.toml[,FILE.toml…] [SEEDS] [THREADS] [CACHE]
//
// All files must agree but for [votes] and [student]. Ballots are kept in the folder CACHE, so that other settings need
// no new teachers.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "noisefloor/base/text.h"
#include "noisefloor/model/scattering.h"
#include "noisefloor/pate/label_spreading.h"
#include "noisefloor/pate/pate_file.h"
#include "noisefloor/pate/shards.h"
#include "noisefloor/pate/student.h"
#include "noisefloor/pate/teachers.h"
#include "noisefloor/pate/voting.h"
#include "noisefloor/random/uniform.h"
#include "noisefloor/table/idx.h"
#include "noisefloor/training/network.h"

namespace {

using namespace noisefloor;  // NOLINT(google-build-using-namespace): one program

constexpr std::size_t kPool = 9000;

template <class T>
T need(Result<T> result) {
  if (result.has_value()) return std::move(result).value();
  fmt::print(stderr, "{}\n", result.error().message);
  std::exit(1);
}

std::vector<std::uint64_t> range_of(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> all(last - first);
  std::iota(all.begin(), all.end(), first);
  return all;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A class for each public example.
using Ballot = std::vector<std::uint16_t>;

std::vector<Ballot> teach(const Pate& pate, const Dataset& train, const Dataset& asked, std::size_t threads) {
  ShortKey key;
  SecureRandom random = need(SecureRandom::create());
  random.fill(std::as_writable_bytes(std::span(key.bytes())));
  const std::vector<Shard> shards = divide_into_shards(train, pate.count, key);
  const std::vector<std::uint64_t> all = range_of(0, asked.rows);
  const Classroom classroom = need(classroom_of(pate, asked, all, {.threads = threads}));
  std::vector<Ballot> ballots(pate.count);
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> team;
  for (std::size_t t = 0; t < threads; ++t) {
    team.emplace_back([&] {
      for (std::size_t teacher = next++; teacher < pate.count; teacher = next++) {
        ballots[teacher] = need(ballot_of(pate, train, shards[teacher], teacher, classroom, {.threads = 1}));
      }
    });
  }
  for (std::thread& one : team) one.join();
  return ballots;
}

std::vector<Ballot> taught_or_kept(const std::string& path, const Pate& pate,
                                   const std::function<const Dataset&()>& train, const Dataset& asked,
                                   std::size_t threads) {
  std::vector<Ballot> ballots(pate.count, Ballot(asked.rows));
  if (std::ifstream file(path, std::ios::binary); file) {
    for (Ballot& one : ballots) {
      file.read(reinterpret_cast<char*>(one.data()), static_cast<std::streamsize>(one.size() * 2));  // NOLINT
    }
    return ballots;
  }
  const Dataset& rows = train();
  const auto start = std::chrono::steady_clock::now();
  ballots = teach(pate, rows, asked, threads);
  fmt::print("# {} teachers taught in {:.0f} s on {} threads\n", pate.count, seconds_since(start), threads);
  std::fflush(stdout);
  if (!path.empty()) {
    std::ofstream file(path, std::ios::binary);
    for (const Ballot& one : ballots) {
      file.write(reinterpret_cast<const char*>(one.data()), static_cast<std::streamsize>(one.size() * 2));  // NOLINT
    }
  }
  return ballots;
}

double percent(std::size_t right, std::size_t all) {
  return 100 * static_cast<double>(right) / static_cast<double>(std::max<std::size_t>(1, all));
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> args(arguments + 1, arguments + count);
  if (args.size() < 5) {
    fmt::print(stderr,
               "pate_accuracy TRAIN_IMAGES TRAIN_LABELS TEST_IMAGES TEST_LABELS FILE.toml,… [SEEDS] [THREADS] "
               "[CACHE]\n");
    return 2;
  }
  const std::size_t seeds = args.size() > 5 ? std::stoul(args[5]) : 1;
  const std::size_t threads = args.size() > 6 ? std::stoul(args[6]) : 2;
  const std::string cache = args.size() > 7 ? args[7] : "";
  std::vector<std::pair<std::string, PateFile>> settings;
  for (const std::string_view path : split_list(args[4])) {
    settings.emplace_back(std::filesystem::path(path).stem().string(), need(read_pate_file(std::string(path))));
  }
  const Pate& first = settings.front().second.pate;
  const auto features_of = [&](const std::string& images, const std::string& labels) {
    const Dataset read = need(read_idx(images, labels, 10));
    return first.teachers.model.scattering ? need(scattered(read, threads)) : read;
  };
  const Dataset test = features_of(args[2], args[3]);
  std::optional<Dataset> train;  // read if there are teachers to teach
  Dataset pool = need(test.take(range_of(0, kPool)));
  const Dataset held_out = need(test.take(range_of(kPool, test.rows)));
  const std::vector<std::int32_t> truth = pool.labels;
  std::fill(pool.labels.begin(), pool.labels.end(), 0);
  for (std::size_t seed = 1; seed <= seeds; ++seed) {
    const std::string path = cache.empty() ? "" : fmt::format("{}/ballots-{}", cache, seed);
    const std::vector<Ballot> ballots = taught_or_kept(
        path, first,
        [&]() -> const Dataset& {
          if (!train) train = features_of(args[0], args[1]);
          return *train;
        },
        pool, threads);
    std::size_t right = 0;
    std::vector<Votes> counts(kPool, Votes(10));
    for (const Ballot& one : ballots) {
      for (std::size_t i = 0; i < kPool; ++i) {
        ++counts[i][one[i]];
        right += one[i] == static_cast<std::uint16_t>(truth[i]) ? 1U : 0U;
      }
    }
    std::size_t plurality = 0;
    for (std::size_t i = 0; i < kPool; ++i) {
      const auto best = std::max_element(counts[i].begin(), counts[i].end()) - counts[i].begin();
      plurality += best == truth[i] ? 1U : 0U;
    }
    fmt::print("# seed {}: a teacher {:.2f} %, plurality {:.2f} %\n", seed, percent(right, kPool * ballots.size()),
               percent(plurality, kPool));
    std::fflush(stdout);
    for (const auto& [name, file] : settings) {
      const Pate& pate = file.pate;
      const PlannedVotes plan = need(plan_votes(pate.votes, Adjacency::kAddRemove, kPool));
      ReplayRandom order_of = need(ReplayRandom::create(seed));
      std::vector<std::uint64_t> order = range_of(0, kPool);
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[uniform_below(order_of, i)]);
      order.resize(plan.count.queries.value());
      Poll poll{{}, pate.count, {}};
      for (const std::uint64_t i : order) poll.votes.push_back(counts[i]);
      SecureRandom random = need(SecureRandom::create());
      Student student = Student::on(pate, pool, {.threads = threads});
      const auto given_of = [&](std::span<const QueryAnswer> answers) {
        std::vector<ReleasedLabel> labels;
        for (std::size_t i = 0; i < answers.size(); ++i) labels.push_back({order[i], answers[i]});
        return given_labels(labels);
      };
      if (pate.votes.aggregator == Aggregator::kInteractive) {
        poll.predict = [&](std::span<const QueryAnswer> so_far, std::size_t begin,
                           std::size_t end) -> Result<std::vector<Prediction>> {
          NF_TRY_VOID(student.learn(given_of(so_far)));
          return student.predict(std::span(order).subspan(begin, end - begin));
        };
      }
      const auto answers = need(answer_queries(poll, pate.votes, plan.count, random));
      const std::vector<GivenLabel> given = given_of(answers);
      std::size_t labels_right = 0;
      for (const GivenLabel& one : given) labels_right += one.label == truth[one.example] ? 1U : 0U;
      const auto learning = std::chrono::steady_clock::now();
      const Result<void> learned = student.learn(given);
      if (!learned.has_value()) {
        fmt::print("{} {}: {}\n", seed, name, learned.error().message);
        continue;
      }
      fmt::print("{} {}: epsilon {:.4f}, asked {}, answered {}, labels right {:.2f} %, student {:.2f} % ({:.0f} s)\n",
                 seed, name, plan.epsilon.upper, answers.size(), given.size(), percent(labels_right, given.size()),
                 100 * *student.quality(held_out).accuracy, seconds_since(learning));
      std::fflush(stdout);
    }
  }
  return 0;
}
