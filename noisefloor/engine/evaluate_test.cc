#include "noisefloor/engine/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "noisefloor/engine/days.h"

namespace noisefloor::engine {
namespace {

const Value kNull;

Value value_of(const Expression& e) {
  return evaluate(e, [](std::string_view) { return Value(); });
}
Expression i(std::int64_t x) { return constant(x); }
Expression x(double v) { return constant(v); }
Expression t(std::string v) { return constant(std::move(v)); }
Value of(Function function, Type type, std::vector<Expression> arguments) {
  return value_of(call(function, type, std::move(arguments)));
}
Value number_of(Function function, std::vector<Expression> arguments) {
  return of(function, Type::kNumber, std::move(arguments));
}

TEST(Evaluate, HasNoNumberWhereMathematicsHasNone) {
  EXPECT_EQ(number_of(Function::kDivide, {i(1), i(0)}), kNull);
  EXPECT_EQ(number_of(Function::kDivide, {x(1), x(0)}), kNull);
  EXPECT_EQ(number_of(Function::kLn, {x(0)}), kNull);
  EXPECT_EQ(number_of(Function::kLn, {x(-1)}), kNull);
  EXPECT_EQ(number_of(Function::kSqrt, {x(-1)}), kNull);
  EXPECT_EQ(number_of(Function::kPower, {x(0), x(-1)}), kNull);
  EXPECT_EQ(number_of(Function::kPower, {x(-2), x(0.5)}), kNull);
  EXPECT_EQ(of(Function::kModulo, Type::kInteger, {i(5), i(0)}), kNull);
}

TEST(Evaluate, KeepsNumbersInTheirRange) {
  EXPECT_EQ(normal(std::nan("")), std::nullopt);
  EXPECT_EQ(normal(std::numeric_limits<double>::infinity()), std::nullopt);
  EXPECT_EQ(normal(-1.1e150), std::nullopt);
  EXPECT_EQ(normal(5e-324), 0.0);
  EXPECT_FALSE(std::signbit(normal(-0.0).value()));
  EXPECT_EQ(number_of(Function::kMultiply, {x(1e100), x(1e100)}), kNull);
  EXPECT_EQ(number_of(Function::kMultiply, {x(1e-100), x(1e-100)}), Value(0.0));
  EXPECT_EQ(number_of(Function::kExp, {x(1e9)}), kNull);
  EXPECT_EQ(number_of(Function::kExp, {x(-1e9)}), Value(0.0));
  EXPECT_EQ(number_of(Function::kExp, {x(345.9)}), kNull);
  EXPECT_EQ(number_of(Function::kPower, {x(10), x(200)}), kNull);
  EXPECT_EQ(number_of(Function::kPower, {x(10), x(-200)}), Value(0.0));
  EXPECT_EQ(number_of(Function::kPower, {x(-2), x(3)}), Value(-8.0));
  EXPECT_EQ(number_of(Function::kPower, {x(0), x(0)}), Value(1.0));
  EXPECT_FALSE(std::signbit(std::get<double>(number_of(Function::kNegate, {x(0)}))));
  EXPECT_FALSE(std::signbit(std::get<double>(number_of(Function::kCeiling, {x(-0.5)}))));
}

TEST(Evaluate, NeverOverflowsIntegers) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(of(Function::kAdd, Type::kInteger, {i(most), i(1)}), kNull);
  EXPECT_EQ(of(Function::kMultiply, Type::kInteger, {i(least), i(-1)}), kNull);
  EXPECT_EQ(of(Function::kNegate, Type::kInteger, {i(least)}), kNull);
  EXPECT_EQ(of(Function::kModulo, Type::kInteger, {i(least), i(-1)}), Value(std::int64_t{0}));
  EXPECT_EQ(of(Function::kModulo, Type::kInteger, {i(-7), i(3)}), Value(std::int64_t{-1}));
}

TEST(Evaluate, KnowsThreeTruths) {
  const Expression yes = constant_truth(true);
  const Expression no = constant_truth(false);
  const Expression unknown = null_of(Type::kTruth);
  const auto truth = [](Function f, std::vector<Expression> a) { return of(f, Type::kTruth, std::move(a)); };
  EXPECT_EQ(truth(Function::kAnd, {unknown, no}), Value(false));
  EXPECT_EQ(truth(Function::kAnd, {unknown, yes}), kNull);
  EXPECT_EQ(truth(Function::kOr, {unknown, yes}), Value(true));
  EXPECT_EQ(truth(Function::kOr, {unknown, no}), kNull);
  EXPECT_EQ(truth(Function::kNot, {unknown}), kNull);
  EXPECT_EQ(truth(Function::kEqual, {i(2), x(2)}), Value(true));
  EXPECT_EQ(truth(Function::kLess, {t("Z"), t("a")}), Value(true));
  EXPECT_EQ(truth(Function::kLess, {t("z"), t("ä")}), Value(true));
  EXPECT_EQ(truth(Function::kIn, {null_of(Type::kInteger), i(1)}), kNull);
  EXPECT_EQ(truth(Function::kIn, {i(1), i(2), i(1)}), Value(true));
  EXPECT_EQ(truth(Function::kIsNull, {unknown}), Value(true));
  EXPECT_EQ(of(Function::kCase, Type::kInteger, {unknown, i(1), i(2)}), Value(std::int64_t{2}));
  EXPECT_EQ(of(Function::kCase, Type::kNumber, {yes, i(1), x(2)}), Value(1.0));
  EXPECT_EQ(of(Function::kCoalesce, Type::kInteger, {null_of(Type::kInteger), i(3)}), Value(std::int64_t{3}));
  EXPECT_EQ(of(Function::kLeast, Type::kInteger, {i(1), null_of(Type::kInteger)}), kNull);
}

TEST(Evaluate, ReadsNumbersFromTextsInOneFormOnly) {
  for (const char* text : {"", " 1", "1 ", "nan", "inf", "0x1", "1e400", "1e", "e5", ".", "1,5", "--1", "1e+",
                           "1234567890123456", "1.1234567890123456", "1e100", "١"}) {
    EXPECT_EQ(parse_cell_number(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_cell_number("-12.5e3"), -12500.0);
  EXPECT_EQ(parse_cell_number("+.5"), 0.5);
  EXPECT_EQ(parse_cell_number("7."), 7.0);
  EXPECT_EQ(parse_cell_number("0.1"), 0.1);
  EXPECT_EQ(parse_cell_number("123456789012345.123456789012345E-99"), 123456789012345.123456789012345E-99);
  EXPECT_FALSE(std::signbit(parse_cell_number("-0").value()));
  for (const char* text : {"", "-", "1.0", "1e3", " 1", "1234567890123456789"}) {
    EXPECT_EQ(parse_cell_integer(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_cell_integer("-999999999999999999"), -999999999999999999);
  EXPECT_EQ(of(Function::kToInteger, Type::kInteger, {x(2.5)}), kNull);
  EXPECT_EQ(of(Function::kToInteger, Type::kInteger, {x(1e17)}), kNull);
  EXPECT_EQ(of(Function::kToInteger, Type::kInteger, {x(-3)}), Value(std::int64_t{-3}));
}

TEST(Evaluate, PutsValuesOnAGridWithinBounds) {
  const auto steps = [](Expression value) {
    return of(Function::kSteps, Type::kInteger, {std::move(value), x(-5), x(5000), x(0.01)});
  };
  EXPECT_EQ(steps(x(1e149)), Value(std::int64_t{500'000}));
  EXPECT_EQ(steps(x(-1e149)), Value(std::int64_t{-500}));
  EXPECT_EQ(steps(x(0.005)), Value(std::int64_t{1}));
  EXPECT_EQ(steps(i(7)), Value(std::int64_t{700}));
  EXPECT_EQ(steps(null_of(Type::kNumber)), kNull);
}

TEST(Evaluate, TreatsTextsByCharacters) {
  const auto text = [](Function f, std::vector<Expression> a) { return of(f, Type::kText, std::move(a)); };
  const auto like = [](const char* a, const char* b) { return of(Function::kLike, Type::kTruth, {t(a), t(b)}); };
  EXPECT_EQ(of(Function::kLength, Type::kInteger, {t("añ😀")}), Value(std::int64_t{3}));
  EXPECT_EQ(text(Function::kUpper, {t("straße é")}), Value(std::string("STRAßE é")));
  EXPECT_EQ(text(Function::kLower, {t("ÀBC")}), Value(std::string("Àbc")));
  EXPECT_EQ(text(Function::kTrim, {t("  a\t ")}), Value(std::string("a\t")));
  EXPECT_EQ(text(Function::kSubstring, {t("añ😀z"), i(2), i(2)}), Value(std::string("ñ😀")));
  EXPECT_EQ(text(Function::kSubstring, {t("ab"), i(5), i(2)}), Value(std::string()));
  EXPECT_EQ(text(Function::kConcatenate, {t(std::string(kMaxText, 'a')), t("b")}), kNull);
  EXPECT_EQ(like("añz", "a_z"), Value(true));
  EXPECT_EQ(like("a\\%", "a\\%"), Value(true));
  EXPECT_EQ(like("mississippi", "%iss%ppi"), Value(true));
  EXPECT_EQ(like("mississippi", "%iss_pp"), Value(false));
  EXPECT_EQ(like("Abc", "abc"), Value(false));
  EXPECT_EQ(like("", "%%"), Value(true));
  EXPECT_EQ(like("ñ", "__"), Value(false));
  EXPECT_TRUE(is_text("añ😀"));
  EXPECT_FALSE(is_text("\xff"));
  EXPECT_FALSE(is_text("\xc0\x80"));
  EXPECT_FALSE(is_text(std::string(kMaxText + 1, 'a')));
}

TEST(Evaluate, ComputesWithDates) {
  const Expression date = constant_date(parse_date("2026-03-05").value());
  EXPECT_EQ(of(Function::kToDate, Type::kDate, {t("2026-03-05 10:00")}), date.value);
  EXPECT_EQ(of(Function::kToDate, Type::kDate, {t("5.3.2026")}), kNull);
  EXPECT_EQ(of(Function::kDatePart, Type::kInteger, {t("week"), date}), Value(std::int64_t{10}));
  EXPECT_EQ(of(Function::kDatePart, Type::kInteger, {t("year"), constant_date(kLastDay + 1)}), kNull);
  EXPECT_EQ(of(Function::kSubtract, Type::kInteger, {date, date}), Value(std::int64_t{0}));
}

TEST(Evaluate, FoldsWhatReadsNoColumn) {
  const Expression sum = call(Function::kAdd, Type::kInteger, {i(1), i(2)});
  const Expression whole = call(Function::kAdd, Type::kInteger, {column("a", Type::kInteger), sum});
  EXPECT_EQ(folded(whole), call(Function::kAdd, Type::kInteger, {column("a", Type::kInteger), i(3)}));
  EXPECT_EQ(folded(call(Function::kDivide, Type::kNumber, {i(1), i(0)})), null_of(Type::kNumber));
}

}  // namespace
}  // namespace noisefloor::engine
