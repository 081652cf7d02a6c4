#include "noisefloor/summary/answer_table.h"

#include <gtest/gtest.h>

namespace noisefloor {
namespace {

AnswerTable a_table() {
  AnswerColumn dept{.name = "dept", .cells = AnswerColumn::Texts{"ICU", "Oncology, \"B\"", ""}, .missing = {2}};
  AnswerColumn count{.name = "count", .cells = AnswerColumn::Numbers{1203, -4, 7.5}};
  count.confidence = Confidence::of(0.95);
  count.ranges = {{1190.123, 1215.877}, {-16.5, 8.5}, {7.5, 7.5}};
  return {{dept, count}};
}

TEST(AnswerTableText, AlignsColumnsWithTheirIntervals) {
  EXPECT_EQ(table_text(a_table()),
            "  dept           count  95 % interval\n"
            "  -------------  -----  ----------------\n"
            "  ICU             1203  1190.1 to 1215.9\n"
            "  Oncology, \"B\"     -4  -16.5 to 8.5\n"
            "                   7.5\n");
}

TEST(AnswerTableText, SaysThatThereAreNoRows) {
  const AnswerTable none{{{.name = "ward", .cells = AnswerColumn::Texts{}}}};
  EXPECT_EQ(table_text(none), "  ward\n  ----\n  (no rows)\n");
}

TEST(AnswerTableText, WritesCsvThatReadsBack) {
  EXPECT_EQ(table_csv(a_table()),
            "dept,count,count_lower,count_upper\n"
            "ICU,1203,1190.123,1215.877\n"
            "\"Oncology, \"\"B\"\"\",-4,-16.5,8.5\n"
            ",7.5,7.5,7.5\n");
}

}  // namespace
}  // namespace noisefloor
