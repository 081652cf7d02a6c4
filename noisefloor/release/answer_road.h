// Releases answers by the procedure of road.h: authorise, reserve, run, seal, keep, commit, publish.
//
//   NF_TRY(const Question question, laplace_question(...));                                     // statistics/
//   LedgerOutlet outlet;
//   NF_TRY(const ReleasedAnswer made, release_answer({"trial", "mean-age", {"1.0"}}, question, *ledger, outlet));
//
// Guarantee:     that of road.h. Beyond that: (1) A rehearsal finds what is wrong with a question before anything is
//                spent. (2) The answer states exactly what was reserved, compared as values; an answer that states
//                anything else is not given out, and counts as spent. (3) The ledger keeps the bytes: the same key gets
//                the same bytes, from any outlet, including bytes that version 0.1 wrote; the same key with another
//                question is refused. (4) The certified document is made from the Answer alone.
// Thread safety: as the ledger's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/release/answer.h"
#include "noisefloor/release/outlet.h"
#include "noisefloor/release/question.h"
#include "noisefloor/release/road.h"

namespace noisefloor {

struct AnswerRequest {
  std::string budget;
  std::string key;  // key of this question in the ledger
  Provenance provenance;
  std::string item = {};                 // item of a plan
  std::vector<std::string> blocks = {};  // that the question touches, of a budget by blocks
};

struct ReleasedAnswer {
  std::optional<Answer> answer;  // nothing if version 0.1 wrote the document: its bytes are in `release`
  Sealed release;
  bool again = false;  // made before, under the same key: nothing was run or spent
};

[[nodiscard]] Result<ReleasedAnswer> release_answer(const AnswerRequest& request, const Question& question,
                                                    Ledger& ledger, Outlet& outlet);

// What the ledger is asked for. A key that version 0.1 used is asked for in the words of version 0.1. `ledger` may be
// null.
[[nodiscard]] Result<ReserveRequest> spend_of(const AnswerRequest& request, const Question& question, Ledger* ledger);

// The answer of a sealed document, which must be verified first (verify_release); nothing if version 0.1 wrote it.
// kVerificationFailed if the answer states something other than its certificate does.
[[nodiscard]] Result<std::optional<Answer>> read_answer(const Sealed& release);

}  // namespace noisefloor
