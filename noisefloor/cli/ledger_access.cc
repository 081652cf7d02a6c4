#include "noisefloor/cli/ledger_access.h"

#include <fmt/format.h>

#include <utility>

#include "noisefloor/cli/options.h"

namespace noisefloor::cli {
namespace {

// Where the ledger is. A command that only reads needs no key.
Result<LedgerLocation> location_to_write(const LedgerAccess& access) {
  NF_TRY(std::string key_file, key_file_of(access));
  return LedgerLocation{location_of(access), std::move(key_file), access.witnesses};
}

LedgerLocation location_to_read(const LedgerAccess& access) {
  return {location_of(access), usual_key_file(access.key_file, location_of(access)), access.witnesses};
}

}  // namespace

void LedgerAccess::add_to(CLI::App& command, bool writes, bool with_witnesses) {
  const OptionGroup group(command, "Ledger");
  group.optional("--ledger", ledger, "File or postgresql://… (NOISEFLOOR_LEDGER, or noisefloor.ledger)", "PLACE");
  if (writes) {
    group.optional("--key-file", key_file, "Its signing key (NOISEFLOOR_LEDGER_KEY, or PLACE.key)", "FILE");
  }
  if (with_witnesses) {
    group.repeatable("--witness", witnesses,
                     writes ? "Ask this witness first, and move it on: a file, or another ledger; may be repeated"
                            : "Compare with this witness; may be repeated",
                     "PLACE");
  }
}

std::string location_of(const LedgerAccess& access) { return usual_place(access.ledger); }

Result<std::string> key_file_of(const LedgerAccess& access) {
  std::string file = usual_key_file(access.key_file, location_of(access));
  if (!file.empty()) return file;
  return invalid_argument("a ledger in PostgreSQL needs the file of its key: give --key-file");
}

Result<std::unique_ptr<Ledger>> open_to_write(const LedgerAccess& access, OpenFor purpose) {
  NF_TRY(const LedgerLocation location, location_to_write(access));
  return noisefloor::open_to_write(location, purpose);
}

Result<std::unique_ptr<Ledger>> open_to_read(const LedgerAccess& access) {
  return noisefloor::open_to_read(location_to_read(access));
}

Result<std::unique_ptr<Ledger>> open_to_look_ahead(const LedgerAccess& access) {
  return noisefloor::open_to_look_ahead(location_to_read(access));
}

bool ledger_is_there(const LedgerAccess& access) { return is_there(location_to_read(access)); }

Result<OpenedLedger> open_or_create(const LedgerAccess& access) {
  NF_TRY(const LedgerLocation location, location_to_write(access));
  return noisefloor::open_or_create(location);
}

Result<OpenedLedger> open_to_pay(const LedgerAccess& access, bool create, const BudgetTerms& if_new,
                                 const std::string& file, const AskOutlook& outlook) {
  NF_TRY(const LedgerLocation location, location_to_write(access));
  const std::string remedy = fmt::format("Run `noisefloor dataset add {}` first, or give --create", file);
  return noisefloor::open_to_pay(location, {if_new, create, remedy}, outlook);
}

Result<Outlook> outlook_at(const LedgerAccess& access, const AskOutlook& outlook) {
  return noisefloor::outlook_at(location_to_read(access), outlook);
}

}  // namespace noisefloor::cli
