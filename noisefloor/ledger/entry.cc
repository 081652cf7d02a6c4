#include "noisefloor/ledger/entry.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "noisefloor/base/hex.h"
#include "noisefloor/event/json.h"
#include "noisefloor/ledger/canonical_json.h"
#include "noisefloor/ledger/entry_roles.h"

namespace noisefloor {
namespace {

// --- Writing ---------------------------------------------------------------------------------------------------------

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  // `name` is the field with its punctuation: ,"time":
  void text(std::string_view name, std::string_view value) {
    out_ += name;
    append_json_string(out_, value);
  }
  void number(std::string_view name, double value) {
    out_ += name;
    append_json_number(out_, value);
  }
  template <class Whole>
  void whole(std::string_view name, Whole value) {
    out_ += name;
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }
  void bytes(std::string_view name, std::span<const std::uint8_t> value) {
    out_ += name;
    out_ += '"';
    out_ += to_hex(value);
    out_ += '"';
  }
  void raw(std::string_view name, std::string_view value) {
    out_ += name;
    out_ += value;
  }
  template <class List, class Each>
  void list(std::string_view name, const List& values, Each&& each) {
    out_ += name;
    out_ += '[';
    bool first = true;
    for (const auto& value : values) {
      if (!first) out_ += ',';
      first = false;
      each(value);
    }
    out_ += ']';
  }
  void numbers(std::string_view name, const std::vector<double>& values) {
    list(name, values, [&](double value) { append_json_number(out_, value); });
  }
  void charge(std::string_view name, const Charge& charge) {
    out_ += name;
    numbers(R"({"amounts":)", charge.amounts);
    number(R"(,"delta":)", charge.delta);
    out_ += '}';
  }

