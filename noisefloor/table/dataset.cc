#include "noisefloor/table/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_set>

#include "noisefloor/base/check.h"

namespace noisefloor {
namespace {

constexpr std::size_t kMaxVolume = std::size_t{1} << 48;

Error not_as_declared(std::string_view field, std::string_view requirement) {
  return invalid_argument(fmt::format("the data set's {} must {}", field, requirement));
}

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

}  // namespace

Result<std::size_t> volume(std::span<const std::size_t> shape) {
  constexpr std::string_view refusal = "a shape must be one or more sizes above 0 with a product of at most 2^48";
  if (shape.empty()) return invalid_argument(std::string(refusal));
  std::size_t product = 1;
  for (std::size_t size : shape) {
    if (size == 0 || product > kMaxVolume / size) return invalid_argument(std::string(refusal));
    product *= size;
  }
  return product;
}

std::size_t Dataset::width() const {
  const Result<std::size_t> product = volume(shape);
  NF_CHECK(product.has_value(), "a data set without a shape");
  return product.value();
}

std::span<const float> Dataset::example(std::size_t index) const {
  NF_CHECK(index < rows, "an example that is not there");
  return std::span(features).subspan(index * width(), width());
}

std::size_t Dataset::units() const {
  if (unit() == PrivacyUnit::kRow) return rows;
  std::unordered_set<std::uint32_t> found(people.begin(), people.end());
  found.erase(kNobody);
  return found.size();
}

std::vector<std::uint64_t> Dataset::without_nulls(std::span<const std::uint64_t> numbers) const {
  std::vector<std::uint64_t> kept;
  kept.reserve(numbers.size());
  std::copy_if(numbers.begin(), numbers.end(), std::back_inserter(kept),
               [&](std::uint64_t number) { return !is_null(number); });
  return kept;
}

Result<Dataset> Dataset::take(std::span<const std::uint64_t> numbers) const {
  const auto beyond = [&](std::uint64_t number) { return number >= rows; };
  if (std::any_of(numbers.begin(), numbers.end(), beyond)) {
    return invalid_argument("the number of an example must be below the number of examples; they count from 0");
  }
  Dataset taken{
      .rows = numbers.size(), .shape = shape, .features = {}, .labels = {}, .classes = classes, .targets = {}};
  taken.rows_per_person = rows_per_person;
  const std::size_t width_of_one = width();
  taken.features.reserve(numbers.size() * width_of_one);
  taken.labels.reserve(classes > 0 ? numbers.size() : 0);
  taken.targets.reserve(classes > 0 ? 0 : numbers.size());
  for (std::uint64_t number : numbers) {
    const float* example = features.data() + number * width_of_one;
    taken.features.insert(taken.features.end(), example, example + width_of_one);
    if (classes > 0) {
      taken.labels.push_back(labels[number]);
    } else {
      taken.targets.push_back(targets[number]);
    }
    if (!groups.empty()) taken.groups.push_back(groups[number]);
    if (!people.empty()) taken.people.push_back(people[number]);
    if (!nulls.empty()) taken.nulls.push_back(nulls[number]);
  }
  if (std::find(taken.nulls.begin(), taken.nulls.end(), 1) == taken.nulls.end()) taken.nulls.clear();
  return taken;
}

Result<void> check_dataset(const Dataset& dataset) {
  NF_TRY(const std::size_t width, volume(dataset.shape));
  const std::size_t count = dataset.features.size();
  if (count % width != 0 || count / width != dataset.rows) return not_as_declared("features", "be rows · shape");
  if (!all_finite(dataset.features)) return not_as_declared("features", "be finite");
  if (dataset.classes < 0) return not_as_declared("number of classes", "be 0 or above");
  const bool labelled = dataset.classes > 0;
  if (dataset.labels.size() != (labelled ? dataset.rows : 0)) return not_as_declared("labels", "be one a row");
  if (dataset.targets.size() != (labelled ? 0 : dataset.rows)) {
    return not_as_declared("targets", "be one a row where there are no classes, and else none");
  }
  const auto known = [&](std::int32_t label) { return label >= 0 && label < dataset.classes; };
  if (!std::all_of(dataset.labels.begin(), dataset.labels.end(), known)) {
    return not_as_declared("labels", "be 0 or above and below the number of classes");
  }
  if (!dataset.groups.empty() && dataset.groups.size() != dataset.rows)
    return not_as_declared("groups", "be one a row");
  if (dataset.people.size() != (dataset.unit() == PrivacyUnit::kPerson ? dataset.rows : 0)) {
    return not_as_declared("people", "be one a row where whole people are protected, and else none");
  }
  if (!dataset.nulls.empty() && dataset.nulls.size() != dataset.rows) return not_as_declared("nulls", "be one a row");
  if (!all_finite(dataset.targets)) return not_as_declared("targets", "be finite");
  return success();
}

}  // namespace noisefloor
