#include "noisefloor/ledger/entry_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "noisefloor/base/hex.h"

namespace noisefloor::internal {
namespace {

void add_text(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  append_json_string(out, value);
}

void add_number(std::string& out, std::string_view name, double value) {
  out += name;
  append_json_number(out, value);
}

template <class List, class Text>
void add_list(std::string& out, std::string_view name, const List& values, const Text& text) {
  if (values.empty()) return;
  out += name;
  out += '[';
  for (std::size_t i = 0; i < values.size(); ++i) add_text(out, i == 0 ? "" : ",", text(values[i]));
  out += ']';
}

std::optional<Quota> read_quota(CanonicalReader& in) {
  in.literal(R"({"epsilon":)");
  const Result<Epsilon> epsilon = Epsilon::make(in.number());
  in.literal(R"(,"delta":)");
  const Result<Delta> delta = Delta::make(in.number());
  in.literal(R"(,"period":)");
  const TimeMs period = in.integer();
  in.literal("}");
  if (in.good() && epsilon.has_value() && delta.has_value()) return Quota{epsilon.value(), delta.value(), period};
  in.fail();
  return std::nullopt;
}

std::vector<UseKind> read_uses(CanonicalReader& in) {
  std::vector<UseKind> uses;
  in.list([&] {
    const Result<UseKind> kind = parse_use_kind(in.string());
    // One order, and none twice: one entry has one text.
    if (!kind.has_value() || (!uses.empty() && kind.value() <= uses.back())) return in.fail();
    uses.push_back(kind.value());
  });
  if (uses.empty()) in.fail();
  return uses;
}

}  // namespace

std::string fields_of(const RoleEntry& e) {
  std::string out;
  add_text(out, R"("role","name":)", e.name);
  add_text(out, R"(,"role":)", name_of(e.role));
  add_text(out, R"(,"key":)", to_hex(e.key));
  add_list(out, R"(,"budgets":)", e.budgets, [](const std::string& name) { return std::string_view(name); });
  add_list(out, R"(,"uses":)", e.uses, [](UseKind kind) { return name_of(kind); });
  if (e.quota) {
    add_number(out, R"(,"quota":{"epsilon":)", e.quota->epsilon.value());
    add_number(out, R"(,"delta":)", e.quota->delta.value());
    out += fmt::format(R"(,"period":{}}})", e.quota->period);
  }
  if (e.until) out += fmt::format(R"(,"until":{})", *e.until);
  if (e.row_keys) add_text(out, R"(,"row_keys":)", to_hex(*e.row_keys));
  return out;
}

std::string fields_of(const RevokeEntry& e) {
  std::string out;
  add_text(out, R"("revoke","name":)", e.name);
  add_text(out, R"(,"reason":)", e.reason);
  return out;
}

std::optional<EntryBody> read_role(CanonicalReader& in) {
  RoleEntry e{};
  in.literal(R"("role","name":)");
  e.name = in.string();
  in.literal(R"(,"role":)");
  const Result<Role> role = parse_role(in.string());
  if (!role.has_value()) {
    in.fail();
    return std::nullopt;
  }
  e.role = role.value();
  in.literal(R"(,"key":)");
  e.key = in.bytes<32>();
  if (in.maybe(R"(,"budgets":)")) {
    in.list([&] { e.budgets.push_back(in.string()); });
    if (e.budgets.empty()) in.fail();
  }
  if (in.maybe(R"(,"uses":)")) e.uses = read_uses(in);
  if (in.maybe(R"(,"quota":)")) e.quota = read_quota(in);
  if (in.maybe(R"(,"until":)")) e.until = in.integer();
  if (in.maybe(R"(,"row_keys":)")) e.row_keys = in.bytes<kSealedRowKeyBytes>();
  return e;
}

std::optional<EntryBody> read_revoke(CanonicalReader& in) {
  RevokeEntry e;
  in.literal(R"("revoke","name":)");
  e.name = in.string();
  in.literal(R"(,"reason":)");
  e.reason = in.string();
  return e;
}

}  // namespace noisefloor::internal
