// PATE from its file to a student that anyone may have. Start here.
//
//   auto job = PateJob::prepare(read_pate_file("digits.toml").value(), {}, {.threads = 2}).value();
//   job.cost();                                              // how many answers fit, and what they would cost
//   auto made = job.run(ledger.get(), {.observer = &observer});
//
//   prepare   reads rows, public examples and test rows; plans how many queries are asked and answered
//   run       charges all votes; teachers learn (ballots.h); queries are answered over the road (voting.h);
//             the student learns and is certified
//
// Guarantee:     prepare() and cost() spend and write nothing. All that may be released of votes is reserved before the
//                first answer, and does not depend on votes. One key votes once: asking again returns the released
//                labels and charges nothing. A job that was killed goes on: teachers that have voted do not learn
//                again, labels that were released are taken from the ledger. The student is a release of its own that
//                costs nothing more: its certificate names the reservation of the votes, and states their cost.
//                Public examples that are rows of this or another private dataset of the ledger are refused.
// Not released:  weights, votes, margins and agreement of teachers. own_figures() writes some of them for the
//                custodian, after the ledger has recorded that private rows were looked at without noise.
// Thread safety: none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/dataset/paying.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/ledger/outlook.h"
#include "noisefloor/model/quality.h"
#include "noisefloor/pate/pate_file.h"
#include "noisefloor/pate/teachers.h"
#include "noisefloor/pate/voting.h"
#include "noisefloor/release/road.h"
#include "noisefloor/training/network.h"
#include "noisefloor/training/observer.h"
#include "noisefloor/training/output_files.h"
#include "noisefloor/training/public_count.h"

namespace noisefloor {

// The notes of a run, which reports read.
inline constexpr const char* kPateNotesName = kRunNotesName;

// The files of a job: all of them are in one folder.
struct PateFiles {
  OutputFiles student;  // the student's model and certificate
  [[nodiscard]] std::string labels() const { return (student.folder / "labels.json").string(); }
  [[nodiscard]] std::string labels_certificate() const { return (student.folder / "labels.certificate.json").string(); }
  [[nodiscard]] std::string ballots() const { return (student.folder / "ballots.private").string(); }
  [[nodiscard]] std::string own_figures() const { return (student.folder / "own-figures.private.json").string(); }
  [[nodiscard]] std::string notes() const { return (student.folder / kPateNotesName).string(); }
};

// Where the files of this file's job are, if they are not put elsewhere.
[[nodiscard]] PateFiles files_of(const Pate& pate, const std::filesystem::path& folder = {});

// Another model of the same data, such as one of DP-SGD, whose figures stand beside the student's.
struct ComparedModel {
  std::string name;
  double epsilon = 0;
  double accuracy = 0;
};

struct PateWish {
  std::filesystem::path folder = {};  // for all files; the file's name if it is empty
  std::string key = {};               // of the votes in the ledger; the file's name if it is empty
  NewDatasets unknown = NewDatasets::kRefuse;
  std::optional<ComparedModel> compare = {};
};

struct PateCost {
  ReserveRequest spend;
  PlannedVotes votes;
  Interval epsilon;  // certified, for all that would be charged
  Delta delta;
  BudgetTerms budget;                        // the terms of the budget, if it has to be created
  double answer_epsilon;                     // of one answer alone, at delta
  std::optional<double> comparison_epsilon;  // of one comparison alone, at delta
};

struct PateOutcome {
  PateFiles files;
  std::optional<Certificate> votes = {};  // of the released labels; like the next, always present once a job has ended
  std::optional<Certificate> student = {};
  std::uint64_t asked = 0;
  std::uint64_t answered = 0;                 // by teachers
  std::uint64_t own = 0;                      // labelled by the student itself
  std::optional<double> sanitised = {};       // the data-dependent Rényi divergence of the votes, with noise
  std::optional<double> student_agrees = {};  // the share of released labels that the student predicts
  std::size_t parameters = 0;
  bool labels_again = false;  // released before: nothing was charged
  bool student_again = false;
  double teaching_seconds = 0;
  double learning_seconds = 0;
  std::optional<Quality> test = {};
  std::string command = {};
  double answer_epsilon = 0;  // of one answer alone
  std::optional<double> comparison_epsilon = {};
  std::optional<ComparedModel> compared = {};
};

// One JSON object, on several lines: the notes beside the student, for reports and programs. They are not signed.
[[nodiscard]] std::string to_json(const PateOutcome& outcome, const Pate& pate, const VoteCount& count);

// The custodian's figures of the votes without noise: not for release.
struct OwnFigures {
  double agreement = 0;               // mean share of teachers that vote for the class with most votes
  double data_dependent_epsilon = 0;  // of the queries that were asked, at delta, best of usual orders
  double data_independent_epsilon = 0;
  std::vector<std::uint64_t> by_agreement;  // queries by that share, in tenths
};

class PateJob {
 public:
  [[nodiscard]] static Result<PateJob> prepare(PateFile file, PateWish wish, const Machine& machine);

  [[nodiscard]] const PateFile& file() const { return parts_->file; }
  [[nodiscard]] const Pate& pate() const { return parts_->file.pate; }
  [[nodiscard]] const PlannedVotes& plan() const { return parts_->plan; }
  [[nodiscard]] std::uint64_t pool() const { return parts_->pool.rows; }
  [[nodiscard]] const PateFiles& files() const { return parts_->files; }

  [[nodiscard]] Result<PateCost> cost() const;
  // Whether the budget allows for it. If `ledger` is null, the budget would be created.
  [[nodiscard]] Result<Outlook> outlook(Ledger* ledger) const;

  struct Hooks {
    std::function<void(const TeachingProgress&)> teaching = {};
  };
  // `command` is for the notes. kInvalidArgument if it was stopped before the vote: nothing was spent, and the teachers
  // that have voted stay in the ballots.
  [[nodiscard]] Result<PateOutcome> run(Ledger& ledger, const JobControl& control, const Hooks& hooks,
                                        const std::string& command = {});
  // Looks at the ballots without noise, after run(), and writes what is found to a private file. The ledger records it
  // first.
  [[nodiscard]] Result<OwnFigures> own_figures(Ledger& ledger);

 private:
  struct Parts {
    PateFile file;
    PateWish wish;
    Machine machine;
    PateFiles files;
    Dataset train;
    Dataset pool;
    std::optional<Dataset> test;
    PublicCount count;
    PlannedVotes plan;
    std::vector<std::uint64_t> order;  // of the public examples that may be asked about
    std::vector<std::string> classes;
  };
  explicit PateJob(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

  [[nodiscard]] std::string key() const;
  [[nodiscard]] VoteTerms terms() const;
  [[nodiscard]] BallotTerms ballot_terms() const;
  [[nodiscard]] Result<Released> release_student(Ledger& ledger, const std::string& budget, const Certificate& votes,
                                                 std::span<const ReleasedLabel> labels,
                                                 std::vector<NamedTensor> tensors);

  std::unique_ptr<Parts> parts_;  // at a fixed address
};

}  // namespace noisefloor
