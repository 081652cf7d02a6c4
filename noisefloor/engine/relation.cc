#include "noisefloor/engine/relation.h"

#include "noisefloor/base/check.h"
#include "noisefloor/base/overloaded.h"

namespace noisefloor::engine {
namespace {

std::vector<NamedColumn> columns_of_join(const Join& join) {
  std::vector<NamedColumn> columns = columns_of(*join.left);
  if (join.kind == JoinKind::kSemi || join.kind == JoinKind::kAnti) return columns;
  for (NamedColumn& column : columns_of(*join.right)) columns.push_back(std::move(column));
  return columns;
}

std::vector<NamedColumn> columns_of_groups(const GroupRows& groups) {
  std::vector<NamedColumn> columns;
  for (const NamedExpression& key : groups.keys) columns.push_back({key.name, key.expression.type});
  for (const GroupRows::Folded& fold : groups.folds) {
    const bool is_value = fold.fold == GroupRows::Fold::kMin || fold.fold == GroupRows::Fold::kMax;
    columns.push_back({fold.name, is_value ? fold.argument.type : Type::kInteger});
  }
  return columns;
}

}  // namespace

std::vector<NamedColumn> columns_of(const Relation& relation) {
  return std::visit(Overloaded{
                        [](const Scan& scan) { return scan.columns; },
                        [](const Filter& filter) { return columns_of(*filter.input); },
                        [](const Project& project) {
                          std::vector<NamedColumn> columns;
                          for (const NamedExpression& e : project.columns)
                            columns.push_back({e.name, e.expression.type});
                          return columns;
                        },
                        [](const Join& join) { return columns_of_join(join); },
                        [](const UnionAll& all) {
                          NF_CHECK(!all.inputs.empty(), "a union has inputs");
                          return columns_of(*all.inputs.front());
                        },
                        [](const GroupRows& groups) { return columns_of_groups(groups); },
                        [](const NumberRows& numbered) {
                          std::vector<NamedColumn> columns = columns_of(*numbered.input);
                          columns.push_back({numbered.name, Type::kInteger});
                          return columns;
                        },
                        [](const Distinct& distinct) { return columns_of(*distinct.input); },
                    },
                    relation.node);
}

}  // namespace noisefloor::engine
