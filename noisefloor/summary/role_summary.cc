#include "noisefloor/summary/role_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "noisefloor/base/file.h"
#include "noisefloor/base/hex.h"
#include "noisefloor/base/quantity_text.h"
#include "noisefloor/base/text.h"
#include "noisefloor/release/signers.h"
#include "noisefloor/summary/summary_json.h"

namespace noisefloor {
namespace {

using Json = nlohmann::ordered_json;
using Member = LedgerState::Member;

// A key, or a file with a key on its first line, as `role key` shows it.
Result<PublicKey> key_named(const std::string& word) {
  if (word.empty()) return invalid_argument("a member needs a public key: the member makes one with `role key`");
  if (Result<PublicKey> key = parse_public_key(word); key.has_value()) return key;
  if (!std::filesystem::exists(word)) return parse_public_key(word).error();
  NF_TRY(const std::vector<Signer> found, read_signers(word));
  if (found.size() == 1) return found.front().key;
  return invalid_argument(fmt::format("{} has {} keys: name the one of this member", shown(word), found.size()));
}

std::string status_of(const LedgerState& state, const Member& member) {
  if (member.revoked) return "revoked";
  const bool over = member.closed || (member.until && state.last_time() >= *member.until);
  return over ? "ended" : "in force";
}

std::string terms_in_words(const Member& member) {
  if (member.role != Role::kAnalyst) return member.role == Role::kOwner ? "everything" : "reads";
  std::vector<std::string_view> uses;
  for (const UseKind kind : member.uses) uses.push_back(name_of(kind));
  std::string text = fmt::format("{}; for {}", fmt::join(member.budgets, ", "),
                                 uses.empty() ? std::string("every use") : fmt::format("{}", fmt::join(uses, ", ")));
  if (member.quota) {
    text += fmt::format("; epsilon {}, delta {} each {}", member.quota->epsilon.value(), member.quota->delta.value(),
                        show_period(member.quota->period));
  }
  if (member.until) text += "; until " + show_time(*member.until);
  return text;
}

Json member_json(const LedgerState& state, const Member& member) {
  Json uses = Json::array();
  for (const UseKind kind : member.uses) uses.push_back(name_of(kind));
  Json json{{"name", member.name},
            {"role", name_of(member.role)},
            {"status", status_of(state, member)},
            {"public_key", to_hex(member.key)},
            {"entry", member.entry},
            {"since", show_time(member.since)},
            {"budgets", member.budgets},
            {"uses", std::move(uses)},
            {"quota", nullptr},
            {"until", member.until ? Json(show_time(*member.until)) : Json()},
            {"revoked", nullptr}};
  if (member.quota) {
    json["quota"] = {{"epsilon", member.quota->epsilon.value()},
                     {"delta", member.quota->delta.value()},
                     {"period_ms", member.quota->period}};
    Json left = Json::object();
    for (const std::string& name : member.budgets) {
      left[name] = state.quota_left(member, *state.find(name), state.last_time()).value_or("");
    }
    json["quota"]["left_at_last_entry"] = std::move(left);
  }
  if (member.revoked) json["revoked"] = {{"entry", member.revoked->entry}, {"reason", member.revoked->reason}};
  return json;
}

}  // namespace

Result<NewRole> parse_role(const RoleWords& words) {
  NF_TRY(const Role role, parse_role(std::string_view(words.role)));
  NF_TRY(const PublicKey key, key_named(words.public_key));
  NewRole made{words.name, role, key, words.budgets};
  for (const std::string& word : words.uses) {
    NF_TRY(const UseKind kind, parse_use_kind(word));
    made.uses.push_back(kind);
  }
  const bool has_quota = !words.quota_epsilon.empty() || !words.quota_delta.empty() || !words.per.empty();
  if (has_quota) {
    if (words.quota_epsilon.empty() || words.per.empty()) {
      return invalid_argument("a quota needs an epsilon and a period, as in epsilon 0.5 per 30d");
    }
    NF_TRY(const Epsilon epsilon, quantity<Epsilon>("the epsilon of the quota", words.quota_epsilon));
    NF_TRY(const std::optional<Delta> delta, optional_quantity<Delta>("the delta of the quota", words.quota_delta));
    NF_TRY(const TimeMs period, parse_period(words.per));
    made.quota = Quota{epsilon, delta.value_or(Delta::of(0)), period};
  }
  if (!words.until.empty()) {
    NF_TRY(made.until, parse_time(words.until));
  }
  made.database_role = words.database_role;
  return made;
}

Result<Summary> summary_of_roles(Ledger& ledger, const std::string& location) {
  Summary summary(fmt::format("Members of {}", without_password(location)));
  Json all = Json::array();
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    for (const Member& member : state.members()) {
      const std::string status = status_of(state, member);
      summary.line(member.name,
                   fmt::format("{:<8} {}{}", name_of(member.role),
                               status == "in force" ? "" : fmt::format("({}) ", status), terms_in_words(member)));
      all.push_back(member_json(state, member));
    }
    return success();
  }));
  summary.set("members", all);
  return summary;
}

Result<Summary> summary_of_role(Ledger& ledger, const std::string& name) {
  Summary summary("");
  NF_TRY_VOID(ledger.read([&](const LedgerState& state) -> Result<void> {
    const Member* const member = state.find_member(name);
    if (member == nullptr) return invalid_argument(fmt::format("there is no member {}", shown(name)));
    summary.retitle(fmt::format("{}, {}", member->name, name_of(member->role)));
    summary.line("key", to_hex(member->key));
    summary.line("may use", terms_in_words(*member));
    summary.line("since", fmt::format("{}, entry {}", show_time(member->since), member->entry));
    if (member->revoked) {
      summary.line("revoked", fmt::format("entry {}: {}", member->revoked->entry, member->revoked->reason));
      if (member->role != Role::kAuditor) {
        summary.remark(
            "From now on this key writes nothing. Its holder can still recognise rows of the ledger's datasets with "
            "the keys that the role came with.");
      }
    }
    replace_json(summary, member_json(state, *member));
    return success();
  }));
  return summary;
}

Result<Summary> make_key(const std::string& path) {
  const bool is_new = !std::filesystem::exists(path);
  if (is_new) NF_TRY_VOID(SigningKey::generate().save(path));
  NF_TRY(const SigningKey key, SigningKey::load(path));
  const std::string beside = path + ".pub";
  NF_TRY_VOID(write_file(beside, to_hex(key.public_key()) + "\n"));
  Summary summary(fmt::format("{} {}", is_new ? "A new key in" : "The key in", path));
  summary.line("public key", to_hex(key.public_key()));
  summary.line("written to", beside);
  summary.remark(fmt::format("Give {} to an owner of the ledger, who adds you with `role add`. Keep {} to yourself.",
                             shown(beside), shown(path)));
  summary.set("key_file", path);
  summary.set("public_key_file", beside);
  summary.set("public_key", to_hex(key.public_key()));
  summary.set("new", is_new);
  return summary;
}

}  // namespace noisefloor
