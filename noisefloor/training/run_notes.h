// The results of a run: the notes beside its model (run.json), for reports and for programs that read them. They are
// not signed: rely on the certificate.
//
// Thread safety: plain data; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "noisefloor/model/quality.h"
#include "noisefloor/release/certificate.h"
#include "noisefloor/training/descent.h"
#include "noisefloor/training/output_files.h"
#include "noisefloor/training/plan_following.h"

namespace noisefloor {

struct RunNotes {
  OutputFiles files;
  std::optional<Certificate> certificate;  // always present once a run has ended
  Noise noise;
  std::optional<std::uint64_t> examples;  // the public number of those to learn from (public_count.h), or
  std::optional<std::uint64_t> people;    // that of the people whose they are, if people are protected
  std::size_t parameters = 0;
  bool again = false;  // made before: the run took no time
  double seconds = 0;
  double examples_per_second = 0;
  std::size_t workers = 1;
  std::optional<Quality> validation;
  std::optional<Quality> test;
  bool private_validation = false;  // by rows that were kept from private ones, without noise
  bool private_test = false;
  std::optional<std::uint64_t> phase;  // phase of the plan
  std::optional<PlanVerdict> verdict;
  std::string command;  // the command line of the run; or empty
};

// One JSON object, on several lines.
[[nodiscard]] std::string to_json(const RunNotes& notes);
// One field for each measure of quality, and one that says whether it was measured on rows that were kept from private
// ones.
[[nodiscard]] std::string to_json(const Quality& quality, bool private_rows = false);

}  // namespace noisefloor
