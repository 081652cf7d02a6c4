#include "noisefloor/report/run_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "noisefloor/audit/audit_document.h"
#include "tests/support/toy_run.h"

namespace noisefloor {
namespace {

using testing::expect_error;
using testing::value_of;
namespace fs = std::filesystem;

class RunFolderTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> verified(const std::string& name) const {
    std::vector<std::string> files;
    for (const Verdict& verdict : value_of(verify_path(runs_.path(name)))) files.push_back(verdict.file);
    return files;
  }
  void expect_refused(const std::string& name, ErrorCode code, const std::string& why) const {
    expect_error(verify_path(runs_.path(name)), code, why);
  }

  testing::ToyRuns runs_;
};

TEST_F(RunFolderTest, ReadsAModelAndItsNotes) {
  (void)runs_.train("run");
  runs_.write("run/metrics.jsonl", "{\"step\":5,\"epsilon\":0.5}\n");
  for (const char* name : {"run", "run/model.safetensors"}) {
    const RunFolder folder = value_of(read_run_folder(runs_.path(name)));
    EXPECT_EQ(folder.verdict.file, runs_.path("run/model.safetensors"));
    EXPECT_EQ(folder.notes.metrics.size(), 1U);
    EXPECT_FALSE(folder.plan);
  }
  EXPECT_FALSE(value_of(read_run_folder(runs_.path("run/certificate.json"))).verdict.release.has_content);
  // Files beside one with another name may be about something else.
  fs::copy_file(runs_.path("run/model.safetensors"), runs_.path("run/mailed.safetensors"));
  EXPECT_TRUE(value_of(read_run_folder(runs_.path("run/mailed.safetensors"))).notes.metrics.empty());
}

TEST_F(RunFolderTest, RefusesAFolderWithoutARun) {
  fs::create_directory(runs_.path("empty"));
  expect_error(read_run_folder(runs_.path("empty")), ErrorCode::kInputData, "not the folder of a run");
  expect_refused("empty", ErrorCode::kInputData, "not the folder of a run");
  expect_refused("nowhere", ErrorCode::kIo, "nowhere");
}

// An audit beside a model has to be about it.
TEST_F(RunFolderTest, ReadsTheAuditBesideAModel) {
  (void)runs_.train("run");
  runs_.write("run/audit.json", "{}\n");
  expect_refused("run", ErrorCode::kInputData, "audit.json: this is not an audit");
  const auto make = [&](const std::string& certificate_text) {
    const Certificate certificate =
        value_of(verify_file(runs_.path("run/model.safetensors"))).release.certificate.certificate;
    const SigningKey key = SigningKey::from_seed({1});
    ReplayRandom random = value_of(ReplayRandom::create(1));
    const DpEvent& event = certificate.statement.event;
    const audit::RunFindings found =
        value_of(audit::audit_event(event, certificate.statement.adjacency, {.canaries = 500}, random));
    const audit::AuditDocument document = audit::audit_of(certificate, certificate_text, event, found);
    return audit::to_json(document, value_of(audit::judgement_of(document)),
                          [&](std::string_view text) { return std::pair(key.public_key(), key.sign(text)); });
  };
  runs_.write("run/audit.json", make("another certificate"));
  expect_refused("run", ErrorCode::kVerificationFailed, "another release");
  expect_refused("run/audit.json", ErrorCode::kVerificationFailed, "another release");
  runs_.write("run/audit.json",
              make(value_of(verify_file(runs_.path("run/model.safetensors"))).release.certificate_text));
  expect_refused("run", ErrorCode::kVerificationFailed, "another key");
}

TEST_F(RunFolderTest, VerifiesTheModelOfAFolder) {
  (void)runs_.train("run");
  EXPECT_EQ(verified("run"), std::vector{runs_.path("run/model.safetensors")});
  EXPECT_EQ(verified("run/certificate.json"), std::vector{runs_.path("run/certificate.json")});
  // Notes are not signed: damaged ones do not cast doubt on the model.
  runs_.write("run/metrics.jsonl", "nonsense\n");
  EXPECT_EQ(verified("run").size(), 1U);
  expect_error(read_run_folder(runs_.path("run")), ErrorCode::kInputData, "metrics.jsonl, line 1");
  // The folder was mailed without its model.
  fs::remove(runs_.path("run/model.safetensors"));
  EXPECT_EQ(verified("run"), std::vector{runs_.path("run/certificate.json")});
}

TEST_F(RunFolderTest, RefusesSignedFilesThatDoNotAgree) {
  (void)runs_.train("run");
  (void)runs_.train("other");
  fs::copy_file(runs_.path("other/certificate.json"), runs_.path("run/certificate.json"),
                fs::copy_options::overwrite_existing);
  expect_refused("run", ErrorCode::kVerificationFailed, "not the certificate that the model holds");
  expect_error(read_run_folder(runs_.path("run")), ErrorCode::kVerificationFailed, "not the certificate");
  runs_.damage("other/model.safetensors");
  expect_refused("other", ErrorCode::kVerificationFailed, runs_.path("other/model.safetensors"));
  (void)runs_.train("third", 30.0);
  runs_.write("third/plan.json", "{}");
  expect_refused("third", ErrorCode::kInputData, "plan");
}

TEST_F(RunFolderTest, VerifiesEveryModelOfASweepInTheOrderOfItsTable) {
  (void)runs_.train("sweep/epsilon-1");
  (void)runs_.train("sweep/epsilon-0.5", 30.0);
  (void)runs_.train("sweep/without-privacy", std::nullopt);
  (void)runs_.train("sweep/by-hand", 40.0);
  fs::create_directory(runs_.path("sweep/pictures"));
  // Without the table, as in a sweep that was stopped, the order is by name.
  EXPECT_EQ(verified("sweep"), (std::vector{runs_.path("sweep/by-hand/model.safetensors"),
                                            runs_.path("sweep/epsilon-0.5/model.safetensors"),
                                            runs_.path("sweep/epsilon-1/model.safetensors"),
                                            runs_.path("sweep/without-privacy/model.safetensors")}));
  runs_.write("sweep/sweep.csv", "epsilon,loss\n0.5,1\n1,1\ninf,1\n");
  EXPECT_EQ(verified("sweep"),
            (std::vector{
                runs_.path("sweep/epsilon-0.5/model.safetensors"), runs_.path("sweep/epsilon-1/model.safetensors"),
                runs_.path("sweep/without-privacy/model.safetensors"), runs_.path("sweep/by-hand/model.safetensors")}));
  runs_.damage("sweep/epsilon-1/model.safetensors");
  expect_refused("sweep", ErrorCode::kVerificationFailed,
                 "sweep/epsilon-1/model.safetensors: the content of the file is not");
  fs::remove_all(runs_.path("sweep/epsilon-1"));
  expect_refused("sweep", ErrorCode::kInputData, "epsilon-1");
}

}  // namespace
}  // namespace noisefloor
