#include "noisefloor/cli/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "noisefloor/base/file.h"
#include "noisefloor/report/assembled_report.h"
#include "version.h"

namespace noisefloor::cli {
namespace {

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

}  // namespace

std::string shell_word(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:=,+@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

Result<HtmlReport> page_on(const std::string& path, const LedgerAtHand& at_hand) {
  NF_TRY(AssembledReport report, report_on(path, {at_hand.ledger, at_hand.named}));
  report.page.commands = commands_of(report, path, at_hand.place);
  report.page.program = std::string("noisefloor ") + NOISEFLOOR_VERSION;
  return std::move(report.page);
}

Result<std::string> write_report(const std::string& folder, const LedgerAtHand& at_hand) {
  NF_TRY(const HtmlReport page, page_on(folder, at_hand));
  const std::string path = report_file_of(folder);
  NF_TRY_VOID(write_file(path, to_html(page)));
  return path;
}

std::string try_to_write_report(const std::string& folder, const LedgerAtHand& at_hand) {
  const Result<std::string> written = write_report(folder, at_hand);
  if (written.has_value()) return written.value();
  fmt::print(stderr, "warning: no report was written: {}\n", written.error().message);
  return "";
}

}  // namespace noisefloor::cli
