#include "host/base/codec/json.h"

#include <gtest/gtest.h>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain {
namespace {

std::string message_of(const std::string& text) {
  try {
    from_json(text);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kArgument);
    return e.message();
  }
  return "no error";
}

std::string lists(int depth) {
  return std::string(static_cast<size_t>(depth), '[') +
         std::string(static_cast<size_t>(depth), ']');
}

TEST(JsonTest, ReadsWhatItWrites) {
  const Map value{{"nil", nullptr},
                  {"yes", true},
                  {"int", -7},
                  {"whole", 2.0},
                  {"half", 0.5},
                  {"text", "a\"\\\n\xc3\xa4"},
                  {"list", List{1, List{}, Map{}}},
                  {"map", Map{{"z", 1}, {"a", 2}}}};
  EXPECT_EQ(from_json(to_json(value)), Value(value));
  EXPECT_EQ(from_json(to_json(value, 2)), Value(value));
  EXPECT_EQ(to_json(from_json(" { \"b\" : [ 1 , 2.0 ] , \"a\" : { } } ")),
            R"({"b":[1,2.0],"a":{}})");
}

TEST(JsonTest, OfEqualKeysTheLastCounts) {
  EXPECT_EQ(to_json(from_json(R"({"a":1,"b":2,"a":3})")), R"({"a":3,"b":2})");
}

TEST(JsonTest, ANumberBeyondAnIntegerIsAFloat) {
  EXPECT_EQ(from_json("9223372036854775807"), Value(INT64_MAX));
  EXPECT_EQ(from_json("18446744073709551615"), Value::from_unsigned(UINT64_MAX));
  EXPECT_EQ(from_json("18446744073709551616"), Value(18446744073709551616.0));
}

TEST(JsonTest, AMistakeIsToldWithItsPlace) {
  EXPECT_EQ(message_of("{\"a\":").substr(0, 43), "not JSON: parse error at line 1, column 6: ");
  EXPECT_NE(message_of("[1] 2").find("column 5"), std::string::npos);
  EXPECT_NE(message_of("[1e999]").find("not JSON"), std::string::npos);
  EXPECT_NE(message_of("").find("not JSON"), std::string::npos);
}

TEST(JsonTest, DeepNestingIsRefused) {
  EXPECT_EQ(to_json(from_json(lists(100))), lists(100));
  EXPECT_EQ(message_of(lists(101)), "nested deeper than 100 levels");
  EXPECT_EQ(message_of(std::string(1'000'000, '[')), "nested deeper than 100 levels");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(message_of(objects), "nested deeper than 100 levels");
}

}  // namespace
}  // namespace rtrain
