// Whole ledgers, for people and as JSON: their budgets, their history, and whether they are true.
//
// Thread safety: as Ledger.
#pragma once

#include <cstddef>
#include <string>

#include "noisefloor/base/result.h"
#include "noisefloor/ledger/ledger.h"
#include "noisefloor/ledger/verify.h"
#include "noisefloor/ledger/witness.h"
#include "noisefloor/summary/summary.h"

namespace noisefloor {

// The ledger that a job has written to. `is_new`: the job made it, and its key.
struct UsedLedger {
  std::string location;
  std::string key_file;
  bool is_new = false;
};

// Adds where the ledger is, and how to keep a new one safe.
void add_ledger(Summary& summary, const UsedLedger& ledger);

// Adds that the ledger was rolled back, if its fence or this machine's counters know more entries. Witnesses are not
// asked.
void add_doubt(Summary& summary, Ledger& ledger);

// The witnesses that every writer asks.
[[nodiscard]] Result<Summary> summary_of_witnesses(Ledger& ledger, const std::string& location);

// All budgets, each with its share that is spent.
[[nodiscard]] Result<Summary> summary_of_ledger(Ledger& ledger, const std::string& location);

// All uses of a budget, or of all budgets if the name is empty, every time that the clock was set back, every adoption
// and every change of witnesses. `version` is that of the program.
[[nodiscard]] Result<Summary> summary_of_history(Ledger& ledger, const std::string& budget, const std::string& version);

// How a ledger was verified. `remedy` says in the words of the front end how to compare with a witness; it may be
// empty.
struct VerifiedLedger {
  std::string location;
  double seconds = 0;
  bool witnessed = false;
  std::string remedy = {};
};

// Fails with kVerificationFailed if there are findings.
[[nodiscard]] Summary summary_of(const VerifyReport& found, const VerifiedLedger& how);

// All records of a ledger as one JSON document: budgets, records, and the signed head that they were read at.
struct AuditDocument {
  std::string text;
  std::size_t records = 0;
};

// Of one budget, or of all if the name is empty.
[[nodiscard]] Result<AuditDocument> audit_document(Ledger& ledger, const std::string& location,
                                                   const std::string& budget, const std::string& version);

// The fields are those of the document, and there are no lines.
[[nodiscard]] Summary summary_of(const AuditDocument& document);
// A document that was written to a file instead.
[[nodiscard]] Summary summary_of_written(const AuditDocument& document, const std::string& path);

// A witness that was written to a file.
[[nodiscard]] Summary summary_of(const Witness& witness, const std::string& path);

// The clock of a ledger that was set back right now; `before` is the time of the last entry before that.
[[nodiscard]] Result<Summary> summary_of_clock(Ledger& ledger, const std::string& location, TimeMs before);

// A copy that is the ledger from now on; `head` is where it goes on.
[[nodiscard]] Summary summary_of_adoption(const std::string& location, const Witness& head);

}  // namespace noisefloor
