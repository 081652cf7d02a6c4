#include "noisefloor/engine/sqlite_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <new>
#include <vector>

#include "noisefloor/base/overloaded.h"
#include "noisefloor/base/wide_int.h"
#include "noisefloor/engine/days.h"
#include "noisefloor/engine/evaluate.h"

namespace noisefloor::engine {
namespace {

constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;

constexpr auto kNative =
    std::to_array<std::string_view>({"abs", "coalesce", "count", "max", "min", "row_number", "sum", "typeof",
                                     "nf_number", "nf_text", "nf_day", "nf_double", "nf_sum", "nf_exact_sum"});

struct Called {
  Function function;
  Type type;
  std::string name;
};

const std::deque<Called>& all_functions() {
  static const std::deque<Called> all = [] {
    std::deque<Called> list;
    for (int f = 0; f <= static_cast<int>(Function::kSteps); ++f) {
      for (const Type type : {Type::kInteger, Type::kNumber, Type::kText, Type::kDate, Type::kTruth}) {
        const auto function = static_cast<Function>(f);
        list.push_back({function, type, sqlite_function(function, type)});
      }
    }
    return list;
  }();
  return all;
}

Value value_of(sqlite3_value* given) {
  switch (sqlite3_value_type(given)) {
    case SQLITE_INTEGER:
      return static_cast<std::int64_t>(sqlite3_value_int64(given));
    case SQLITE_FLOAT:
      return sqlite3_value_double(given);
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(given));
      if (text == nullptr) return {};
      return std::string(text, static_cast<std::size_t>(sqlite3_value_bytes(given)));
    }
    default:
      return {};
  }
}

void give(sqlite3_context* context, const Value& value) {
  std::visit(Overloaded{[&](std::monostate) { sqlite3_result_null(context); },
                        [&](std::int64_t whole) { sqlite3_result_int64(context, whole); },
                        [&](double x) { sqlite3_result_double(context, x); },
                        [&](const std::string& text) {
                          sqlite3_result_text(context, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
                        },
                        [&](bool truth) { sqlite3_result_int(context, truth ? 1 : 0); }},
             value);
}

void call_function(sqlite3_context* context, int count, sqlite3_value** given) {
  const auto* called = static_cast<const Called*>(sqlite3_user_data(context));
  std::array<Value, 8> few;
  std::vector<Value> many;
  std::span<Value> arguments(few.data(), static_cast<std::size_t>(std::min(count, 8)));
  if (count > 8) {
    many.resize(static_cast<std::size_t>(count));
    arguments = many;
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) arguments[i] = value_of(given[i]);
  give(context, apply(called->function, called->type, arguments));
}

void fit_number(sqlite3_context* context, int /*count*/, sqlite3_value** given) {
  const int type = sqlite3_value_type(given[0]);
  const auto x = type == SQLITE_INTEGER || type == SQLITE_FLOAT ? normal(sqlite3_value_double(given[0])) : std::nullopt;
  if (x) {
    sqlite3_result_double(context, *x);
  } else {
    sqlite3_result_null(context);
  }
}

void fit_text(sqlite3_context* context, int /*count*/, sqlite3_value** given) {
  if (sqlite3_value_type(given[0]) == SQLITE_TEXT) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(given[0]));
    const auto size = static_cast<std::size_t>(sqlite3_value_bytes(given[0]));
    if (text != nullptr && is_text({text, size})) return sqlite3_result_value(context, given[0]);
  }
  sqlite3_result_null(context);
}

void fit_day(sqlite3_context* context, int /*count*/, sqlite3_value** given) {
  const Value value = value_of(given[0]);
  const auto* text = std::get_if<std::string>(&value);
  const auto days = text == nullptr ? std::nullopt : parse_date(*text);
  give(context, days ? Value(*days) : Value());
}

void double_of_bits(sqlite3_context* context, int /*count*/, sqlite3_value** given) {
  sqlite3_result_double(context, std::bit_cast<double>(static_cast<std::int64_t>(sqlite3_value_int64(given[0]))));
}

// The state of a sum, in memory that SQLite gives as zeros.
struct Sum {
  std::array<std::uint64_t, 2> total;
  bool any;
};

void add_to_sum(sqlite3_context* context, int /*count*/, sqlite3_value** given) {
  auto* sum = static_cast<Sum*>(sqlite3_aggregate_context(context, sizeof(Sum)));
  if (sum == nullptr || sqlite3_value_type(given[0]) != SQLITE_INTEGER) return;
  const auto total = std::bit_cast<Int128>(sum->total) + sqlite3_value_int64(given[0]);
  sum->total = std::bit_cast<std::array<std::uint64_t, 2>>(total);
  sum->any = true;
}

void give_saturated(sqlite3_context* context) {
  const auto* sum = static_cast<const Sum*>(sqlite3_aggregate_context(context, 0));
  if (sum == nullptr || !sum->any) return sqlite3_result_null(context);
  sqlite3_result_int64(context, saturate_to_int64(std::bit_cast<Int128>(sum->total)));
}

void give_exact(sqlite3_context* context) {
  const auto* sum = static_cast<const Sum*>(sqlite3_aggregate_context(context, 0));
  if (sum == nullptr || !sum->any) return sqlite3_result_null(context);
  give(context, fmt::format("{}", std::bit_cast<Int128>(sum->total)));
}

}  // namespace

std::string sqlite_function(Function function, Type type) {
  return fmt::format("nf_{}_{}", static_cast<int>(function), name_of(type));
}

bool is_our_function(std::string_view name) {
  return std::ranges::find(kNative, name) != kNative.end() ||
         std::ranges::find(all_functions(), name, &Called::name) != all_functions().end();
}

bool register_functions(sqlite3* database) {
  const auto add = [&](const char* name, int arguments, const void* data, auto* function) {
    return sqlite3_create_function_v2(database, name, arguments, kFlags, const_cast<void*>(data), function, nullptr,
                                      nullptr, nullptr) == SQLITE_OK;
  };
  const auto add_sum = [&](const char* name, auto* finish) {
    return sqlite3_create_function_v2(database, name, 1, kFlags, nullptr, nullptr, add_to_sum, finish, nullptr) ==
           SQLITE_OK;
  };
  bool done = add("nf_number", 1, nullptr, fit_number) && add("nf_text", 1, nullptr, fit_text) &&
              add("nf_day", 1, nullptr, fit_day) && add("nf_double", 1, nullptr, double_of_bits) &&
              add_sum("nf_sum", give_saturated) && add_sum("nf_exact_sum", give_exact);
  for (const Called& called : all_functions()) done = done && add(called.name.c_str(), -1, &called, call_function);
  return done;
}

}  // namespace noisefloor::engine
