#include "noisefloor/cli/commands.h"
#include "noisefloor/cli/report_page.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "noisefloor/base/file.h"
#include "noisefloor/base/printable.h"
#include "noisefloor/base/process.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/report/assembled_report.h"
#include "noisefloor/summary/page_summary.h"
#include "version.h"

namespace noisefloor::cli {
namespace {

struct ReportOptions : LedgerAccess {
  std::string path;
  std::string output;
  std::vector<std::string> signers;
};

// The place is left out where it is an address, which may hold a password.
std::string verify_command(const Verdict& verdict, const std::string& place) {
  std::string command = "noisefloor verify " + shell_word(verdict.file);
  if (verdict.payment != Payment::kPaid) return command;
  const bool is_address = place.find("://") != std::string::npos;
  return command + " --ledger " + (is_address ? std::string("PLACE") : shell_word(place));
}

std::vector<HtmlReport::Command> commands_of(const AssembledReport& report, const std::string& path,
                                             const std::string& place) {
  std::vector<HtmlReport::Command> commands;
  for (const Verdict& verdict : report.verdicts) {
    const std::string run = std::filesystem::path(verdict.file).parent_path().filename().string();
    commands.push_back({report.is_sweep ? fmt::format("Check {}:", run) : "Check that all of this is so:",
                        verify_command(verdict, place)});
  }
  if (!report.command.empty()) {
    commands.push_back({report.verdicts.front().is_private()
                            ? "How it was trained. To train again draws fresh noise, needs another --key and "
                              "--output, and is charged again:"
                            : "How it was trained:",
                        report.command});
  }
  commands.push_back({"Write this report again:", "noisefloor report " + shell_word(path)});
  return commands;
}

// The page on `path`, written to `output`, or to report.html in its folder.
Result<Summary> write_report(const std::string& path, const Trusted& trusted, const std::string& place,
                             std::string output) {
  NF_TRY(AssembledReport report, report_on(path, trusted));
  report.page.commands = commands_of(report, path, place);
  report.page.program = std::string("noisefloor ") + NOISEFLOOR_VERSION;
  if (output.empty()) output = report_file_of(path);
  const std::string html = to_html(report.page);
  NF_TRY_VOID(write_file(output, html));
  return summary_of(report.page, output, html.size());
}

Result<Summary> run_report(const ReportOptions& o) {
  NF_TRY(std::vector<Signer> trusted, signers_named(o.signers));
  std::unique_ptr<Ledger> ledger;
  const std::string location = location_of(o);
  if (!o.ledger.empty() || std::filesystem::exists(location)) {
    NF_TRY(ledger, open_to_read(o));
  }
  return write_report(o.path, {ledger.get(), !o.ledger.empty(), std::move(trusted)}, location, o.output);
}

}  // namespace

std::string try_to_write_report(const std::string& folder, Ledger* ledger, const std::string& place) {
  const Result<Summary> written = write_report(folder, {ledger, true}, place, "");
  if (written.has_value()) return report_file_of(folder);
  fmt::print(stderr, "warning: no report was written: {}\n", printable(written.error().message));
  return "";
}

void add_report_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, ReportOptions& o) {
    OptionGroup(command).required("PATH", o.path,
                                  "The folder of a training or a sweep, a model (safetensors) or a certificate (JSON)");
    OptionGroup(command, "Output")
        .optional("--output", o.output, "The file to write (report.html in that folder)", "FILE");
    OptionGroup(command, "Trust").repeatable("--signer", o.signers, kSignerHelp, "KEY|FILE");
    o.add_to(command, false, false);
  };
  add_command<ReportOptions>(app, action, "report", "Verify a run and write its report, one HTML file",
                             "fashion\n  noisefloor report fashion/certificate.json --output fashion.html\n"
                             "  noisefloor report streamrec-sweep --ledger noisefloor.ledger",
                             declare, run_report);
}

}  // namespace noisefloor::cli
