// Asks a described dataset one statement of SQL from C++, and prints the answer as CSV.
//
//   ask_csv visits.toml "SELECT dept, count(*) FROM visits GROUP BY dept"
#include <iostream>
#include <string>

#include "noisefloor/config/any_file.h"
#include "noisefloor/ledger/ledger_location.h"
#include "noisefloor/query/ask.h"
#include "noisefloor/release/outlet.h"
#include "noisefloor/summary/answer_table.h"

using namespace noisefloor;

namespace {

Result<std::string> answer_to(const std::string& file, const std::string& statement) {
  NF_TRY(const DescribedRows rows, described_rows(file));
  NF_TRY(const OpenedLedger opened, open_or_create({"noisefloor.ledger", "noisefloor.ledger.key"}));
  LedgerOutlet outlet;
  const query::AskTerms terms{.noise = {Epsilon::of(0.5)}, .unknown = NewDatasets::kAdd};
  NF_TRY(const query::Asked asked, query::ask(rows, statement, terms, *opened.ledger, outlet));
  return table_csv(asked.tables.front());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: ask_csv DATASET.toml \"SELECT …\"\n";
    return 2;
  }
  const Result<std::string> answer = answer_to(argv[1], argv[2]);
  if (!answer.has_value()) {
    std::cerr << "ask_csv: " << answer.error().message << "\n";
    return exit_code(answer.error().code);
  }
  std::cout << answer.value();
  return 0;
}
