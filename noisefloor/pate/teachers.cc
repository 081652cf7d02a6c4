#include "noisefloor/pate/teachers.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "noisefloor/crypto/hash.h"
#include "noisefloor/random/uniform.h"
#include "noisefloor/sgd/optimizer.h"
#include "noisefloor/sgd/schedule.h"

namespace noisefloor {
namespace {

using Clock = std::chrono::steady_clock;

// A seed of its own for each teacher, public as the settings are.
std::uint64_t seed_of(std::uint64_t seed, std::uint64_t number) {
  const std::string text = "noisefloor teacher " + std::to_string(seed) + " " + std::to_string(number);
  const Digest digest = blake2b(text);
  std::uint64_t made = 0;
  std::memcpy(&made, digest.data(), sizeof made);
  return made;
}

void shuffle(std::vector<std::uint64_t>& rows, BitStream& stream) {
  for (std::size_t i = rows.size(); i > 1; --i) {
    std::swap(rows[i - 1], rows[static_cast<std::size_t>(uniform_below(stream, i))]);
  }
}

// A dataset that a model can be bound to where a shard is empty: one example of zeros, which nobody learns from.
Dataset nothing_like(const Dataset& data) {
  Dataset one;
  one.rows = 1;
  one.shape = data.shape;
  one.features.assign(data.width(), 0);
  one.labels = {0};
  one.classes = data.classes;
  return one;
}

}  // namespace

Result<Classroom> classroom_of(const Pate& pate, const Dataset& pool, std::span<const std::uint64_t> order,
                               const Machine& machine) {
  NF_TRY(Dataset queries, pool.take(order));
  Classroom classroom{std::move(queries), {order.begin(), order.end()}};
  if (pate.kind != TeacherKind::kSpread) return classroom;
  classroom.space = principal_space(pool, pate.spreading.components, machine.threads);
  NF_TRY(classroom.graph,
         SpreadingGraph::on(classroom.space->coordinates(pool, machine.threads), pool.rows,
                            {pate.spreading.components, pate.spreading.neighbours, pate.spreading.smoothing, 100},
                            machine.threads));
  return classroom;
}

Result<std::vector<std::uint16_t>> ballot_of(const Pate& pate, const Dataset& data, const Shard& shard,
                                             std::size_t teacher, const Classroom& classroom, const Machine& machine) {
  NF_TRY(const Dataset rows, rows_of_teacher(data, shard));
  if (classroom.graph) {
    const std::vector<std::uint16_t> spread =
        classroom.graph->classes_from(classroom.space->coordinates(rows, 1), rows.labels, data.classes);
    std::vector<std::uint16_t> ballot;
    for (const std::uint64_t query : classroom.order) ballot.push_back(spread[query]);
    return ballot;
  }
  const Dataset& queries = classroom.queries;
  const Dataset nothing = nothing_like(data);
  const Training& training = pate.teachers;
  NF_TRY(const std::unique_ptr<TrainableModel> model, bind_model(training, rows.rows > 0 ? rows : nothing, machine));
  const PlainTraining how{.epochs = rows.rows > 0 ? training.descent.epochs : 0,
                          .batch_size = static_cast<std::size_t>(training.descent.batch_size.value()),
                          .optimizer = training.descent.optimizer,
                          .learning_rate = training.descent.learning_rate.initial,
                          .seed = pate.seed,
                          .number = teacher};
  NF_TRY(const std::vector<float> weights, train_plainly(*model, rows.rows > 0 ? rows : nothing, how));
  return classes_of(model->predict(weights, queries), queries.rows, static_cast<std::size_t>(data.classes));
}

namespace {

// Teachers that are taught at the same time. One thread, the caller's, writes ballots and tells of progress.
class School {
 public:
  School(const Pate& pate, const Dataset& data, const Classroom& classroom, std::span<const Shard> shards,
         std::vector<std::size_t> waiting)
      : pate_(pate), data_(data), classroom_(classroom), shards_(shards), waiting_(std::move(waiting)) {}

  void work(const Machine& machine) {
    for (;;) {
      const std::size_t turn = next_.fetch_add(1);
      if (stopping_ || turn >= waiting_.size()) break;
      const std::size_t teacher = waiting_[turn];
      Result<std::vector<std::uint16_t>> ballot =
          ballot_of(pate_, data_, shards_[teacher], teacher, classroom_, machine);
      const std::lock_guard lock(mutex_);
      if (!ballot.has_value()) {
        if (!failure_) failure_ = std::move(ballot).error();
        stopping_ = true;
        break;
      }
      done_.emplace_back(teacher, std::move(ballot).value());
      changed_.notify_one();
    }
    const std::lock_guard lock(mutex_);
    ++finished_;
    changed_.notify_one();
  }

