#include "noisefloor/dataset/description.h"

#include <fmt/format.h>

#include <string_view>

#include "noisefloor/base/check.h"

namespace noisefloor {
namespace {

// A text from which every part can be read back, because each part has its length before it.
class Statement {
 public:
  Statement& text(std::string_view part) {
    bytes_ += fmt::format("{}:", part.size());
    bytes_ += part;
    return *this;
  }
  Statement& number(double value) { return text(fmt::format("{}", value)); }
  Statement& count(std::uint64_t value) { return text(fmt::format("{}", value)); }
  Statement& texts(const std::vector<std::string>& parts) {
    count(parts.size());
    for (const std::string& part : parts) text(part);
    return *this;
  }
  [[nodiscard]] Digest digest() const { return blake2b(bytes_); }

 private:
  std::string bytes_;
};

std::uint64_t code_of(auto choice) { return static_cast<std::uint64_t>(choice); }

void state(Statement& out, const NumericColumn& c) {
  out.text("numeric").text(c.name).number(c.lower).number(c.upper).count(code_of(c.scaling));
  out.count(c.missing ? 1 : 0).number(c.missing.value_or(0));
}

void state(Statement& out, const CategoricalColumn& c) {
  out.text("categorical").text(c.name).texts(c.values).count(code_of(c.unlisted));
}

void state(Statement& out, const LabelColumn& c) { out.text("label").text(c.name).texts(c.classes); }

void state(Statement& out, const TargetColumn& c) { out.text("target").text(c.name).number(c.lower).number(c.upper); }

void state(Statement& out, const IdxFormat& f) { out.text("idx").count(static_cast<std::uint64_t>(f.classes)); }

void state(Statement& out, const CsvTable& f) {
  out.text("csv").text(std::string_view(&f.format.separator, 1)).count(f.format.trim ? 1 : 0);
  out.texts(f.schema.missing).text(f.schema.group.value_or("")).count(f.schema.features.size());
  const auto add = [&](const auto& column) { state(out, column); };
  for (const FeatureColumn& column : f.schema.features) std::visit(add, column);
  std::visit(add, f.schema.outcome);
}

void state(Statement& out, const LibsvmOptions& f) {
  out.text("libsvm").count(f.dimension).texts(f.classes).number(f.lower).number(f.upper).count(code_of(f.scaling));
  out.count(f.normalise ? 1 : 0);
}

void state(Statement& out, const TextFormat& f) {
  out.text("text").count(f.length).text(f.alphabet.value_or("")).text(f.replacement);
}

}  // namespace

Digest digest_of(const DatasetDescription& description) {
  Statement out;
  out.text("noisefloor dataset description v1").text(description.name);
  std::visit([&](const auto& format) { state(out, format); }, description.format);
  out.text(name_of(description.unit.unit)).text(description.unit.person).count(description.unit.rows_per_person);
  out.count(description.rows ? 1 : 0).count(description.rows.value_or(0));
  out.count(description.budget ? 1 : 0);
  if (const auto& budget = description.budget) {
    out.text(budget->name).number(budget->epsilon.value()).number(budget->delta.value());
    out.text(name_of(budget->adjacency)).text(name_of(budget->rule));
  }
  if (description.people) out.text("people").count(*description.people);
  return out.digest();
}

BudgetTerms terms_of(const DatasetDescription& description) {
  NF_CHECK(description.budget.has_value(), "a private dataset has a budget");
  const DatasetBudget& budget = *description.budget;
  return {budget.name,
          budget.epsilon,
          budget.delta,
          budget.adjacency,
          description.unit.unit,
          budget.rule,
          default_failures(budget.rule)};
}

}  // namespace noisefloor
