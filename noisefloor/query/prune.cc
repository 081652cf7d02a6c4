// Leaves out columns that nobody needs.
#include <utility>

#include "noisefloor/base/overloaded.h"
#include "noisefloor/query/canonical.h"
#include "noisefloor/query/rows.h"

namespace noisefloor::query {

namespace {

using engine::RelationPtr;
using Names = std::set<std::string>;

template <class Named>
std::vector<Named> kept(const std::vector<Named>& all, const Names& needed) {
  std::vector<Named> result;
  for (const Named& each : all)
    if (needed.count(each.name) != 0) result.push_back(each);
  if (result.empty() && !all.empty()) result.push_back(all[0]);  // rows need a column to be counted by
  return result;
}

Names all_names(const RelationPtr& relation) {
  Names names;
  for (const engine::NamedColumn& column : engine::columns_of(*relation)) names.insert(column.name);
  return names;
}

Names among(const Names& names, const RelationPtr& relation) {
  Names result;
  for (const std::string& name : all_names(relation))
    if (names.count(name) != 0) result.insert(name);
  return result;
}

RelationPtr pruned_join(const engine::Join& join, Names needed) {
  Names right_names;
  for (const auto& [left, right] : join.equal) {
    needed.insert(left);
    right_names.insert(right);
  }
  const bool both = join.kind == engine::JoinKind::kInner || join.kind == engine::JoinKind::kLeft;
  if (both) right_names.insert(needed.begin(), needed.end());
  engine::Join result = join;
  result.left = pruned(join.left, among(needed, join.left));
  result.right = pruned(join.right, among(right_names, join.right));
  return engine::relation(std::move(result));
}

RelationPtr pruned_groups(const engine::GroupRows& groups, const Names& needed) {
  engine::GroupRows result = groups;
  if (!groups.folds.empty()) {
    result.folds.clear();
    for (const engine::GroupRows::Folded& fold : groups.folds)
      if (needed.count(fold.name) != 0) result.folds.push_back(fold);
  }
  Names inner;
  for (const engine::NamedExpression& key : result.keys) add_columns(key.expression, inner);
  for (const engine::GroupRows::Folded& fold : result.folds)
    if (fold.fold != engine::GroupRows::Fold::kCountRows) add_columns(fold.argument, inner);
  result.input = pruned(groups.input, inner);
  return engine::relation(std::move(result));
}

}  // namespace

RelationPtr pruned(const RelationPtr& relation, const Names& needed) {
  return std::visit(Overloaded{
                        [&](const engine::Scan& scan) {
                          return engine::relation(engine::Scan{scan.table, kept(scan.columns, needed)});
                        },
                        [&](const engine::Filter& filter) {
                          Names inner = needed;
                          add_columns(filter.condition, inner);
                          return engine::relation(engine::Filter{pruned(filter.input, inner), filter.condition});
                        },
                        [&](const engine::Project& project) {
                          engine::Project result{nullptr, kept(project.columns, needed)};
                          Names inner;
                          for (const engine::NamedExpression& each : result.columns)
                            add_columns(each.expression, inner);
                          result.input = pruned(project.input, inner);
                          return engine::relation(std::move(result));
                        },
                        [&](const engine::Join& join) { return pruned_join(join, needed); },
                        [&](const engine::UnionAll& all) {
                          engine::UnionAll result;
                          Names inner = needed;
                          if (inner.empty()) inner.insert(engine::columns_of(*all.inputs[0])[0].name);
                          for (const RelationPtr& each : all.inputs) result.inputs.push_back(pruned(each, inner));
                          return engine::relation(std::move(result));
                        },
                        [&](const engine::GroupRows& groups) { return pruned_groups(groups, needed); },
                        [&](const engine::NumberRows& numbers) {
                          // All columns of the input break ties: those that are left do so alike on every engine.
                          engine::NumberRows result = numbers;
                          Names inner = needed;
                          inner.erase(numbers.name);
                          for (const engine::Expression& each : numbers.partition) add_columns(each, inner);
                          for (const auto& [each, descending] : numbers.order) add_columns(each, inner);
                          result.input = pruned(numbers.input, inner);
                          return engine::relation(std::move(result));
                        },
                        [&](const engine::Distinct& distinct) {
                          return engine::relation(engine::Distinct{pruned(distinct.input, all_names(distinct.input))});
                        },
                    },
                    relation->node);
}

}  // namespace noisefloor::query
