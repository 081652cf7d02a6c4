// The report of a run as one HTML file: the promise, its cost, the course of the training, what it means and how to
// check it.
//
// Guarantee:     the file needs no network, no script and no other file, and a content security policy forbids all of
//                them. Every text that it is given is escaped. Bounds are rounded to their safe side. The file is
//                readable on a phone and in print, in light and in dark, by keyboard and by screen reader (tests/report
//                checks it in a browser).
// Requires:      the caller has verified the numbers: nothing is recomputed here (assembled_report.h does both).
// Thread safety: pure functions; plain data.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/report/bar_chart.h"
#include "noisefloor/report/chart.h"

namespace noisefloor {

struct HtmlReport {
  std::string name;                // the name of the release
  std::string noun = "model";      // its kind, for sentences: "this model", "these 3 models"
  bool several = false;            // the noun is plural
  bool certificate_alone = false;  // the release itself was not available
  bool signer_unknown = false;     // the signature is by a key that the reader has not named

  struct Promise {
    double epsilon_lower = 0;
    double epsilon_upper = 0;  // infinite: not private
    double delta = 0;
    std::string unit;        // "row", "person"
    bool exchanged = false;  // neighbours: one unit is replaced by another; otherwise one unit is added or removed
    // What an audit measured: ε is at least this, with this confidence.
    std::optional<double> measured = {};
    double confidence = 0;
  };
  Promise promise;

  // A check that was made, or skipped, before the report was written.
  struct Check {
    std::string what;
    std::string result;
    bool done = true;  // false: it was skipped
  };
  std::vector<Check> checks;
  std::vector<std::string> warnings;  // shown at the top, one sentence each

  // A measured quality: "Accuracy on test data", "86.5 %", "10,000 examples, taken as public".
  struct Fact {
    std::string name;
    std::string value;
    std::string note = {};
  };
  std::vector<Fact> results;

  // Amounts of ε at the budget's δ, as the ledger adds them up.
  struct Budget {
    std::string name;
    double epsilon = 0;
    double delta = 0;
    double before = 0;  // spent by others before this
    double own = 0;
    double after = 0;                // spent by others since
    std::string left_in_words = {};  // in the words of the ledger's rule
  };
  std::optional<Budget> budget;
  std::string no_budget;  // why there is no budget

  // The numbers of an answer, in pictures and as tables.
  struct Bars {
    std::string id;  // letters, digits and hyphens
    BarChart chart;  // its title and subtitle stand above it
  };
  std::vector<Bars> answers;

  struct Figure {
    std::string id;       // letters and hyphens
    Chart chart;          // its title and subtitle stand above it
    std::string reading;  // its meaning, in a sentence or two
  };
  std::vector<Figure> privacy;
  std::vector<Figure> utility;
  std::vector<Figure> training;

  // Upper bounds on the odds of telling whether one unit was in the data.
  struct Odds {
    double advantage = 0;
    std::vector<std::pair<double, double>> found;    // share of false alarms → share of members that are found
    std::vector<std::pair<double, double>> beliefs;  // before → after, except with probability δ
  };
  std::optional<Odds> odds;

  struct Table {
    std::string caption;
    std::vector<std::string> head;
    std::vector<std::vector<std::string>> rows;
  };
  std::vector<Table> answer_tables;
  std::vector<Table> results_tables;  // shown with the curves of utility
  std::vector<Table> parameters;      // each has two columns: name and value
  std::vector<std::string> not_covered;

  struct Command {
    std::string purpose;  // a sentence
    std::string command;
  };
  std::vector<Command> commands;
  std::string program;  // the program that wrote the report: "noisefloor 0.1.0"
};

[[nodiscard]] std::string to_html(const HtmlReport& report);

// The promise in one sentence for people who read contracts, as plain text.
[[nodiscard]] std::string promise_in_words(const HtmlReport& report);

}  // namespace noisefloor