  // Until all `threads` have finished.
  Result<void> write_down(std::size_t threads, Ballots& ballots, const TeachingHooks& hooks) {
    const Clock::time_point start = Clock::now();
    const std::size_t before = ballots.count();
    const auto tell = [&] {
      if (!hooks.progress) return;
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      const std::size_t here = ballots.count() - before;
      const double each = here > 0 ? seconds / static_cast<double>(here) : 0;
      hooks.progress(
          {ballots.count(), pate_.count, seconds, each * static_cast<double>(pate_.count - ballots.count())});
    };
    Clock::time_point told = start;
    for (;;) {
      std::vector<std::pair<std::size_t, std::vector<std::uint16_t>>> done;
      bool last = false;
      {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, std::chrono::milliseconds(200), [&] { return !done_.empty() || finished_ == threads; });
        done.swap(done_);
        last = finished_ == threads;
      }
      for (const auto& [teacher, ballot] : done) {
        if (const Result<void> added = ballots.add(teacher, ballot); !added.has_value()) {
          stopping_ = true;
          const std::lock_guard lock(mutex_);
          if (!failure_) failure_ = added.error();
        }
      }
      if (hooks.stop && hooks.stop()) stopping_ = true;
      if (last || Clock::now() - told >= std::chrono::seconds(1)) {
        tell();
        told = Clock::now();
      }
      if (last) break;
    }
    if (failure_) return *failure_;
    return success();
  }

 private:
  const Pate& pate_;
  const Dataset& data_;
  const Classroom& classroom_;
  std::span<const Shard> shards_;
  std::vector<std::size_t> waiting_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<std::size_t, std::vector<std::uint16_t>>> done_;
  std::size_t finished_ = 0;
  std::optional<Error> failure_;
};

}  // namespace

Result<std::vector<float>> train_plainly(TrainableModel& model, const Dataset& data, const PlainTraining& how) {
  NF_TRY(ReplayRandom random, ReplayRandom::create(seed_of(how.seed, how.number)));
  std::vector<float> weights = model.initial_weights(random);
  const std::size_t batch = std::max<std::size_t>(1, how.batch_size);
  const std::size_t each = (data.rows + batch - 1) / batch;
  const auto steps = static_cast<std::uint64_t>(std::ceil(how.epochs * static_cast<double>(each)));
  if (steps == 0 || data.rows == 0) return weights;
  NF_TRY(Optimizer optimizer, Optimizer::create(how.optimizer, weights.size()));
  NF_TRY(const LearningRate rate,
         LearningRate::create({.initial = how.learning_rate, .decay = RateDecay::kCosine, .steps = steps}));
  std::vector<std::uint64_t> order(data.rows);
  std::iota(order.begin(), order.end(), 0);
  std::vector<float> gradient(weights.size());
  for (std::uint64_t step = 0; step < steps; ++step) {
    const std::size_t place = static_cast<std::size_t>(step % each) * batch;
    if (place == 0) shuffle(order, random);
    const std::size_t size = std::min(batch, order.size() - place);
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    NF_TRY(const std::size_t used,
           model.add(weights, std::span(order).subspan(place, size), nullptr, random, gradient));
    (void)used;
    for (float& g : gradient) g /= static_cast<float>(size);
    optimizer.step(weights, gradient, rate.at(step));
  }
  return weights;
}

std::vector<std::uint16_t> classes_of(std::span<const float> outputs, std::size_t examples, std::size_t classes) {
  std::vector<std::uint16_t> chosen(examples);
  const std::size_t width = examples == 0 ? 0 : outputs.size() / examples;
  for (std::size_t i = 0; i < examples; ++i) {
    if (width == 1) {  // the logit of the second of two classes
      chosen[i] = outputs[i] > 0 ? 1 : 0;
      continue;
    }
    float most = -std::numeric_limits<float>::infinity();
    for (std::size_t j = 0; j < std::min(width, classes); ++j) {
      if (outputs[i * width + j] > most) {
        most = outputs[i * width + j];
        chosen[i] = static_cast<std::uint16_t>(j);
      }
    }
  }
  return chosen;
}

Result<bool> teach(const Pate& pate, const Dataset& data, const Dataset& pool, std::span<const std::uint64_t> order,
                   const Machine& machine, Ballots& ballots, const TeachingHooks& hooks) {
  if (hooks.stop && hooks.stop()) return false;
  const std::vector<Shard> shards = divide_into_shards(data, pate.count, ballots.shard_key());
  NF_TRY_VOID(expect_disjoint(data, shards));
  std::vector<std::size_t> waiting;
  for (std::size_t teacher = 0; teacher < pate.count; ++teacher) {
    if (!ballots.has(teacher)) waiting.push_back(teacher);
  }
  // A network for torch uses all threads by itself.
  NF_TRY(const Classroom classroom, classroom_of(pate, pool, order, machine));
  const bool is_torch = pate.kind == TeacherKind::kNetwork && pate.teachers.model.torch.has_value();
  const std::size_t threads =
      is_torch ? 1 : std::clamp<std::size_t>(machine.threads, 1, std::max<std::size_t>(1, waiting.size()));
  Machine each = machine;
  if (!is_torch) each.threads = 1;
  School school(pate, data, classroom, shards, std::move(waiting));
  std::vector<std::thread> workers;
  workers.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) workers.emplace_back([&] { school.work(each); });
  const Result<void> written = school.write_down(threads, ballots, hooks);
  for (std::thread& worker : workers) worker.join();
  if (!written.has_value()) return written.error();
  return ballots.count() == pate.count;
}

}  // namespace noisefloor
