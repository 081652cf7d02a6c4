// The functions of one row, by name.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "noisefloor/base/spelling.h"
#include "noisefloor/base/text.h"
#include "noisefloor/query/bound.h"
#include "noisefloor/query/bound_parts.h"
#include "noisefloor/query/canonical.h"

namespace noisefloor::query {

namespace {

using engine::Expression;
using engine::Function;
using engine::Type;
using Arguments = std::vector<Bound>;

std::optional<std::int64_t> constant_integer(const Bound& bound) {
  const auto* value = std::get_if<std::int64_t>(&bound.expression.value);
  if (!is_constant(bound.expression) || bound.type() != Type::kInteger || value == nullptr) return std::nullopt;
  return *value;
}

std::optional<double> constant_number(const Bound& bound) {
  if (const auto whole = constant_integer(bound); whole.has_value()) return static_cast<double>(*whole);
  const auto* value = std::get_if<double>(&bound.expression.value);
  if (!is_constant(bound.expression) || value == nullptr) return std::nullopt;
  return *value;
}

std::optional<std::string> constant_text(const Bound& bound) {
  const auto* value = std::get_if<std::string>(&bound.expression.value);
  if (!is_constant(bound.expression) || value == nullptr) return std::nullopt;
  return *value;
}

bool is_numeric(const Bound& bound) { return bound.type() == Type::kInteger || bound.type() == Type::kNumber; }

// abs, floor, ceil, round, trunc: an integer stays what it is.
Result<Bound> rounded(const std::string& name, Arguments a) {
  if (!is_numeric(a[0])) return invalid_argument(fmt::format("{} takes a number, and not {}", name, types_of(a)));
  if (a.size() == 2) {  // round(x, digits)
    const auto digits = constant_integer(a[1]);
    if (!digits.has_value() || *digits < 0 || *digits > 9)
      return invalid_argument(fmt::format("the digits of {} must be a constant from 0 to 9", name));
    const Bound scale = bound_integer(static_cast<std::int64_t>(std::pow(10.0, static_cast<double>(*digits))));
    NF_TRY(Bound number, bind_cast("float8", a[0]));
    NF_TRY(Bound scaled, bind_operator("*", {std::move(number), scale}));
    NF_TRY(Bound whole, rounded(name, {std::move(scaled)}));
    NF_TRY(Bound result, bind_operator("/", {std::move(whole), scale}));
    result.step = 1 / static_cast<double>(*constant_integer(scale));
    return result;
  }
  const bool integer = a[0].type() == Type::kInteger;
  if (name == "abs") {
    if (integer && !absolute(a[0].integers).fits())
      return invalid_argument("abs may leave 64 bits by the public bounds: bound its operand with greatest(…)");
    NF_TRY(Bound bound, made(Function::kAbsolute, a[0].type(), {guarded(a[0])}, a));
    bound.integers = absolute(a[0].integers);
    const NumberRange& range = a[0].numbers;
    const double most = std::max(std::abs(range.lower), std::abs(range.upper));
    bound.numbers = {range.lower > 0 ? range.lower : range.upper < 0 ? -range.upper : 0.0, most};
    bound.step = a[0].step;
    bound.whole = a[0].whole;
    return bound;
  }
  if (integer) return std::move(a[0]);
  const auto one = [&](Function function) { return normal_call(function, Type::kNumber, {a[0].expression}); };
  Expression result = one(name == "floor" ? Function::kFloor : name == "ceil" ? Function::kCeiling : Function::kRound);
  if (name == "trunc") {
    const Expression negative =
        normal_call(Function::kLess, Type::kTruth, {a[0].expression, engine::constant(std::int64_t{0})});
    result = normal_call(Function::kCase, Type::kNumber, {negative, one(Function::kCeiling), one(Function::kFloor)});
  }
  Bound bound{.expression = std::move(result), .per_unit = a[0].per_unit};
  bound.numbers = {std::floor(a[0].numbers.lower), std::ceil(a[0].numbers.upper)};
  bound.step = 1;
  bound.whole = true;
  bound.nullable = a[0].nullable;
  return sized(std::move(bound));
}

Result<Bound> analytic(const std::string& name, Arguments a) {
  const Function function = name == "sqrt"  ? Function::kSqrt
                            : name == "ln"  ? Function::kLn
                            : name == "exp" ? Function::kExp
                                            : Function::kPower;
  std::vector<Expression> arguments;
  for (const Bound& each : a) arguments.push_back(guarded(each));
  NF_TRY(Bound bound, made(function, Type::kNumber, std::move(arguments), a));
  bound.nullable = true;
  const NumberRange range = numbers_of(a[0]);
  const auto clean = [](double x) { return std::isnan(x) ? std::numeric_limits<double>::infinity() : x; };
  if (name == "sqrt") bound.numbers = {0, clean(std::sqrt(std::max(range.upper, 0.0)))};
  if (name == "exp") bound.numbers = {0, clean(std::exp(range.upper))};
  if (name == "ln" && range.lower > 0) bound.numbers = {std::log(range.lower), clean(std::log(range.upper))};
  if (name == "power" && range.lower >= 0 && range.stated()) {
    if (const auto exponent = constant_number(a[1]); exponent.has_value() && *exponent >= 0)
      bound.numbers = {std::pow(range.lower, *exponent), clean(std::pow(range.upper, *exponent))};
  }
  return bound;
}

Result<Bound> extreme(const std::string& name, Arguments a) {
  NF_TRY_VOID(adapt_texts(a));
  NF_TRY(const Type type, common_type(a, name));
  if (type != Type::kInteger && type != Type::kNumber && type != Type::kDate)
    return invalid_argument(fmt::format("{} takes numbers or dates, and not {}", name, types_of(a)));
  std::vector<Expression> arguments;
  IntegerRange integers = a[0].integers;
  NumberRange numbers = numbers_of(a[0]);
  std::optional<double> step;
  bool whole = true;
  for (const Bound& each : a) {
    arguments.push_back(type == Type::kDate ? each.expression : guarded(each));
    integers = name == "least" ? least(integers, each.integers) : greatest(integers, each.integers);
    numbers = name == "least" ? least(numbers, numbers_of(each)) : greatest(numbers, numbers_of(each));
    if (!is_constant(each.expression)) step = each.type() == Type::kInteger ? std::optional<double>(1.0) : each.step;
    whole = whole && (each.whole || each.type() == Type::kInteger);
  }
  const bool clamp = std::any_of(a.begin(), a.end(), [](const Bound& each) { return each.clamp; });
  NF_TRY(Bound bound, made(name == "least" ? Function::kLeast : Function::kGreatest, type, std::move(arguments), a));
  bound.integers = integers;
  bound.numbers = numbers;
  bound.step = step;
  bound.whole = whole;
  bound.clamp = type == Type::kDate && clamp;
  return bound;
}

Result<Bound> coalesced(Arguments a) {
  NF_TRY_VOID(adapt_texts(a));
  NF_TRY(const Type type, common_type(a, "coalesce"));
  std::vector<Expression> arguments;
  IntegerRange integers = a[0].integers;
  NumberRange numbers = numbers_of(a[0]);
  std::uint64_t length = 0;
  for (const Bound& each : a) {
    arguments.push_back(guarded(each));
    integers = either(integers, each.integers);
    numbers = either(numbers, numbers_of(each));
    length = std::max(length, each.key_length);
  }
  NF_TRY(Bound bound, made(Function::kCoalesce, type, std::move(arguments), a));
  bound.integers = integers;
  bound.numbers = numbers;
  bound.key_length = length;
  bound.step = a[0].step;
  bound.clamp = std::any_of(a.begin(), a.end(), [](const Bound& each) { return each.clamp; });
  bound.nullable = std::all_of(a.begin(), a.end(), [](const Bound& each) { return each.nullable; });
  return bound;
}

Result<Bound> length_of(Arguments a) {
  NF_TRY(Bound bound, made(Function::kLength, Type::kInteger, {a[0].expression}, a));
  bound.integers = {0, std::int64_t{1} << 31, true, false};
  return bound;
}

Result<Bound> text_function(const std::string& name, Arguments a) {
  const Function function = name == "lower" ? Function::kLower : name == "upper" ? Function::kUpper : Function::kTrim;
  NF_TRY(Bound bound, made(function, Type::kText, {a[0].expression}, a));
  bound.key_length = a[0].key_length;
  return bound;
}

Result<Bound> substring(const std::string& name, Arguments a) {
  const bool left = name == "left";
  const auto start = left ? std::optional<std::int64_t>(1) : constant_integer(a[1]);
  const auto length = left            ? constant_integer(a[1])
                      : a.size() == 3 ? constant_integer(a[2])
                                      : std::optional<std::int64_t>(1'000'000);
  if (!start.has_value() || !length.has_value() || *start < 1 || *start > 1'000'000 || *length < 0 ||
      *length > 1'000'000)
    return invalid_argument(
        fmt::format("{} takes constants: a start from 1 and a length from 0, both up to 1000000", name));
  NF_TRY(Bound bound, made(Function::kSubstring, Type::kText,
                           {a[0].expression, engine::constant(*start), engine::constant(*length)}, a));
  bound.key_length =
      std::min<std::uint64_t>(a[0].key_length, std::max<std::uint64_t>(static_cast<std::uint64_t>(*length), 1));
  return bound;
}

struct Part {
  std::string_view name;
  std::int64_t low;
  std::int64_t high;
};
constexpr Part kParts[] = {{"year", 1, 9999}, {"quarter", 1, 4}, {"month", 1, 12}, {"week", 1, 53},
                           {"day", 1, 31},    {"dow", 0, 6},     {"isodow", 1, 7}, {"doy", 1, 366}};

Result<Bound> date_part(Arguments a) {
  const auto word = constant_text(a[0]);
  if (a[1].type() != Type::kDate)
    return invalid_argument(
        fmt::format("parts of dates are taken of dates, and not of {}: use CAST(… AS date)", types_of({a[1]})));
  for (const Part& part : kParts) {
    if (!word.has_value() || !same_spelling(*word, part.name)) continue;
    NF_TRY(Bound bound, made(Function::kDatePart, Type::kInteger,
                             {engine::constant(std::string(part.name)), a[1].expression}, {a[1]}));
    bound.integers = between(part.low, part.high);
    bound.public_range = part.high <= 366;
    bound.nullable = true;
    return bound;
  }
  return invalid_argument("the part of a date is one of year, quarter, month, week, day, dow, isodow and doy");
}

Result<Bound> date_trunc(Arguments a) {
  const auto word = constant_text(a[0]);
  if (a[1].type() != Type::kDate)
    return invalid_argument(fmt::format("date_trunc takes a date, and not {}: use CAST(… AS date)", types_of({a[1]})));
  for (std::string_view each : {"day", "week", "month", "quarter", "year"}) {
    if (!word.has_value() || !same_spelling(*word, each)) continue;
    if (each == "day") return std::move(a[1]);
    NF_TRY(Bound bound,
           made(Function::kDateTrunc, Type::kDate, {engine::constant(std::string(each)), a[1].expression}, {a[1]}));
    bound.integers = within({a[1].integers.low - 366, a[1].integers.high, false, false}, any_day());
    bound.clamp = a[1].clamp;
    return bound;
  }
  return invalid_argument("date_trunc takes one of day, week, month, quarter and year");
}

// Bins of equal width, numbered from 1; 0 below them, and one more above.
Result<Bound> width_bucket(Arguments a) {
  const auto low = constant_number(a[1]);
  const auto high = constant_number(a[2]);
  const auto bins = constant_integer(a[3]);
  if (!is_numeric(a[0]) || !low.has_value() || !high.has_value() || !(*low < *high) || !bins.has_value() || *bins < 1 ||
      *bins > 10'000)
    return invalid_argument(
        "width_bucket takes a number, two constants that increase, and a constant number of bins up to 10000");
  const Bound lower{.expression = engine::constant(*low), .nullable = false, .per_unit = true};
  const Bound upper{.expression = engine::constant(*high), .nullable = false, .per_unit = true};
  const Bound width{.expression = engine::constant(*high - *low), .nullable = false, .per_unit = true};
  NF_TRY(Bound number, bind_cast("float8", a[0]));
  NF_TRY(Bound below, bind_operator("<", {number, lower}));
  NF_TRY(Bound above, bind_operator(">=", {number, upper}));
  NF_TRY(Bound offset, bind_operator("-", {number, lower}));
  NF_TRY(Bound scaled, bind_operator("*", {std::move(offset), bound_integer(*bins)}));
  NF_TRY(Bound share, bind_operator("/", {std::move(scaled), width}));
  NF_TRY(Bound whole, rounded("floor", {std::move(share)}));
  NF_TRY(Bound bin, bind_cast("integer", std::move(whole)));
  bin.integers = between(0, *bins - 1);
  bin.clamp = true;
  NF_TRY(Bound from_one, bind_operator("+", {std::move(bin), bound_integer(1)}));
  NF_TRY(Bound bucket, bind_case({std::move(below), bound_integer(0), std::move(above), bound_integer(*bins + 1),
                                  std::move(from_one)}));
  bucket.integers = between(0, *bins + 1);
  bucket.public_range = true;
  bucket.nullable = a[0].nullable;
  return bucket;
}

Result<Bound> call_function(const std::string& name, Arguments a) {
  if (name == "abs" || name == "floor" || name == "round" || name == "trunc") return rounded(name, std::move(a));
  if (name == "ceil" || name == "ceiling") return rounded("ceil", std::move(a));
  if (name == "sqrt" || name == "ln" || name == "exp" || name == "power") return analytic(name, std::move(a));
  if (name == "pow") return analytic("power", std::move(a));
  if (name == "least" || name == "greatest") return extreme(name, std::move(a));
  if (name == "coalesce") return coalesced(std::move(a));
  if (name == "mod") return bind_operator("%", std::move(a));
  if (name == "length" || name == "char_length" || name == "character_length") return length_of(std::move(a));
  if (name == "lower" || name == "upper" || name == "trim" || name == "btrim") return text_function(name, std::move(a));
  if (name == "substring" || name == "substr" || name == "left") return substring(name, std::move(a));
  if (name == "extract" || name == "date_part") return date_part(std::move(a));
  if (name == "date_trunc") return date_trunc(std::move(a));
  return width_bucket(std::move(a));
}

struct Arity {
  std::size_t least;
  std::size_t most;
};

const std::map<std::string_view, Arity>& arities() {
  static const auto* const table = new std::map<std::string_view, Arity>{
      {"abs", {1, 1}},        {"floor", {1, 1}},       {"ceil", {1, 1}},
      {"ceiling", {1, 1}},    {"round", {1, 2}},       {"trunc", {1, 1}},
      {"sqrt", {1, 1}},       {"ln", {1, 1}},          {"exp", {1, 1}},
      {"power", {2, 2}},      {"pow", {2, 2}},         {"least", {1, 20}},
      {"greatest", {1, 20}},  {"coalesce", {1, 20}},   {"mod", {2, 2}},
      {"length", {1, 1}},     {"char_length", {1, 1}}, {"character_length", {1, 1}},
      {"lower", {1, 1}},      {"upper", {1, 1}},       {"trim", {1, 1}},
      {"btrim", {1, 1}},      {"substring", {2, 3}},   {"substr", {2, 3}},
      {"left", {2, 2}},       {"extract", {2, 2}},     {"date_part", {2, 2}},
      {"date_trunc", {2, 2}}, {"width_bucket", {4, 4}}};
  return *table;
}

}  // namespace

Result<Bound> bind_function(const std::string& name, std::vector<Bound> arguments) {
  const auto found = arities().find(name);
  if (found == arities().end()) {
    std::vector<std::string_view> known;
    for (const auto& [each, arity] : arities()) known.push_back(each);
    const std::string_view near = nearest_name(name, known);
    return invalid_argument(fmt::format("the function {} is not part of the dialect: {}", shown(name),
                                        near.empty() ? std::string("see the reference of the dialect for what is")
                                                     : fmt::format("did you mean {}?", near)));
  }
  if (arguments.size() < found->second.least || arguments.size() > found->second.most)
    return invalid_argument(fmt::format("{} takes {} arguments, and not {}", name,
                                        found->second.least == found->second.most
                                            ? fmt::format("{}", found->second.least)
                                            : fmt::format("{} to {}", found->second.least, found->second.most),
                                        arguments.size()));
  return call_function(name, std::move(arguments));
}

const std::vector<FunctionEntry>& listed_functions() {
  static const auto* const table = new std::vector<FunctionEntry>{
      {"abs", "x", "x without its sign"},
      {"floor, ceil, trunc", "x", "the whole number below x, above x, or towards 0"},
      {"round", "x, digits", "x to so many digits (0 if they are left out); halves go up"},
      {"sqrt, ln, exp", "x", "NULL where mathematics has no value"},
      {"power", "x, y", "also written x ^ y"},
      {"mod", "a, b", "also written a % b; NULL for b = 0"},
      {"least, greatest", "x, y, …", "NULL if one of them is NULL (PostgreSQL leaves NULLs out)"},
      {"coalesce", "x, y, …", "the first that is not NULL"},
      {"nullif", "x, y", "NULL if they are equal, else x"},
      {"length", "text", "characters"},
      {"lower, upper", "text", "of the letters A to Z; others stay as they are"},
      {"trim", "text", "without spaces at its ends"},
      {"substring, left", "text, constants", "a part of a text"},
      {"date_trunc", "'week', 'month', 'quarter' or 'year', date", "the first day of it"},
      {"extract, date_part", "year, quarter, month, week, day, dow, isodow or doy; date", "an integer"},
      {"width_bucket", "x, constants low, high, n",
       "the bin of x among n of equal width, from 1; 0 below, n + 1 above"},
  };
  return *table;
}

}  // namespace noisefloor::query
