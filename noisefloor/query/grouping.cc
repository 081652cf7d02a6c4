#include "noisefloor/query/grouping.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "noisefloor/base/text.h"
#include "noisefloor/query/canonical.h"

namespace noisefloor::query {

namespace {

using engine::Expression;
using engine::Function;
using engine::Type;

constexpr std::size_t kMostGroupings = 64;

// A number stands for a column of the list, and a name that no table has may be that of one.
Result<const Term*> meant_by(const Term& term, const Rows& rows, const Select& select) {
  if (term.kind == Term::Kind::kInteger) {
    if (term.integer < 1 || static_cast<std::size_t>(term.integer) > select.targets.size())
      return invalid_argument(
          fmt::format("GROUP BY {} names no column of the list: it has {}", term.integer, select.targets.size()));
    return &select.targets[static_cast<std::size_t>(term.integer) - 1].term;
  }
  if (term.kind == Term::Kind::kColumn && term.path.size() == 1 && !has_column(rows, term.path))
    for (const Target& target : select.targets)
      if (target.name == term.path[0]) return &target.term;
  return &term;
}

Result<Key> bind_key(Binder& binder, const Rows& rows, const Term& term) {
  Key key;
  key.label = label_of(term);
  NF_TRY(key.bound, binder.bind_over(rows, term));
  if (key.bound.is_unit)
    return invalid_argument(
        fmt::format("{} tells units apart, and a group for each would name them: group by something that many units "
                    "share, or group by it in a subquery",
                    shown(key.label)));
  if (is_constant(key.bound.expression))
    return invalid_argument(fmt::format("GROUP BY {} is the same for all rows: leave it out", shown(key.label)));
  key.cell = key.bound.expression;
  key.values = public_values(rows, key.bound);
  if (key.bound.type() == Type::kNumber) {
    if (!key.bound.whole)
      return invalid_argument(
          fmt::format("{} is a number, and almost every row has its own: group by floor({}), or use width_bucket",
                      shown(key.label), key.label.substr(0, 40)));
    key.cell = normal_call(Function::kToInteger, Type::kInteger, {key.bound.expression});
    Bound whole = key.bound;
    whole.expression = key.cell;
    key.values = public_values(rows, whole);
  }
  if (key.bound.type() == Type::kText && !key.values.has_value())
    key.cell = normal_call(Function::kSubstring, Type::kText,
                           {key.cell, engine::constant(std::int64_t{1}),
                            engine::constant(static_cast<std::int64_t>(key.bound.key_length))});
  return key;
}

using Set = std::set<std::string>;  // canonical texts

// All combinations of one grouping from each part of GROUP BY.
Result<std::vector<Set>> product(const std::vector<Set>& a, const std::vector<Set>& b) {
  std::vector<Set> all;
  for (const Set& left : a)
    for (const Set& right : b) {
      Set both = left;
      both.insert(right.begin(), right.end());
      all.push_back(std::move(both));
    }
  if (all.size() > kMostGroupings)
    return invalid_argument(fmt::format("GROUP BY asks for more than {} groupings: ask for fewer", kMostGroupings));
  return all;
}

}  // namespace

Result<Grouping> bind_grouping(Binder& binder, const Rows& rows, const Select& select) {
  std::map<std::string, Key> keys;
  const auto add = [&](const Term& term) -> Result<std::string> {
    NF_TRY(const Term* meant, meant_by(term, rows, select));
    if (has_aggregate(*meant)) return invalid_argument("GROUP BY takes no aggregates: group by what rows hold");
    NF_TRY(Key key, bind_key(binder, rows, *meant));
    std::string text = canonical_text(key.bound.expression);
    keys.emplace(text, std::move(key));
    return text;
  };
  std::vector<Set> sets{{}};
  bool several = false;
  for (const GroupTerm& group : select.group) {
    std::vector<std::string> texts;
    for (const Term& term : group.terms) {
      NF_TRY(std::string text, add(term));
      texts.push_back(std::move(text));
    }
    std::vector<Set> part;
    switch (group.kind) {
      case GroupTerm::Kind::kTerms:
        part.emplace_back(texts.begin(), texts.end());
        break;
      case GroupTerm::Kind::kRollup:
        for (std::size_t n = texts.size() + 1; n-- > 0;)
          part.emplace_back(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(n));
        break;
      case GroupTerm::Kind::kCube:
        if (texts.size() > 6) return invalid_argument("CUBE takes at most 6 columns");
        for (std::size_t bits = std::size_t{1} << texts.size(); bits-- > 0;) {
          Set each;
          for (std::size_t i = 0; i < texts.size(); ++i)
            if ((bits >> i & 1) != 0) each.insert(texts[i]);
          part.push_back(std::move(each));
        }
        break;
      case GroupTerm::Kind::kSets:
        for (const std::vector<Term>& terms : group.sets) {
          Set each;
          for (const Term& term : terms) {
            NF_TRY(std::string text, add(term));
            each.insert(std::move(text));
          }
          part.push_back(std::move(each));
        }
        break;
    }
    several = several || group.kind != GroupTerm::Kind::kTerms;
    NF_TRY(sets, product(sets, part));
  }
  if (select.distinct && select.group.empty())
    for (const Target& target : select.targets) {
      if (has_aggregate(target.term)) continue;
      NF_TRY(const std::string text, add(target.term));
      for (Set& each : sets) each.insert(text);
    }
  Grouping grouping;
  std::map<std::string, std::size_t> places;
  for (auto& [text, key] : keys) {
    places[text] = grouping.keys.size();
    grouping.keys.push_back(std::move(key));
  }
  if (several)
    for (const Set& each : sets) {
      std::vector<std::size_t> shown_keys;
      for (const std::string& text : each) shown_keys.push_back(places[text]);
      std::sort(shown_keys.begin(), shown_keys.end());
      if (std::find(grouping.shown.begin(), grouping.shown.end(), shown_keys) == grouping.shown.end())
        grouping.shown.push_back(std::move(shown_keys));
    }
  return grouping;
}

}  // namespace noisefloor::query
