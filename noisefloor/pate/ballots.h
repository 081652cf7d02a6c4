// The votes of teachers without noise, as a file that never leaves the custodian: how every teacher votes on every
// public example that may be asked about. It is all that is kept of a teacher. Its weights are never written.
//
// Guarantee:     each teacher votes once, and all of them or none: a teacher that is written twice is refused, and
//                there are no counts while one is missing. The file belongs to one division of the rows (its key is
//                drawn with the file and stays in it) and to one set of data, queries and settings: a job that goes on
//                with others is refused. What was written before the process was killed is there afterwards; a record
//                that was cut short is dropped, and that teacher learns again.
// Privacy:       the file is readable by its owner alone, says in its first line that it is private, and is of a format
//                that nothing else reads: no command can publish it. wipe_ballots() overwrites it before it is removed;
//                copies that a file system, a disk or a backup has kept are beyond its reach.
// Thread safety: one thread at a time. The file is locked against other processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/crypto/hash.h"
#include "noisefloor/crypto/short_hash.h"
#include "noisefloor/pate/smooth_sensitivity.h"

namespace noisefloor {

// What the ballots belong to.
struct BallotTerms {
  Digest work;  // of the private rows, the queries and how teachers learn
  std::size_t teachers = 0;
  std::size_t queries = 0;
  std::size_t classes = 0;  // at most 65536
};

class Ballots {
 public:
  // Makes the file, with a new key, or goes on with it. kInvalidArgument if it belongs to other terms;
  // kVerificationFailed if it was altered; kIo if another process has it.
  [[nodiscard]] static Result<Ballots> open(const std::string& path, const BallotTerms& terms);
  Ballots(Ballots&&) noexcept;
  Ballots& operator=(Ballots&&) noexcept;
  ~Ballots();

  // The key of the division of the rows.
  [[nodiscard]] const ShortKey& shard_key() const;

  [[nodiscard]] bool has(std::size_t teacher) const;
  [[nodiscard]] std::size_t count() const;
  // A class for each query. Durable when it returns.
  [[nodiscard]] Result<void> add(std::size_t teacher, std::span<const std::uint16_t> votes);

  // The counts for each query, which add up to the number of teachers. kInternal while a teacher is missing.
  [[nodiscard]] Result<std::vector<Votes>> counts() const;

 private:
  struct State;
  explicit Ballots(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Overwrites and removes the file. Returns whether there was one. kInvalidArgument if it is not a file of ballots.
[[nodiscard]] Result<bool> wipe_ballots(const std::string& path);

}  // namespace noisefloor
