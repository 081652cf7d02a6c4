#include "noisefloor/report/assembled_report.h"

#include <filesystem>
#include <utility>

#include "noisefloor/audit/audit_document.h"
#include "noisefloor/report/report_parts.h"

namespace noisefloor {
namespace {

namespace fs = std::filesystem;

void add_checks(HtmlReport& page, const Verdict& verdict) {
  using Check = HtmlReport::Check;
  if (verdict.is_private()) page.checks.push_back({"ε:", "recomputed from the events that the certificate states."});
  page.checks.push_back(verdict.release.has_content
                            ? Check{"Content:", "it is what the certificate is about, unaltered."}
                            : Check{"Content:", "not looked at: this is from a certificate alone.", false});
}

Result<AssembledReport> report_on_run(const std::string& path, const Trusted& trusted) {
  NF_TRY(const RunFolder folder, read_run_folder(path));
  const Certificate& certificate = folder.verdict.certificate();
  AssembledReport report;
  report.verdicts = {folder.verdict};
  report.command = folder.notes.command;
  HtmlReport& page = report.page;
  page.name = certificate.name;
  page.noun = name_of(certificate.kind);
  page.certificate_alone = !folder.verdict.release.has_content;
  page.promise = internal::promise_of(certificate.statement, certificate.epsilon, certificate.delta);
  add_checks(page, folder.verdict);
  if (folder.verdict.audit) {
    page.promise.measured = folder.verdict.audit->judgement.measured;
    page.promise.confidence = audit::kAuditConfidence;
    page.checks.push_back(
        {"Audit:", audit::in_words(folder.verdict.audit->audit.findings, folder.verdict.audit->judgement) +
                       ". Nothing refutes the certificate."});
  }
  NF_TRY_VOID(internal::add_budget(page, report.verdicts, trusted));
  NF_TRY_VOID(internal::add_signers(page, report.verdicts, trusted));
  NF_TRY_VOID(internal::add_answer(page, folder.verdict));
  internal::add_privacy(page, certificate.statement, certificate.delta);
  internal::add_quality(page, folder);
  internal::add_unsigned_note(page);
  internal::add_settings(page, folder);
  page.not_covered = folder.verdict.not_covered;
  return report;
}

}  // namespace

Result<AssembledReport> report_on(const std::string& path, const Trusted& trusted) {
  return is_sweep_folder(path) ? internal::report_on_sweep(path, trusted) : report_on_run(path, trusted);
}

std::string report_file_of(const std::string& path) {
  std::error_code ignored;
  const fs::path folder = fs::is_directory(path, ignored) ? fs::path(path) : fs::path(path).parent_path();
  return (folder / kReportName).string();
}

}  // namespace noisefloor
