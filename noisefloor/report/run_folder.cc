#include "noisefloor/report/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "noisefloor/audit/audit_document.h"
#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"

namespace noisefloor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModelName = "model.safetensors";
constexpr const char* kCertificateName = "certificate.json";
constexpr const char* kPlanName = "plan.json";
constexpr std::size_t kMaxSignedBytes = std::size_t{256} << 20;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// The model in the folder, or its certificate, or nothing.
std::optional<fs::path> release_in(const fs::path& folder) {
  for (const char* name : {kModelName, kCertificateName}) {
    if (is_file(folder / name)) return folder / name;
  }
  return std::nullopt;
}

Result<void> expect_same_certificate(const fs::path& path, const std::string& inside) {
  if (!is_file(path)) return success();
  NF_TRY(const std::string text, read_file(path.string(), kMaxSignedBytes));
  if (text == inside) return success();
  return verification_failed(fmt::format("{} is not the certificate that the model holds", path.string()));
}

Result<std::optional<PlanFile>> read_plan_beside(const fs::path& path, const std::optional<PublicKey>& key) {
  if (!is_file(path)) return std::optional<PlanFile>{};
  NF_TRY(const std::string text, read_file(path.string(), kMaxSignedBytes));
  NF_TRY(SignedPlan read, parse_plan_file(text));
  if (key && read.key != *key) {
    return verification_failed(fmt::format("{} was signed with another key than the certificate", path.string()));
  }
  return std::optional(std::move(read.plan));
}

// The audit in the folder, which must be about this release.
Result<std::optional<audit::SignedAudit>> read_audit_beside(const fs::path& path, const VerifiedRelease& release) {
  if (!is_file(path)) return std::optional<audit::SignedAudit>{};
  NF_TRY(const std::string text, read_file(path.string(), kMaxSignedBytes));
  const auto about_path = [&](const Error& error) {
    return Error{error.code, fmt::format("{}: {}", path.string(), error.message)};
  };
  Result<audit::SignedAudit> read = audit::parse_audit(text);
  if (!read.has_value()) return about_path(read.error());
  const Result<void> fits = audit::expect_about(read.value(), release.certificate, release.certificate_text);
  if (!fits.has_value()) return about_path(fits.error());
  return std::optional(std::move(read).value());
}

// Everything signed beside the release. Requires a file that a run has named.
Result<RunFolder> read_signed(const fs::path& release) {
  NF_TRY(Verdict verdict, verify_file(release.string()));
  RunFolder folder{std::move(verdict), {}, {}};
  const fs::path beside = release.parent_path();
  NF_TRY_VOID(expect_same_certificate(beside / kCertificateName, folder.verdict.release.certificate_text));
  NF_TRY(folder.verdict.audit, read_audit_beside(beside / audit::kAuditName, folder.verdict.release));
  NF_TRY(folder.plan, read_plan_beside(beside / kPlanName, folder.verdict.release.certificate.key));
  return folder;
}

Error about(const fs::path& file, Error error) {
  const std::string name = file.string();
  if (error.message.find(name) == std::string::npos) error.message = fmt::format("{}: {}", name, error.message);
  return error;
}

Error no_run(const std::string& path) {
  return input_data_error(fmt::format("{} holds neither {} nor {}: it is not the folder of a run", shown(path),
                                      kModelName, kCertificateName));
}

// The folders of a sweep's runs: first those of its table, then any others that hold a release.
Result<std::vector<fs::path>> runs_of_sweep(const fs::path& folder) {
  std::vector<fs::path> runs;
  if (is_sweep_folder(folder.string())) {
    NF_TRY(const std::vector<SweepLine> lines, read_sweep(folder.string()));
    for (const SweepLine& line : lines) runs.push_back(folder / sweep_run_name(line.epsilon));
  }
  std::vector<fs::path> others;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const bool known = std::find(runs.begin(), runs.end(), at->path()) != runs.end();
    if (!known && is_folder(at->path()) && release_in(at->path())) others.push_back(at->path());
  }
  if (error) return io_error(fmt::format("{} cannot be listed: {}", shown(folder.string()), error.message()));
  std::sort(others.begin(), others.end());
  runs.insert(runs.end(), others.begin(), others.end());
  return runs;
}

// Every file that was released into the folder.
Result<std::vector<fs::path>> releases_in(const std::string& path) {
  const fs::path folder = path;
  std::vector<fs::path> files;
  const std::optional<fs::path> own = release_in(folder);
  if (own) files.push_back(*own);
  if (own && !is_sweep_folder(path)) return files;
  NF_TRY(const std::vector<fs::path> runs, runs_of_sweep(folder));
  for (const fs::path& run : runs) {
    const std::optional<fs::path> release = release_in(run);
    if (!release) return no_run(run.string());
    files.push_back(*release);
  }
  if (files.empty()) return no_run(path);
  return files;
}

}  // namespace

Result<RunFolder> read_run_folder(const std::string& path) {
  fs::path release = path;
  if (is_folder(path)) {
    const std::optional<fs::path> found = release_in(path);
    if (!found) return no_run(path);
    release = *found;
  }
  if (release.filename() != kModelName && release.filename() != kCertificateName) {
    NF_TRY(Verdict verdict, verify_file(release.string()));
    return RunFolder{std::move(verdict), {}, {}};
  }
  NF_TRY(RunFolder folder, read_signed(release));
  NF_TRY(folder.notes, read_folder_notes(release.parent_path().string()));
  return folder;
}

Result<std::vector<Verdict>> verify_path(const std::string& path) {
  std::vector<Verdict> verdicts;
  if (fs::path(path).filename() == audit::kAuditName) {
    const fs::path folder = fs::path(path).parent_path();
    return verify_path(folder.empty() ? "." : folder.string());
  }
  if (!is_folder(path)) {
    NF_TRY(Verdict verdict, verify_file(path));
    verdicts.push_back(std::move(verdict));
    return verdicts;
  }
  NF_TRY(const std::vector<fs::path> files, releases_in(path));
  for (const fs::path& file : files) {
    Result<RunFolder> run = read_signed(file);
    if (!run.has_value()) return about(file, std::move(run).error());
    verdicts.push_back(std::move(run).value().verdict);
  }
  return verdicts;
}

}  // namespace noisefloor
