// Which rows belong to which person: descent needs this where whole people are protected rather than single rows.
//
// What a step does:
//                Batches are drawn by person. A drawn person takes part with all of their rows, or, if there are more
//                than rows_each(), with that many of them, chosen uniformly and afresh at each draw. The mean of the
//                gradients of those rows (of as many as were taken, never of rows_each()) is the person's gradient. It
//                is clipped once, as one vector; then people are added up, noise is added once, and the sum is divided
//                by the expected number of people.
// Sensitivity:   Whatever a person's rows are, and however many, one clipped vector is all that they add to a sum.
//                  add-remove    With a person and all of their rows, or without them, sums over otherwise the same
//                                draw differ by one clipped vector: one clip norm at most.
//                  replace-one   If a person's rows are exchanged for other rows, in any number, one clipped vector is
//                                exchanged for another: two clip norms at most.
//                BatchSampler states the same for rows, with people in their place, so the event is the same.
//                A person with 10,000 rows weighs no more than one with a single row.
// Chosen rows:   The choice is made with randomness of its own, which depends neither on the rows nor on other people.
//                For each choice that can be made, the bounds above hold. The law of a step is the average over
//                choices, and the divergences that privacy is measured by are jointly convex (for Rényi's:
//                quasi-convex), so that an average is never worse than the worst choice. That a choice is made afresh
//                at each draw changes nothing: each step is bounded by itself, whatever the steps before released.
// Null records:  (odd_records.h) are rows of their person, and contribute nothing: they are neither chosen nor counted
//                in a mean. A person who has no other rows is drawn like anybody, and adds nothing. Rows of nobody
//                take part in nothing. So the bounds above hold for whatever a person's records hold.
// One row each:  Nothing is drawn for a person with at most rows_each() rows, so that people with one row each use up
//                the same random bits as rows do.
// Requires:      rows_each() is public: it was not chosen by looking at the data.
// Thread safety: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "noisefloor/base/privacy_types.h"
#include "noisefloor/base/result.h"
#include "noisefloor/random/bit_stream.h"
#include "noisefloor/table/dataset.h"

namespace noisefloor {

// The rows with which some people take part in a step. A person with one row is an example like any other.
struct PeoplesRows {
  std::vector<std::uint64_t> single;  // rows of people with one row each
  std::vector<std::uint64_t> shared;  // rows of people with several: person after person
  std::vector<std::size_t> ends;      // where the rows of each of the latter end in `shared`
};

class People {
 public:
  // Takes the number of each row's person. Here people are numbered anew, from 0, in the order of their first rows.
  // Rows of kNobody belong to no person. `nulls` is as in Dataset.
  [[nodiscard]] static Result<People> create(std::span<const std::uint32_t> person_of_row, Rows rows_each,
                                             std::span<const std::uint8_t> nulls = {});
  // Returns nothing if single rows are protected. Fails if people are protected and rows do not say whose they are.
  [[nodiscard]] static Result<std::optional<People>> of(const Dataset& data);

  [[nodiscard]] std::size_t size() const { return begins_.size() - 1; }
  [[nodiscard]] Rows rows_each() const { return rows_each_; }
  // All rows of a person except null records, ascending. Requires person < size() (checked).
  [[nodiscard]] std::span<const std::uint64_t> rows_of(std::uint64_t person) const;

  // The rows with which these people take part. `stream` is used only for people who have more than rows_each().
  [[nodiscard]] PeoplesRows take(std::span<const std::uint64_t> people, BitStream& stream) const;

 private:
  explicit People(Rows rows_each) : rows_each_(rows_each) {}

  Rows rows_each_;
  std::vector<std::uint64_t> rows_;  // person after person
  std::vector<std::size_t> begins_;  // where each person begins in rows_, and then the end of the last
};

}  // namespace noisefloor