 private:
  std::string& out_;
};

void write(Writer& out, const GenesisEntry& e) {
  out.whole(R"(,"entry":"genesis","format":)", kLedgerFormatVersion);
  out.bytes(R"(,"ledger":)", e.ledger);
  out.bytes(R"(,"key":)", e.key);
}

void write(Writer& out, const BlockTerms& t) {
  out.text(R"(,"blocks":{"by":)", name_of(t.by));
  if (!t.column.empty()) out.text(R"(,"column":)", t.column);
  out.text(R"(,"period":)", name_of(t.period));
  out.whole(R"(,"unlock":)", t.unlock);
  out.raw("}", "");
}

void write(Writer& out, const BudgetEntry& e) {
  const BudgetTerms& t = e.terms;
  out.text(R"(,"entry":"budget","name":)", t.name);
  out.number(R"(,"epsilon":)", t.epsilon.value());
  out.number(R"(,"delta":)", t.delta.value());
  out.text(R"(,"adjacency":)", name_of(t.adjacency));
  out.text(R"(,"unit":)", name_of(t.unit));
  out.text(R"(,"rule":)", name_of(t.rule));
  out.number(R"(,"failures":)", t.failures);
  if (t.rule == Rule::kZcdp) out.number(R"(,"rho":)", t.rho);
  if (t.rule == Rule::kRdp) out.numbers(R"(,"orders":)", t.orders);
  if (t.rule == Rule::kPlanned) {
    out.list(R"(,"plan":)", t.plan, [&](const PlanItem& item) {
      out.text(R"({"name":)", item.name);
      out.whole(R"(,"times":)", item.times.value());
      out.raw(R"(,"event":)", to_json(item.event));
      out.raw("}", "");
    });
  }
  if (t.from) out.whole(R"(,"from":)", *t.from);
  if (t.until) out.whole(R"(,"until":)", *t.until);
  if (t.blocks) write(out, *t.blocks);
  if (!t.parent.empty()) {
    out.text(R"(,"parent":)", t.parent);
    out.charge(R"(,"parent_charge":)", e.parent_charge);
  }
}

void write(Writer& out, const ReserveEntry& e) {
  out.text(R"(,"entry":"reserve","budget":)", e.budget);
  if (!e.blocks.empty()) {
    out.list(R"(,"blocks":)", e.blocks, [&](const std::string& one) { out.text("", one); });
  }
  out.text(R"(,"key":)", e.key);
  out.bytes(R"(,"request":)", e.request);
  out.raw(R"(,"event":)", e.event);
  if (!e.item.empty()) out.text(R"(,"item":)", e.item);
  if (e.delta) out.number(R"(,"delta":)", *e.delta);
  out.charge(R"(,"charge":)", e.charge);
  out.bytes(R"(,"abort_lock":)", e.abort_lock);
  if (!e.note.pipeline.empty()) out.text(R"(,"pipeline":)", e.note.pipeline);
  if (!e.note.purpose.empty()) out.text(R"(,"purpose":)", e.note.purpose);
  if (!e.note.techniques.empty()) {
    out.list(R"(,"techniques":)", e.note.techniques, [&](const std::string& one) { out.text("", one); });
  }
  if (!e.note.configuration.empty()) out.raw(R"(,"configuration":)", e.note.configuration);
  if (e.use) out.text(R"(,"use":)", name_of(*e.use));
}

void write(Writer& out, const CommitEntry& e) {
  out.whole(R"(,"entry":"commit","reservation":)", e.reservation);
  out.bytes(R"(,"release":)", e.release);
  if (e.accuracy) out.number(R"(,"accuracy":)", *e.accuracy);
  if (e.kept) out.raw(R"(,"kept":true)", "");
}

void write(Writer& out, const AbortEntry& e) {
  out.whole(R"(,"entry":"abort","reservation":)", e.reservation);
  out.bytes(R"(,"token":)", e.token);
}

void write(Writer& out, const AdoptEntry& e) {
  out.whole(R"(,"entry":"adopt","epoch":)", e.epoch);
  out.text(R"(,"reason":)", e.reason);
  if (e.missing) out.whole(R"(,"missing":)", *e.missing);
}

void write(Writer& out, const DatasetEntry& e) {
  out.text(R"(,"entry":"dataset","name":)", e.name);
  out.bytes(R"(,"description":)", e.description);
  if (!e.budget.empty()) out.text(R"(,"budget":)", e.budget);
  if (!e.same_as.empty()) out.text(R"(,"same_as":)", e.same_as);
  if (!e.person.empty()) out.text(R"(,"person":)", e.person);
  out.bytes(R"(,"fingerprint":)", e.fingerprint);
  out.bytes(R"(,"sketch":)", e.sketch);
}

void write(Writer& out, const ContentEntry& e) {
  out.text(R"(,"entry":"content","dataset":)", e.dataset);
  if (!e.block.empty()) out.text(R"(,"block":)", e.block);
  out.bytes(R"(,"description":)", e.description);
  out.bytes(R"(,"fingerprint":)", e.fingerprint);
  out.bytes(R"(,"sketch":)", e.sketch);
}

void write(Writer& out, const RetireEntry& e) {
  out.text(R"(,"entry":"retire","dataset":)", e.dataset);
  out.text(R"(,"reason":)", e.reason);
}

void write(Writer& out, const ClockEntry& e) { out.text(R"(,"entry":"clock","reason":)", e.reason); }

void write(Writer& out, const ExposureEntry& e) {
  out.text(R"(,"entry":"exposure","dataset":)", e.dataset);
  out.text(R"(,"kind":)", name_of(e.kind));
  out.bytes(R"(,"what":)", e.what);
  out.text(R"(,"key":)", e.key);
  if (!e.purpose.empty()) out.text(R"(,"purpose":)", e.purpose);
}

void write(Writer& out, const ExposedEntry& e) {
  out.whole(R"(,"entry":"exposed","exposure":)", e.exposure);
  out.bytes(R"(,"release":)", e.release);
}
void write(Writer& out, const RoleEntry& e) { out.raw(R"(,"entry":)", internal::fields_of(e)); }

void write(Writer& out, const RevokeEntry& e) { out.raw(R"(,"entry":)", internal::fields_of(e)); }

void write(Writer& out, const WitnessEntry& e) {
  out.text(R"(,"entry":"witness","place":)", e.place);
  if (!e.dropped.empty()) out.text(R"(,"dropped":)", e.dropped);
}

// --- Reading ---------------------------------------------------------------------------------------------------------

// Returns a value of a quantity's type, or makes the reader fail.
template <class T>
std::optional<T> checked(CanonicalReader& in, Result<T> made) {
  if (made.has_value()) return std::move(made).value();
  in.fail();
  return std::nullopt;
}

// Reads a field that is left out if it is empty.
std::string optional_text(CanonicalReader& in, std::string_view field) {
  if (!in.maybe(field)) return {};
  std::string text = in.string();
  if (text.empty()) in.fail();
  return text;
}

Charge read_charge(CanonicalReader& in) {
  Charge charge;
  in.literal(R"({"amounts":)");
  in.list([&] { charge.amounts.push_back(in.number_or_null()); });
  in.literal(R"(,"delta":)");
  charge.delta = in.number();
  in.literal("}");
  for (double amount : charge.amounts) {
    if (!(amount >= 0)) in.fail();
  }
  if (!(charge.delta >= 0 && charge.delta < 1)) in.fail();
  return charge;
}

std::optional<EntryBody> read_genesis(CanonicalReader& in) {
  in.literal(R"("genesis","format":)");
  if (in.count() != static_cast<std::uint64_t>(kLedgerFormatVersion)) in.fail();
  GenesisEntry e{};
  in.literal(R"(,"ledger":)");
  e.ledger = in.bytes<kDigestBytes>();
  in.literal(R"(,"key":)");
  e.key = in.bytes<32>();
  return e;
}

std::optional<PlanItem> read_item(CanonicalReader& in) {
  in.literal(R"({"name":)");
  std::string name = in.string();
  in.literal(R"(,"times":)");
  const auto times = checked(in, Steps::make(in.count()));
  in.literal(R"(,"event":)");
  const std::string_view text = in.object();
  in.literal("}");
  if (!in.good()) return std::nullopt;
  const auto event = checked(in, parse_event(text));
  if (!event || to_json(*event) != text) return std::nullopt;
  return PlanItem{std::move(name), *event, *times};
}

std::optional<BlockTerms> read_blocks(CanonicalReader& in) {
  in.literal(R"({"by":)");
  const auto by = checked(in, parse_block_kind(in.string()));
  std::string column = optional_text(in, R"(,"column":)");
  in.literal(R"(,"period":)");
  const auto period = checked(in, parse_block_period(in.string()));
  in.literal(R"(,"unlock":)");
  const std::uint64_t unlock = in.count();
  in.literal("}");
  if (unlock > kMaxUnlock) in.fail();
  if (!in.good()) return std::nullopt;
  return BlockTerms{*by, std::move(column), *period, static_cast<std::uint32_t>(unlock)};
}

std::optional<EntryBody> read_budget(CanonicalReader& in) {
  in.literal(R"("budget","name":)");
  std::string name = in.string();
  in.literal(R"(,"epsilon":)");
  const auto epsilon = checked(in, Epsilon::make(in.number()));
  in.literal(R"(,"delta":)");
  const auto delta = checked(in, Delta::make(in.number()));
  in.literal(R"(,"adjacency":)");
  const auto adjacency = checked(in, parse_adjacency(in.string()));
  in.literal(R"(,"unit":)");
  const auto unit = checked(in, parse_privacy_unit(in.string()));
  in.literal(R"(,"rule":)");
  const auto rule = checked(in, parse_rule(in.string()));
  in.literal(R"(,"failures":)");
  const double failures = in.number();
  if (!in.good()) return std::nullopt;
  BudgetEntry e{{std::move(name), *epsilon, *delta, *adjacency, *unit, *rule, failures}, {}};
  if (*rule == Rule::kZcdp) {
    in.literal(R"(,"rho":)");
    e.terms.rho = in.number();
  }
  if (*rule == Rule::kRdp) {
    in.literal(R"(,"orders":)");
    in.list([&] { e.terms.orders.push_back(in.number()); });
  }
  if (*rule == Rule::kPlanned) {
    in.literal(R"(,"plan":)");
    in.list([&] {
      if (auto item = read_item(in)) {
        e.terms.plan.push_back(*std::move(item));
      } else {
        in.fail();
      }
    });
  }
  if (in.maybe(R"(,"from":)")) e.terms.from = in.integer();
  if (in.maybe(R"(,"until":)")) e.terms.until = in.integer();
  if (in.maybe(R"(,"blocks":)")) e.terms.blocks = read_blocks(in);
  if (in.maybe(R"(,"parent":)")) {
    e.terms.parent = in.string();
    if (e.terms.parent.empty()) in.fail();
    in.literal(R"(,"parent_charge":)");
    e.parent_charge = read_charge(in);
  }
  return e;
}

std::optional<EntryBody> read_reserve(CanonicalReader& in) {
  ReserveEntry e{};
  in.literal(R"("reserve","budget":)");
  e.budget = in.string();
  if (in.maybe(R"(,"blocks":)")) {
    in.list([&] { e.blocks.push_back(in.string()); });
    if (e.blocks.empty()) in.fail();
  }
  in.literal(R"(,"key":)");
  e.key = in.string();
  in.literal(R"(,"request":)");
  e.request = in.bytes<kDigestBytes>();
  in.literal(R"(,"event":)");
  e.event = in.object();
  e.item = optional_text(in, R"(,"item":)");
  if (in.maybe(R"(,"delta":)")) e.delta = in.number();
  in.literal(R"(,"charge":)");
  e.charge = read_charge(in);
  in.literal(R"(,"abort_lock":)");
  e.abort_lock = in.bytes<kDigestBytes>();
  e.note.pipeline = optional_text(in, R"(,"pipeline":)");
  e.note.purpose = optional_text(in, R"(,"purpose":)");
  if (in.maybe(R"(,"techniques":)")) {
    in.list([&] { e.note.techniques.push_back(in.string()); });
    if (e.note.techniques.empty()) in.fail();
  }
  if (in.maybe(R"(,"configuration":)")) e.note.configuration = in.object();
  if (in.maybe(R"(,"use":)")) e.use = checked(in, parse_use_kind(in.string()));
  return e;
}

std::optional<EntryBody> read_commit(CanonicalReader& in) {
  CommitEntry e{};
  in.literal(R"("commit","reservation":)");
  e.reservation = in.count();
  in.literal(R"(,"release":)");
  e.release = in.bytes<kDigestBytes>();
  if (in.maybe(R"(,"accuracy":)")) e.accuracy = in.number();
  e.kept = in.maybe(R"(,"kept":true)");
  return e;
}

std::optional<EntryBody> read_abort(CanonicalReader& in) {
  AbortEntry e{};
  in.literal(R"("abort","reservation":)");
  e.reservation = in.count();
  in.literal(R"(,"token":)");
  e.token = in.bytes<kDigestBytes>();
  return e;
}

std::optional<EntryBody> read_adopt(CanonicalReader& in) {
  AdoptEntry e{};
  in.literal(R"("adopt","epoch":)");
  e.epoch = in.count();
  in.literal(R"(,"reason":)");
  e.reason = in.string();
  if (in.maybe(R"(,"missing":)")) e.missing = in.count();
  return e;
}

std::optional<EntryBody> read_dataset(CanonicalReader& in) {
  DatasetEntry e{};
  in.literal(R"("dataset","name":)");
  e.name = in.string();
  in.literal(R"(,"description":)");
  e.description = in.bytes<kDigestBytes>();
  e.budget = optional_text(in, R"(,"budget":)");
  e.same_as = optional_text(in, R"(,"same_as":)");
  e.person = optional_text(in, R"(,"person":)");
  in.literal(R"(,"fingerprint":)");
  e.fingerprint = in.bytes<kDigestBytes>();
  in.literal(R"(,"sketch":)");
  e.sketch = in.bytes<kDigestBytes>();
  return e;
}

std::optional<EntryBody> read_content(CanonicalReader& in) {
  ContentEntry e{};
  in.literal(R"("content","dataset":)");
  e.dataset = in.string();
  e.block = optional_text(in, R"(,"block":)");
  in.literal(R"(,"description":)");
  e.description = in.bytes<kDigestBytes>();
  in.literal(R"(,"fingerprint":)");
  e.fingerprint = in.bytes<kDigestBytes>();
  in.literal(R"(,"sketch":)");
  e.sketch = in.bytes<kDigestBytes>();
  return e;
}

std::optional<EntryBody> read_retire(CanonicalReader& in) {
  RetireEntry e{};
  in.literal(R"("retire","dataset":)");
  e.dataset = in.string();
  in.literal(R"(,"reason":)");
  e.reason = in.string();
  return e;
}

std::optional<EntryBody> read_clock(CanonicalReader& in) {
  ClockEntry e{};
  in.literal(R"("clock","reason":)");
  e.reason = in.string();
  return e;
}

std::optional<EntryBody> read_exposure(CanonicalReader& in) {
  ExposureEntry e{};
  in.literal(R"("exposure","dataset":)");
  e.dataset = in.string();
  in.literal(R"(,"kind":)");
  const auto kind = checked(in, parse_exposure_kind(in.string()));
  if (!kind) return std::nullopt;
  e.kind = *kind;
  in.literal(R"(,"what":)");
  e.what = in.bytes<kDigestBytes>();
  in.literal(R"(,"key":)");
  e.key = in.string();
  e.purpose = optional_text(in, R"(,"purpose":)");
  return e;
}

std::optional<EntryBody> read_exposed(CanonicalReader& in) {
  ExposedEntry e{};
  in.literal(R"("exposed","exposure":)");
  e.exposure = in.count();
  in.literal(R"(,"release":)");
  e.release = in.bytes<kDigestBytes>();
  return e;
}

std::optional<EntryBody> read_witness_entry(CanonicalReader& in) {
  WitnessEntry e{};
  in.literal(R"("witness","place":)");
  e.place = in.string();
  e.dropped = optional_text(in, R"(,"dropped":)");
  return e;
}

std::string head_message(const Digest& ledger, std::uint64_t epoch, std::uint64_t sequence, const Digest& hash) {
  return fmt::format("noisefloor ledger head v1 {} {} {} {}", to_hex(ledger), epoch, sequence, to_hex(hash));
}

}  // namespace

