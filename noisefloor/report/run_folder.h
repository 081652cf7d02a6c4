// Reads a run's folder: the signed files, which must verify, and the notes beside them, which are not signed.
//
// Guarantee:     the signed files in the folder agree: the model holds the certificate that lies beside it, and the
//                plan was signed with the key that signed the certificate.
// Errors:        kVerificationFailed with the file and the reason; kInputData for a folder without a run.
// Thread safety: plain data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "noisefloor/base/result.h"
#include "noisefloor/report/folder_notes.h"
#include "noisefloor/report/verdict.h"
#include "noisefloor/training/plan_file.h"

namespace noisefloor {

struct RunFolder {
  Verdict verdict;  // on the model, or on the certificate if there is no model
  std::optional<PlanFile> plan;
  FolderNotes notes;
};

// `path` is the run's folder, its model or its certificate. If the file has a name that no run gives, nothing beside it
// is read: that may be about something else.
[[nodiscard]] Result<RunFolder> read_run_folder(const std::string& path);

// Verifies the file at `path`, or everything that was released into the folder there: the model of a run (or its
// certificate, if there is nothing else), or the models of a sweep, in the order of its table. No notes are read,
// except for that table. Returns at least one verdict; an error names the file that it is about.
[[nodiscard]] Result<std::vector<Verdict>> verify_path(const std::string& path);

}  // namespace noisefloor
