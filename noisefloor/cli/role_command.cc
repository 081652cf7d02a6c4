#include <memory>
#include <string>

#include "noisefloor/cli/commands.h"
#include "noisefloor/cli/ledger_access.h"
#include "noisefloor/summary/role_summary.h"

namespace noisefloor::cli {
namespace {

struct RoleOptions : LedgerAccess {
  RoleWords words;
  std::string reason;
};

Result<Summary> run_add(const RoleOptions& o) {
  NF_TRY(const NewRole role, parse_role(o.words));
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_write(o));
  NF_TRY_VOID(ledger->add_role(role));
  return summary_of_role(*ledger, o.words.name);
}

Result<Summary> run_list(const RoleOptions& o) {
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_read(o));
  return summary_of_roles(*ledger, location_of(o));
}

Result<Summary> run_revoke(const RoleOptions& o) {
  NF_TRY(const std::unique_ptr<Ledger> ledger, open_to_write(o));
  NF_TRY_VOID(ledger->revoke_role(o.words.name, o.reason));
  return summary_of_role(*ledger, o.words.name);
}

void declare_add(CLI::App& command, RoleOptions& o) {
  OptionGroup(command).required("name", o.words.name, "Name of the member", "NAME");
  OptionGroup(command).with_default("--role", o.words.role, "owner, analyst or auditor", "ROLE");
  OptionGroup(command).required("--public-key", o.words.public_key, "The member's public key, or its file", "KEY|FILE");
  const OptionGroup analysts(command, "For analysts");
  analysts.repeatable("--budget", o.words.budgets, "May reserve from it and its parts; may be repeated", "NAME");
  analysts.repeatable("--use", o.words.uses, "Only for: training, statistic, 'utility graph' or other; may be repeated",
                      "KIND");
  analysts.optional("--quota-epsilon", o.words.quota_epsilon, "At most this of each budget in each period", "E");
  analysts.optional("--quota-delta", o.words.quota_delta, "The delta of --quota-epsilon", "D");
  analysts.optional("--per", o.words.per, "The period of the quota, as 12h, 30d or 4w", "PERIOD");
  analysts.optional("--until", o.words.until, "Nothing from this time (UTC) on", "TIME");
  OptionGroup(command, "PostgreSQL")
      .optional("--database-role", o.words.database_role, "Grant it what this member needs, and nothing else", "ROLE");
  o.add_to(command, true, true);
}

void declare_list(CLI::App& command, RoleOptions& o) { o.add_to(command, false, false); }

void declare_revoke(CLI::App& command, RoleOptions& o) {
  OptionGroup(command).required("name", o.words.name, "Name of the member", "NAME");
  OptionGroup(command).required("--reason", o.reason, "Why, for the history", "TEXT");
  o.add_to(command, true, true);
}

void declare_key(CLI::App& command, RoleOptions& o) {
  OptionGroup(command).required("file", o.words.public_key, "File of the key; FILE.pub gets the public key", "FILE");
}

}  // namespace

void add_role_command(CLI::App& app, Action& action) {
  CLI::App& role = add_command_group(app, "role", "Who may do what with a ledger: owners, analysts and auditors");
  add_command<RoleOptions>(role, action, "add", "Let somebody use the ledger, with a key of their own",
                           "ann --public-key ann.key.pub --budget trial --quota-epsilon 0.5 --per 30d", declare_add,
                           run_add);
  add_command<RoleOptions>(role, action, "list", "All members, and what they may do", "--json", declare_list, run_list);
  add_command<RoleOptions>(role, action, "revoke", "Take a role away, for good", "ann --reason 'left the team'",
                           declare_revoke, run_revoke);
  add_command<RoleOptions>(role, action, "key", "Make a key in a file, or show the public key of one that is there",
                           "ann.key", declare_key, [](const RoleOptions& o) { return make_key(o.words.public_key); });
}

}  // namespace noisefloor::cli
