#include "noisefloor/base/process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "noisefloor/base/file.h"
#include "tests/support/temporary_folder.h"

namespace noisefloor {
namespace {

constexpr std::size_t kLimit = 4096;

ProgramCall shell(const std::string& script) { return {.program = "/bin/sh", .arguments = {"sh", "-c", script}}; }

int exit_code_of(ProgramCall call) { return wait_for_process(start_process(std::move(call)).value()).value(); }

TEST(Process, ItsExitCodeIsReturned) {
  EXPECT_EQ(exit_code_of(shell("exit 0")), 0);
  EXPECT_EQ(exit_code_of(shell("exit 7")), 7);
  EXPECT_EQ(exit_code_of(shell("kill -9 $$")), -1);
}

TEST(Process, WhatItPrintsGoesIntoFilesAnew) {
  const testing::TemporaryFolder folder;
  ProgramCall call = shell("echo a long first text; echo bad >&2");
  call.output = folder.path("out");
  call.errors = folder.path("err");
  EXPECT_EQ(exit_code_of(call), 0);
  EXPECT_EQ(read_file(call.output, kLimit).value(), "a long first text\n");
  EXPECT_EQ(read_file(call.errors, kLimit).value(), "bad\n");
  call.arguments = {"sh", "-c", "pwd"};
  call.folder = "/";
  EXPECT_EQ(exit_code_of(call), 0);
  EXPECT_EQ(read_file(call.output, kLimit).value(), "/\n") << "it runs in the folder that was named";
  EXPECT_EQ(read_file(call.errors, kLimit).value(), "");
}

TEST(Process, RefusesAProgramThatIsNotThere) {
  const Result<int> started = start_process({.program = "/nowhere/at all", .arguments = {"all"}});
  ASSERT_FALSE(started.has_value());
  EXPECT_EQ(started.error().code, ErrorCode::kIo);
  EXPECT_NE(started.error().message.find("/nowhere/at all"), std::string::npos);
}

TEST(Process, EndingWaitsAndThenKills) {
  const int obstinate = start_process(shell("exec sleep 60")).value();
  ASSERT_EQ(::kill(obstinate, 0), 0);
  end_process(obstinate, std::chrono::milliseconds(10));
  EXPECT_NE(::kill(obstinate, 0), 0) << "it was killed, and waited for";

  const testing::TemporaryFolder folder;
  const int quick = start_process(shell("sleep 0.1; echo done >" + folder.path("mark"))).value();
  end_process(quick, std::chrono::seconds(60));
  EXPECT_EQ(read_file(folder.path("mark"), kLimit).value(), "done\n") << "it had the time to end by itself";
}

TEST(ShellWord, IsReadByAShellAsItWas) {
  EXPECT_EQ(shell_word("a/b_c-1.5:x=y,+@%"), "a/b_c-1.5:x=y,+@%");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("it's; rm -rf $HOME"), "'it'\\''s; rm -rf $HOME'");
}

}  // namespace
}  // namespace noisefloor
