// What attacks have found, as one HTML file: a table, and ROC curves on logarithmic axes with the region that ε leaves.
//
// Guarantee:     as html_report.h: no network, no script, and every text is escaped. A page about rows that are not
//                public says at its top that it is for their custodian only.
// Thread safety: pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "noisefloor/report/chart.h"
#include "noisefloor/training/membership_job.h"

namespace noisefloor {

inline constexpr const char* kForTheCustodian =
    "For the custodian of the rows only: it shows what models say of private rows, and no epsilon covers it.";

// The ROC curves of all attacks on these models, from 10⁻⁴ on both axes, and the curve that none can be above.
[[nodiscard]] Chart roc_chart(const AttackedModels& attacked, double delta);
// "no noise", "epsilon 8", "the finished model".
[[nodiscard]] std::string name_of(const AttackedModels& attacked);

[[nodiscard]] std::string membership_page(const MembershipOutcome& outcome, const std::string& program);

// A page of figures that stand beside each other, for attacks that bring pictures back.
struct PicturesPage {
  std::string title;
  std::string lead;
  std::string warning = {};
  struct Row {
    std::string name;
    std::string note;
    std::vector<std::pair<std::string, std::string>> pictures;  // caption, and the bytes of a PNG
  };
  std::vector<Row> rows;
};
[[nodiscard]] std::string to_html(const PicturesPage& page, const std::string& program);

}  // namespace noisefloor
