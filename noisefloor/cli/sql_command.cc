#include <fmt/format.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <iostream>

#include "noisefloor/base/printable.h"
#include "noisefloor/base/text.h"
#include "noisefloor/cli/commands.h"
#include "noisefloor/cli/described.h"
#include "noisefloor/cli/query_options.h"
#include "noisefloor/dataset/described_tables.h"
#include "noisefloor/shell/history_file.h"
#include "noisefloor/shell/sql_session.h"
#include "noisefloor/summary/dataset_summary.h"
#include "noisefloor/summary/query_summary.h"

namespace noisefloor::cli {
namespace {

// Gives keys as they come, as long as it lives.
class RawTerminal {
 public:
  RawTerminal() {
    ::tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    ::cfmakeraw(&raw);
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal() { ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_); }

 private:
  termios before_{};
};

std::size_t width_of_terminal() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void show(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// The next line; nothing at the end.
std::optional<std::string> line_from_terminal(LineEditor& editor, SqlSession& session) {
  const RawTerminal raw;
  LineEditor::Step step{editor.begin(session.prompt())};
  std::array<char, 256> keys{};
  step.screen += editor.take("").screen;
  while (true) {
    show(step.screen);
    if (step.line) return step.line;
    if (step.ended) return std::nullopt;
    if (step.given_up) {
      session.give_up();
      step = {editor.begin(session.prompt())};
      continue;
    }
    const ssize_t got = ::read(STDIN_FILENO, keys.data(), keys.size());
    if (got <= 0) return std::nullopt;
    step = editor.take({keys.data(), static_cast<std::size_t>(got)});
  }
}

Result<std::string> text_of(Result<Summary> made) {
  if (!made.has_value()) return made.error();
  return made.value().as_text();
}

Result<Summary> run_sql(const QueryOptions& o) {
  NF_TRY(const DescribedRows rows, described_rows(o.dataset));
  NF_TRY_VOID(o.terms());
  NF_TRY(const TablesFormat tables, tables_of(rows.description));
  const auto run = [&](const std::string& statement, bool explain) {
    QueryOptions one = o;
    one.explain = explain;
    return text_of(run_statements(one, rows, {statement}));
  };
  const SqlSessionActs acts{[&](const std::string& statement) { return run(statement, false); },
                            [&](const std::string& statement) { return run(statement, true); },
                            [&]() -> Result<std::string> {
                              NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_read(o));
                              return text_of(summary_of_dataset(*ledger, rows.description.name));
                            },
                            [&]() -> Result<std::string> { return tables_in_words(tables); }};
  SqlSession session(rows.description.name, acts, names_in(tables));
  const bool terminal = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  HistoryFile history = HistoryFile::usual();
  LineEditor editor(
      width_of_terminal(), [&](std::string_view text) { return session.complete(text); },
      terminal ? history.read() : std::vector<std::string>{});
  ErrorCode worst = ErrorCode::kInternal;
  bool failed = false;
  if (terminal)
    show(fmt::format("Each query may cost epsilon {} of {}. \\help shows what is possible.\n", o.text.epsilon,
                     printable(rows.description.name)));
  while (true) {
    std::optional<std::string> line;
    if (terminal) {
      line = line_from_terminal(editor, session);
    } else if (std::string read; std::getline(std::cin, read)) {
      line = std::move(read);
    }
    if (!line) break;
    if (terminal) {
      editor.remember(*line);
      history.add(*line);
    }
    const SqlSession::Reply reply = session.take(*line);
    show(printable_lines(reply.text));
    if (reply.error) {
      fmt::print(stderr, "noisefloor: {}\n", printable(without_password(reply.error->message)));
      worst = reply.error->code;
      failed = true;
    }
    if (reply.ended) break;
  }
  Summary done = Summary::of_data("");
  if (failed && !terminal) done.fail_with(worst);
  return done;
}

}  // namespace

void add_sql_command(CLI::App& app, Action& action) {
  const auto declare = [](CLI::App& command, QueryOptions& o) {
    OptionGroup(command).required("DATASET", o.dataset,
                                  "Description of the dataset, whose budget pays (docs/formats/dataset.md)", "FILE");
    o.add_terms_to(command);
    o.LedgerAccess::add_to(command, true, true);
  };
  add_command<QueryOptions>(app, action, "sql", "Ask a dataset in SQL, query by query, with history and completion",
                            "visits.toml --epsilon 0.1", declare, run_sql);
}

}  // namespace noisefloor::cli
