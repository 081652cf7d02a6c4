// The report of a run as one HTML file: what was promised, what it cost, how it went, what it means, how to check it.
//
// Guarantee:     the file needs no network, no script and no other file, and a content security policy forbids all of them. Every
//                text that it is handed is escaped. Bounds are rounded to their safe side. It is readable on a phone and in print,
//                in light and in dark, by keyboard and by screen reader (tests/report looks at it in a browser).
// Requires:      the caller has verified the numbers: nothing is recomputed here (assembled_report.h does both).
// Thread safety: pure functions; plain data.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "noisefloor/report/chart.h"

namespace noisefloor {

struct HtmlReport {
  std::string name;                // the name of what was released
  std::string noun = "model";      // what it is, in a sentence: "this model", "these 3 models"
  bool several = false;            // the noun is in the plural
  bool certificate_alone = false;  // the release itself was not at hand

  struct Promise {
    double epsilon_lower = 0;
    double epsilon_upper = 0;  // infinite: not private
    double delta = 0;
    std::string unit;        // "row", "person"
    bool exchanged = false;  // in a neighbour one unit is another one; else one unit is there or not
  };
  Promise promise;

  // A check that was made, or left out, before the report was written.
  struct Check {
    std::string what;
    std::string result;
    bool done = true;  // false: it was left out
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

  // Amounts in ε at the budget's δ, as its ledger adds them up.
  struct Budget {
    std::string name;
    double epsilon = 0;
    double delta = 0;
    double before = 0;  // spent by others before this
    double own = 0;
    double after = 0;                // spent by others since
    std::string left_in_words = {};  // as the ledger's rule has it
  };
  std::optional<Budget> budget;
  std::string no_budget;  // why there is none

  struct Figure {
    std::string id;       // letters and hyphens
    Chart chart;          // its title and subtitle stand above it
    std::string reading;  // what it says, in a sentence or two
  };
  std::vector<Figure> privacy;
  std::vector<Figure> utility;
  std::vector<Figure> training;

  // Upper bounds on the odds of telling whether one unit was there.
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
  std::vector<Table> results_tables;  // with the curves of utility
  std::vector<Table> parameters;      // of two columns each: name and value
  std::vector<std::string> not_covered;

  struct Command {
    std::string purpose;  // a sentence
    std::string command;
  };
  std::vector<Command> commands;
  std::string program;  // what wrote it: "noisefloor 0.1.0"
};

[[nodiscard]] std::string to_html(const HtmlReport& report);

// The promise in one sentence for people who read contracts, as plain text.
[[nodiscard]] std::string promise_in_words(const HtmlReport& report);

}  // namespace noisefloor
