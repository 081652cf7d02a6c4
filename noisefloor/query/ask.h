// Asks a dataset in SQL: the whole way from a text to a certified answer.
//
//   NF_TRY(const DescribedRows rows, described_rows("visits.toml"));                        // config/any_file.h
//   NF_TRY(const OpenedLedger opened, open_or_create({"noisefloor.ledger", "noisefloor.ledger.key"}));
//   LedgerOutlet outlet;
//   NF_TRY(const Asked asked, ask(rows, "SELECT count(*) FROM visits", terms, *opened.ledger, outlet));
//   for (const AnswerTable& table : asked.tables) …
//
// Guarantee:     (1) A query is understood by the dataset's description and its own text alone (planner.h); what is not
//                understood is refused before anything is read or spent. (2) What was bought before is given again, or
//                computed from what was bought, and costs nothing: no row is read for it. (3) Otherwise the rows are
//                claimed (dataset/paying.h), the whole cost is reserved, and only then an engine measures: the road of
//                release/answer_road.h. A kill at any moment leaves a question that is unpaid, or answered, or spent;
//                asking again gives the same bytes, and spends nothing more. (4) After the reservation, whatever fails
//                is one constant text, and the cost stays spent.
// Thread safety: as the ledger's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/dataset/paying.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/query/noise_terms.h"
#include "noisefloor/query/planner.h"
#include "noisefloor/release/answer_road.h"

namespace noisefloor::query {

struct AskTerms {
  NoiseTerms noise;
  PlanOptions limits = {};
  std::string key = {};  // empty: the question's own, so that the same question is paid for once
  std::string program_version = {};
  NewDatasets unknown = NewDatasets::kRefuse;
};

struct Asked {
  std::vector<AnswerTable> tables;  // one for each statement
  // The release that holds them; nothing where they were computed from earlier releases.
  std::optional<ReleasedAnswer> released = {};
  bool is_free = false;                     // bought before: nothing was spent
  std::vector<std::uint64_t> paid_by = {};  // the reservations that paid
  std::vector<std::string> notes = {};      // for people: where it comes from
};

// What the planner knows of a dataset. kInvalidArgument if it holds no tables (dataset/described_tables.h).
[[nodiscard]] Result<DescribedTables> policy_of(const DatasetDescription& description);

// The plans of statements, with the number of the statement in an error if there are several.
[[nodiscard]] Result<std::vector<Plan>> plans_of(const DatasetDescription& description,
                                                 std::span<const std::string> statements, const PlanOptions& limits);

[[nodiscard]] Result<Asked> ask(const DescribedRows& rows, std::string_view statement, const AskTerms& terms,
                                Ledger& ledger, Outlet& outlet);
// Several statements are one question: composed together, which is cheaper than one by one. `conflict` is as in
// find_payer.
[[nodiscard]] Result<Asked> ask(const DescribedRows& rows, std::span<const std::string> statements,
                                const AskTerms& terms, Ledger& ledger, Outlet& outlet,
                                std::optional<DatasetConflict>* conflict = nullptr);

// What asking would cost and whether the budget allows for it. No row is read, and nothing is spent. The ledger may be
// null: then the budget would be made.
struct Forecast {
  std::optional<Question> question;  // what would be bought; nothing where all follows from what was bought
  AnswerRequest request;
  Outlook outlook;
  bool is_free = false;  // it would be computed from what was bought
};
[[nodiscard]] Result<Forecast> forecast(const DescribedRows& rows, std::span<const std::string> statements,
                                        const AskTerms& terms, Ledger* ledger);

// The same in words, with every bound, sensitivity, noise and interval, and the SQL that each server gets. A function
// of the description, the text, the terms and the ledger: it is the same for all rows.
[[nodiscard]] Result<std::string> explanation(const DescribedRows& rows, std::span<const std::string> statements,
                                              const AskTerms& terms, Ledger* ledger);

// The statements of a file. kInvalidArgument if there are none.
[[nodiscard]] Result<std::vector<std::string>> statements_in(std::string_view text);

}  // namespace noisefloor::query
