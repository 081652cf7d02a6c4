#include "noisefloor/base/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <thread>

#include "noisefloor/base/text.h"

extern char** environ;  // NOLINT: POSIX has it so

namespace noisefloor {

Result<int> start_process(ProgramCall call) {
  std::vector<char*> words;
  words.reserve(call.arguments.size() + 1);
  for (std::string& argument : call.arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  constexpr int kAnew = O_WRONLY | O_CREAT | O_TRUNC;
  if (!call.output.empty()) {
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, call.output.c_str(), kAnew, 0666);
  }
  if (!call.errors.empty()) {
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, call.errors.c_str(), kAnew, 0600);
  }
  if (!call.folder.empty()) ::posix_spawn_file_actions_addchdir_np(&actions, call.folder.c_str());
  pid_t process = 0;
  const int failed = ::posix_spawn(&process, call.program.c_str(), &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return io_error(fmt::format("the program {} could not be started", shown(call.program)));
  return process;
}

Result<int> wait_for_process(int id) {
  int status = 0;
  while (::waitpid(id, &status, 0) < 0) {
    if (errno != EINTR) return internal_error("a process that was started is lost");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void end_process(int id, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kPause(20);
  const auto until = std::chrono::steady_clock::now() + patience;
  int status = 0;
  while (::waitpid(id, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= until) {
      ::kill(id, SIGKILL);
      ::waitpid(id, &status, 0);
      return;
    }
    std::this_thread::sleep_for(kPause);
  }
}

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

}  // namespace noisefloor
