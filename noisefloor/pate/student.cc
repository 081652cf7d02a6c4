#include "noisefloor/pate/student.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "noisefloor/pate/teachers.h"

namespace noisefloor {
namespace {

Prediction softmax(std::span<const float> outputs) {
  if (outputs.size() == 1) {  // the logit of the second of two classes
    const float second = 1 / (1 + std::exp(-outputs[0]));
    return {1 - second, second};
  }
  const float most = *std::max_element(outputs.begin(), outputs.end());
  Prediction shares(outputs.begin(), outputs.end());
  float sum = 0;
  for (float& x : shares) sum += x = std::exp(x - most);
  for (float& x : shares) x /= sum;
  return shares;
}

}  // namespace

Student Student::on(const Pate& pate, Dataset pool, const Machine& machine) {
  Student student(pate, std::move(pool), machine);
  student.pool_.people.clear();
  student.pool_.rows_per_person = 0;
  if (pate.student.kind == StudentKind::kSpread) {
    student.coordinates_ = principal_components(student.pool_, pate.student.spreading.components, machine.threads);
  }
  return student;
}

Result<void> Student::learn(std::span<const GivenLabel> labels) {
  if (labels.empty()) {
    return invalid_argument(
        "no query was answered, so that there is nothing to learn from: lower the threshold or its noise, chosen "
        "without "
        "looking at the votes, and ask again, which is charged again");
  }
  const PateStudent& how = pate_->student;
  std::vector<std::uint64_t> examples;
  std::vector<std::int32_t> classes;
  if (how.kind == StudentKind::kSpread) {
    const SpreadingOptions options{how.spreading.components, how.spreading.neighbours, how.spreading.smoothing};
    NF_TRY(const SpreadLabels spread,
           spread_labels(coordinates_, pool_.rows, pool_.classes, labels, options, machine_.threads));
    for (std::uint64_t i = 0; i < pool_.rows; ++i) {
      if (spread.labels[i] < 0) continue;
      examples.push_back(i);
      classes.push_back(spread.labels[i]);
    }
  } else {
    for (const GivenLabel& one : labels) {
      if (one.example >= pool_.rows || one.label < 0 || one.label >= pool_.classes) {
        return input_data_error("a label is of an example or a class that there is not");
      }
      examples.push_back(one.example);
      classes.push_back(one.label);
    }
  }
  model_.reset();
  NF_TRY(Dataset taught, pool_.take(examples));
  taught.labels = std::move(classes);
  taught_ = std::make_unique<Dataset>(std::move(taught));
  NF_TRY(model_, bind_model(pate_->teachers, *taught_, machine_));
  NF_TRY(weights_, train_plainly(*model_, *taught_,
                                 {.epochs = how.epochs,
                                  .batch_size = static_cast<std::size_t>(how.batch_size.value()),
                                  .optimizer = how.optimizer,
                                  .learning_rate = how.learning_rate,
                                  .seed = pate_->seed,
                                  .number = pate_->count}));
  if (std::all_of(weights_.begin(), weights_.end(), [](float x) { return std::isfinite(x); })) return success();
  return invalid_argument("the student diverged: take a smaller learning_rate under [student]. Labels are kept");
}

Result<std::vector<Prediction>> Student::predict(std::span<const std::uint64_t> examples) {
  NF_TRY(const Dataset asked, pool_.take(examples));
  const std::vector<float> outputs = model_->predict(weights_, asked);
  const std::size_t width = outputs.size() / std::max<std::size_t>(1, asked.rows);
  std::vector<Prediction> predictions;
  for (std::size_t i = 0; i < asked.rows; ++i) {
    predictions.push_back(softmax(std::span(outputs).subspan(i * width, width)));
  }
  return predictions;
}

std::vector<GivenLabel> given_labels(std::span<const ReleasedLabel> labels) {
  std::vector<GivenLabel> given;
  for (const ReleasedLabel& one : labels) {
    if (one.answer.source != LabelSource::kNone) given.push_back({one.query, one.answer.label});
  }
  return given;
}

}  // namespace noisefloor
