// Whether to accept a model that someone hands over: its promise must hold, be strong enough, and be paid for.
//
//   verify_model PATH LEDGER EPSILON
//
// PATH is the model's file or the folder of its run. The program writes report.html into the current folder.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/report/assembled_report.h"
#include "noisefloor/report/html_report.h"
#include "noisefloor/report/run_folder.h"

using namespace noisefloor;

Result<Verdict> accept(const std::string& path, Ledger& ledger, double most_epsilon) {
  NF_TRY(Verdict verdict, verify_file(path));
  NF_TRY_VOID(verify_payment(verdict, ledger, LedgerIs::kNamed));
  if (verdict.payment != Payment::kPaid || verdict.certificate().epsilon.upper > most_epsilon) {
    return verification_failed(path + " does not promise enough: " + meaning_of(verdict));
  }
  return verdict;
}

Result<void> run(const std::string& path, const std::string& place, double most_epsilon) {
  NF_TRY(const std::unique_ptr<Ledger> ledger, Ledger::open_to_read(place, {}));
  NF_TRY(const std::vector<Verdict> found, verify_path(path));
  for (const Verdict& one : found) {
    NF_TRY(const Verdict verdict, accept(one.file, *ledger, most_epsilon));
    fmt::print("{}\n  {}\n  {}\n", verdict.file, claim_of(verdict), meaning_of(verdict));
  }
  NF_TRY(const AssembledReport report, report_on(path, {ledger.get(), true}));
  return write_file("report.html", to_html(report.page));
}

int main(int count, char** arguments) {
  const auto epsilon = count == 4 ? parse_finite(arguments[3]) : std::nullopt;
  if (!epsilon) {
    fmt::print(stderr, "usage: verify_model PATH LEDGER EPSILON\n");
    return EXIT_FAILURE;
  }
  const Result<void> done = run(arguments[1], arguments[2], *epsilon);
  if (done.has_value()) return EXIT_SUCCESS;
  fmt::print(stderr, "{}\n", done.error().message);
  return exit_code(done.error().code);
}
