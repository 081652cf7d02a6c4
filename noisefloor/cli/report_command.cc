#include "noisefloor/cli/report_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>

#include "noisefloor/base/file.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/cli/report_json.h"
#include "noisefloor/cli/run_report.h"
#include "noisefloor/report/assembled_report.h"

namespace noisefloor::cli {
namespace {

struct ReportOptions : LedgerAccess {
  std::string path;
  std::string output;
};

Result<Report> run_report(const ReportOptions& o) {
  std::unique_ptr<Ledger> ledger;
  const std::string location = location_of(o);
  if (!o.ledger.empty() || std::filesystem::exists(location)) {
    NF_TRY(ledger, open_to_read(o));
  }
  NF_TRY(const HtmlReport page, page_on(o.path, {ledger.get(), location, !o.ledger.empty()}));
  const std::string output = o.output.empty() ? report_file_of(o.path) : o.output;
  const std::string html = to_html(page);
  NF_TRY_VOID(write_file(output, html));
  Report report(fmt::format("Report on {}", page.name));
  const HtmlReport::Promise& promise = page.promise;
  report.set("report", output);
  report.set("bytes", html.size());
  report.set("name", page.name);
  report.set("private", std::isfinite(promise.epsilon_upper));
  report.set("epsilon", interval_json(promise.epsilon_lower, promise.epsilon_upper));
  report.set("delta", promise.delta);
  report.set("ledger_checked", page.budget.has_value());
  report.line("report", output);
  report.line("says", promise_in_words(page));
  return report;
}

}  // namespace

void add_report_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, ReportOptions& o) {
    command
        .add_option("PATH", o.path,
                    "The folder of a training or a sweep, a model (safetensors) or a certificate (JSON)")
        ->required();
    command.add_option("--output", o.output, "The file to write (report.html in that folder)")
        ->type_name("FILE")
        ->group("Output");
    o.add_to(command, false, false);
  };
  add_command<ReportOptions>(app, action, "report", "Verify a run and write its report, one HTML file",
                             "fashion\n  noisefloor report fashion/certificate.json --output fashion.html\n"
                             "  noisefloor report streamrec-sweep --ledger noisefloor.ledger",
                             declare, run_report);
}

}  // namespace noisefloor::cli
