#include "noisefloor/config/starter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "noisefloor/base/file.h"
#include "noisefloor/base/text.h"
#include "noisefloor/config/starter_pieces.h"

namespace noisefloor {
namespace {

using internal::blank;
using internal::expect_new;
using internal::list_of;
using internal::seen_from;
using internal::toml_text;

std::string_view in_words(ColumnType type) {
  switch (type) {
    case ColumnType::kEmpty:
      return "no cell holds a value";
    case ColumnType::kWhole:
      return "whole numbers";
    case ColumnType::kNumber:
      return "numbers";
    case ColumnType::kText:
      break;
  }
  return "texts";
}

// Bounds must differ, so a column that holds one number gets some room.
std::string bounds_of(const PublicColumn& known) {
  const bool constant = !(known.lower < known.upper);
  return fmt::format("lower = {}\nupper = {}\n", known.lower, constant ? known.lower + 1 : known.upper);
}

std::string column_of(const ColumnOutline& column, const PublicColumn* known) {
  std::string out = fmt::format("\n[[data.column]]\nname = {}  # {}\n", toml_text(column.name), in_words(column.type));
  if (column.type == ColumnType::kText) {
    const bool listed = known != nullptr && !known->values.empty();
    out += fmt::format("values = {}\n", listed ? list_of(known->values) : fmt::format("[{}]", blank()));
  } else if (known != nullptr) {
    out += bounds_of(*known);
  } else {
    out += fmt::format("lower = {0}\nupper = {0}\n", blank());
  }
  return out;
}

namespace fs = std::filesystem;

}  // namespace

std::string starter_description(const StarterNames& names, const CsvOutline& outline,
                                const std::optional<std::vector<PublicColumn>>& known) {
  std::string out =
      known
          ? fmt::format("# {}: bounds and values were read from the table, which was declared public.\n", names.dataset)
          : fmt::format(
                "# {}: the names and types of the columns come from the table, and nothing else "
                "does.\n# Replace each {} with what anybody could know without looking at the "
                "data: bounds of the numbers,\n# all texts that a column may hold. Remove columns "
                "that nobody needs.\n",
                names.dataset, blank());
  out += fmt::format("name = {}\n", toml_text(names.dataset));
  if (known) {
    out += "public = true  # its uses cost nothing\n";
  } else {
    out += fmt::format(
        "rows = {}  # a number of rows that you are ready to publish: about so many; for persons: people = …\n",
        blank());
  }
  out += fmt::format("\n[data]\nformat = \"csv\"\nfile = {}\n", toml_text(names.table));
  if (outline.format.separator != ',') {
    out += fmt::format("separator = {}\n", toml_text(std::string(1, outline.format.separator)));
  }
  out += fmt::format(
      "label = {0}      # the column to predict; remove its [[data.column]] below. A number: target, target_lower, "
      "target_upper\nclasses = [{0}]  # all that the label can be\n",
      blank());
  out +=
      fmt::format("trim = true\nmissing = {}  # these texts mark a missing number\n", list_of(usual_missing_marks()));
  for (std::size_t i = 0; i < outline.columns.size(); ++i) {
    const ColumnOutline& column = outline.columns[i];
    if (column.type != ColumnType::kEmpty) out += column_of(column, known ? &known->at(i) : nullptr);
  }
  if (known) return out;
  out +=
      "\n# Whose rows are they? One row for each person: of = \"row\". Several rows of one person: of = "
      "\"person\", the\n"
      "# column that identifies the person, and how many rows of one person may count.\n"
      "[unit]\nof = \"row\"\n# of = \"person\"\n# column = \"patient_id\"\n# rows_per_person = 10\n"
      "\n# What all uses of these data may cost together. delta should be far below one over the number of rows.\n"
      "[budget]\nepsilon = 3.0\ndelta = 1e-7\n";
  return out;
}

std::string starter_training(const StarterNames& names) {
  return fmt::format(
      "# A first model of {0}. `noisefloor check` says what is still blank and what the training costs.\n"
      "name = {1}\n\n"
      "[data]\ndataset = {2}\n"
      "# test = \"test.csv\"   # a public file of the same form: quality is measured on it without noise\n\n"
      "[model]\nkind = \"mlp\"\nhidden = [32]\n\n"
      "[training]\ntarget_epsilon = 1.0  # the part of the dataset's budget that this training takes\n"
      "target_delta = 3e-8\nbatch_size = 500\nepochs = 10\nclip_norm = 1.0\nlearning_rate = 1.0\nmomentum = 0.9\n",
      names.dataset, toml_text(names.dataset + "-model"), toml_text(names.description));
}

std::string starter_name(const std::string& table) {
  std::string stem = std::filesystem::path(table).filename().string();
  stem = stem.substr(0, stem.find('.'));
  std::string name;
  for (const char c : stem) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!plain && !name.empty() && name.back() != '-') name += '-';
  }
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "data" : name;
}

Result<StarterFiles> write_starter(const StarterRequest& request) {
  NF_TRY(const CsvOutline outline, outline_csv(request.table));
  std::optional<std::vector<PublicColumn>> known;
  if (request.is_public) {
    NF_TRY(known, survey_public_csv(request.table, outline));
  }
  const std::string name = request.name.empty() ? starter_name(request.table) : request.name;
  const fs::path folder = request.folder;
  const fs::path description = folder / (name + ".toml");
  const fs::path training = folder / (name + "-training.toml");
  NF_TRY_VOID(expect_new(description));
  NF_TRY_VOID(expect_new(training));
  const StarterNames names{name, seen_from(folder, request.table), description.filename().string()};
  std::error_code ignored;  // a folder that cannot be made is reported when the file is written
  fs::create_directories(folder, ignored);
  NF_TRY_VOID(write_file(description.string(), starter_description(names, outline, known)));
  NF_TRY_VOID(write_file(training.string(), starter_training(names)));
  return StarterFiles{description.string(), training.string(), outline.columns.size()};
}

}  // namespace noisefloor