std::string to_json(const Entry& entry) {
  std::string out;
  out.reserve(512);
  Writer writer(out);
  writer.whole(R"({"sequence":)", entry.sequence);
  writer.whole(R"(,"time":)", entry.time);
  std::visit([&](const auto& body) { write(writer, body); }, entry.body);
  if (!entry.by.empty()) writer.text(R"(,"by":)", entry.by);
  out += '}';
  return out;
}

Result<Entry> parse_entry(std::string_view json_text) {
  CanonicalReader in(json_text);
  in.literal(R"({"sequence":)");
  const std::uint64_t sequence = in.count();
  in.literal(R"(,"time":)");
  const TimeMs time = in.integer();
  in.literal(R"(,"entry":)");
  const auto kind_is = [&](std::string_view name) {
    CanonicalReader ahead = in;
    return ahead.string() == name && ahead.good();
  };
  std::optional<EntryBody> body;
  if (kind_is("reserve")) {
    body = read_reserve(in);
  } else if (kind_is("commit")) {
    body = read_commit(in);
  } else if (kind_is("budget")) {
    body = read_budget(in);
  } else if (kind_is("abort")) {
    body = read_abort(in);
  } else if (kind_is("genesis")) {
    body = read_genesis(in);
  } else if (kind_is("adopt")) {
    body = read_adopt(in);
  } else if (kind_is("dataset")) {
    body = read_dataset(in);
  } else if (kind_is("content")) {
    body = read_content(in);
  } else if (kind_is("retire")) {
    body = read_retire(in);
  } else if (kind_is("clock")) {
    body = read_clock(in);
  } else if (kind_is("exposure")) {
    body = read_exposure(in);
  } else if (kind_is("exposed")) {
    body = read_exposed(in);
  } else if (kind_is("role")) {
    body = internal::read_role(in);
  } else if (kind_is("revoke")) {
    body = internal::read_revoke(in);
  } else if (kind_is("witness")) {
    body = read_witness_entry(in);
  }
  std::string by = optional_text(in, R"(,"by":)");
  if (by == kFirstOwner) in.fail();  // one entry has one text, and this name is left out
  in.literal("}");
  if (!body || !in.done()) {
    return verification_failed("an entry does not have the form that this version writes");
  }
  return Entry{sequence, time, *std::move(body), std::move(by)};
}

Digest chain_hash(const Digest& previous, std::string_view entry_text) {
  constexpr std::string_view domain = "noisefloor ledger entry v1\n";
  std::string bytes;
  bytes.reserve(domain.size() + previous.size() + entry_text.size());
  bytes += domain;
  bytes.append(previous.begin(), previous.end());
  bytes += entry_text;
  return blake2b(bytes);
}

Head sign_head(const SigningKey& key, const Digest& ledger, std::uint64_t epoch, std::uint64_t sequence,
               const Digest& hash) {
  return {ledger, epoch, sequence, hash, key.sign(head_message(ledger, epoch, sequence, hash))};
}

bool is_signed_by(const Head& head, const PublicKey& key) {
  return verify_signature(key, head_message(head.ledger, head.epoch, head.sequence, head.hash), head.signature);
}

}  // namespace noisefloor
