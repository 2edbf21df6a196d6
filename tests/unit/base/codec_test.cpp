#include "host/base/codec/codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "host/base/codec/json.h"
#include "host/base/error.h"

namespace rtrain {
namespace {

using namespace std::string_literals;

// Expects that the bytes do not decode, and that the error says why.
void expect_refused(const std::string& bytes, std::string_view why) {
  try {
    decode(bytes);
    ADD_FAILURE() << "decoded, although " << why;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kArgument);
    EXPECT_NE(e.message().find(why), std::string::npos) << e.message();
  }
}

TEST(Codec, EveryKindOfValueComesBack) {
  const Value value = Map{{"nil", nullptr},
                          {"yes", true},
                          {"least", std::numeric_limits<int64_t>::min()},
                          {"most", std::numeric_limits<int64_t>::max()},
                          {"half", 0.5},
                          {"text", "a\0b"s},
                          {"list", List{1, List{}, Map{}, "x"}},
                          {"map", Map{{"b", 1}, {"a", Map{{"deep", List{nullptr}}}}}}};
  EXPECT_EQ(decode(encode(value)), value);
  Map numbered;
  numbered.set(int64_t{3}, "three");
  numbered.set(int64_t{-1}, List{1.5});
  EXPECT_EQ(decode(encode(numbered)), Value(numbered));
}

// Whole numbers stay floats too, also beyond the range of every integer type.
TEST(Codec, FloatsStayFloats) {
  for (const double number : {0.0, 1.0, -3.0, 0x1p53, 0x1p60, 1e19, -1e19, 0x1p64, 1e300,
                              std::numeric_limits<double>::infinity(), 5e-324}) {
    const Value back = decode(encode(number));
    ASSERT_TRUE(back.is_float()) << number;
    EXPECT_EQ(back.as_float(), number);
  }
  EXPECT_TRUE(std::signbit(decode(encode(-0.0)).as_float()));
  EXPECT_TRUE(std::isnan(decode(encode(std::nan(""))).as_float()));
  EXPECT_EQ(encode(1.0), "\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00"s) << "as others read it";
}

TEST(Codec, ReadsWhatOthersWrite) {
  EXPECT_EQ(decode("\xca\x3f\x00\x00\x00"s), Value(0.5)) << "a float of four bytes";
  EXPECT_EQ(decode("\xc4\x02\x00\xff"s), Value("\x00\xff"s)) << "binary";
}

TEST(Codec, IntegersUpTo2To64KeepTheirDigits) {
  for (const uint64_t number : {uint64_t{INT64_MAX}, uint64_t{INT64_MAX} + 1, UINT64_MAX}) {
    const Value value = Value::from_unsigned(number);
    EXPECT_EQ(value.is_large(), number > INT64_MAX);
    EXPECT_EQ(decode(encode(value)), value);
    EXPECT_EQ(from_json(to_json(value)), value);
    EXPECT_EQ(to_json(value), std::to_string(number));
    EXPECT_EQ(value.as_float(), static_cast<double>(number));
  }
  EXPECT_THROW(static_cast<void>(Value::from_unsigned(UINT64_MAX).as_int()), Error);
}

TEST(Codec, MalformedBytesAreRefused) {
  expect_refused("", "does not decode");
  expect_refused("\xc1", "does not decode");
  expect_refused(
      "\xa5"
      "abc",
      "does not decode");
  expect_refused("\x93\x01\x02"s, "does not decode");
  expect_refused("\xc0\xc0", "trailing bytes");
  expect_refused("\xd4\x01\x00"s, "extension type");
  expect_refused("\x81\xc3\x01", "neither string nor integer");
  expect_refused("\x81\x90\x01", "neither string nor integer");
  expect_refused("\x81\x81\x01\x01\x01", "neither string nor integer");
}

TEST(Codec, NestingHasALimit) {
  EXPECT_NO_THROW(decode(std::string(64, '\x91') + '\xc0'));
  expect_refused(std::string(65, '\x91') + '\xc0', "more than 64 deep");
  expect_refused(std::string(1 << 20, '\x91'), "more than 64 deep");
}

// Each input claims 2^32 - 1 entries.
TEST(Codec, AClaimedSizeReservesNothing) {
  std::string bytes;
  for (int i = 0; i < 60; ++i) bytes += "\xdd\xff\xff\xff\xff";
  expect_refused(bytes, "does not decode");
  expect_refused("\xdf\xff\xff\xff\xff", "does not decode");
  expect_refused("\xdb\xff\xff\xff\xff", "does not decode");
}

}  // namespace
}  // namespace rtrain
