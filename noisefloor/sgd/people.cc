#include "noisefloor/sgd/people.h"

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "noisefloor/base/check.h"
#include "noisefloor/random/subset.h"

namespace noisefloor {

Result<People> People::create(std::span<const std::uint32_t> person_of_row, Rows rows_each,
                              std::span<const std::uint8_t> nulls) {
  if (!nulls.empty() && nulls.size() != person_of_row.size()) {
    return invalid_argument("null records must be marked for every row, or for none");
  }
  People people(rows_each);
  constexpr std::size_t kNowhere = SIZE_MAX;
  std::unordered_map<std::uint32_t, std::size_t> places;
  std::vector<std::size_t> place_of_row(person_of_row.size(), kNowhere);
  std::vector<std::size_t> counts;
  for (std::size_t row = 0; row < person_of_row.size(); ++row) {
    if (person_of_row[row] == kNobody) continue;
    const std::size_t place = places.try_emplace(person_of_row[row], places.size()).first->second;
    if (place == counts.size()) counts.push_back(0);
    if (!nulls.empty() && nulls[row] != 0) continue;
    ++counts[place];
    place_of_row[row] = place;
  }
  people.begins_.assign(1, 0);
  for (const std::size_t count : counts) people.begins_.push_back(people.begins_.back() + count);
  people.rows_.resize(people.begins_.back());
  std::vector<std::size_t> next = people.begins_;
  for (std::size_t row = 0; row < place_of_row.size(); ++row) {
    if (place_of_row[row] != kNowhere) people.rows_[next[place_of_row[row]]++] = row;
  }
  return people;
}

Result<std::optional<People>> People::of(const Dataset& data) {
  if (data.unit() == PrivacyUnit::kRow) return std::optional<People>{};
  if (data.people.size() != data.rows) {
    return invalid_argument("protecting people needs a person for every row, and not every row says whose it is");
  }
  NF_TRY(const Rows rows_each, Rows::make(data.rows_per_person));
  NF_TRY(People people, create(data.people, rows_each, data.nulls));
  return std::optional(std::move(people));
}

std::span<const std::uint64_t> People::rows_of(std::uint64_t person) const {
  NF_CHECK(person < size(), "a person of the data");
  return std::span(rows_).subspan(begins_[person], begins_[person + 1] - begins_[person]);
}

PeoplesRows People::take(std::span<const std::uint64_t> people, BitStream& stream) const {
  PeoplesRows taken;
  for (const std::uint64_t person : people) {
    const std::span<const std::uint64_t> rows = rows_of(person);
    if (rows.empty()) continue;
    if (rows.size() == 1) {
      taken.single.push_back(rows.front());
      continue;
    }
    if (rows.size() <= rows_each_.value()) {
      taken.shared.insert(taken.shared.end(), rows.begin(), rows.end());
      taken.ends.push_back(taken.shared.size());
      continue;
    }
    const auto chosen = uniform_subset(stream, rows_each_.value(), rows.size());
    NF_CHECK(chosen.has_value(), "fewer rows than the person has");
    if (rows_each_.value() == 1) {
      taken.single.push_back(rows[chosen.value().front()]);
      continue;
    }
    for (const std::uint64_t place : chosen.value()) taken.shared.push_back(rows[place]);
    taken.ends.push_back(taken.shared.size());
  }
  return taken;
}

}  // namespace noisefloor
