#include "host/base/codec/flat_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "host/base/codec/json.h"
#include "host/base/text/text.h"

namespace rtrain {
namespace {

// Returns the rows that were read as "name=number …", or "refused".
std::string read_as_text(FlatJson& rows, std::string_view json) {
  if (!rows.read(json)) return "refused";
  std::string out;
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows.quoted_name(i), cat('"', rows.name(i), '"'));
    out += cat(i == 0 ? "" : " ", rows.name(i), "=", to_json(Value(rows.number(i))));
  }
  return out;
}

TEST(FlatJson, ReadsNumbers) {
  FlatJson rows;
  EXPECT_EQ(read_as_text(rows, R"({"loss":0.5,"epoch":3})"), "loss=0.5 epoch=3.0");
  EXPECT_EQ(read_as_text(rows, R"({"loss":-1.5e-3,"epoch":4})"), "loss=-0.0015 epoch=4.0");
  EXPECT_EQ(read_as_text(rows, " { \"loss\": 1,\n\"epoch\": 0.0 } "), "loss=1.0 epoch=0.0");
  EXPECT_EQ(read_as_text(rows, R"({"n":9007199254740991,"m":1e300})"),
            "n=9.007199254740991e+15 m=1e+300");
  EXPECT_EQ(read_as_text(rows, "{}"), "");
}

TEST(FlatJson, RefusesWhatIsNotAMapOfNumbersThatADoubleHolds) {
  FlatJson rows;
  for (const char* other : {R"({"a":"1"})",
                            R"({"a":null})",
                            R"({"a":true})",
                            R"({"a":[1]})",
                            R"({"a":{"b":1}})",
                            "[1]",
                            "1",
                            "",
                            "{",
                            R"({"a")",
                            R"({"a":)",
                            R"({"a":1)",
                            R"({"a":1,)",
                            R"({"a":1,"b":"x"})",
                            R"({"a":1e999})",
                            R"({"a":-1e999})",
                            R"({"a\"":1})",
                            R"({"a\u0062":1})",
                            R"({"a":9007199254740993})",
                            R"({"a":-9223372036854775808})",
                            R"({"a":-0})"}) {
    EXPECT_FALSE(rows.read(other)) << other;
    EXPECT_EQ(read_as_text(rows, R"({"a":2})"), "a=2.0") << "after " << other;
  }
}

TEST(FlatJson, TheVersionOfTheNamesSaysWhetherTheyAreTheSame) {
  FlatJson rows;
  ASSERT_TRUE(rows.read(R"({"a":1,"b":2})"));
  int64_t version = rows.names_version();
  ASSERT_TRUE(rows.read(R"({"a":3,"b":4})"));
  EXPECT_EQ(rows.names_version(), version);
  for (const char* other : {R"({"a":1})", R"({"a":1,"b":2})", R"({"b":1,"a":2})",
                            R"({"b":1,"ab":2})", R"({"b":1,"ab":2,"c":3})", "{}", R"({"a":1})"}) {
    ASSERT_TRUE(rows.read(other));
    EXPECT_NE(rows.names_version(), version) << other;
    version = rows.names_version();
  }
}

// Compares FlatJson with the reader of complete JSON.
TEST(FlatJson, IsTheSameAsTheTree) {
  std::mt19937_64 random(7);
  FlatJson rows;
  for (int i = 0; i < 2000; ++i) {
    Map map;
    const auto size = random() % 5;
    for (size_t k = 0; k < size; ++k) {
      const std::string name = cat("metric ", random() % 6);
      switch (random() % 3) {
        case 0:
          map.set(name, static_cast<int64_t>(random() % 1000) - 500);
          break;
        case 1:
          map.set(name, std::normal_distribution<double>()(random));
          break;
        default:
          map.set(name, std::ldexp(1.0, static_cast<int>(random() % 2000) - 1000));
      }
    }
    ASSERT_TRUE(rows.read(to_json(map)));
    ASSERT_EQ(rows.size(), map.size());
    size_t place = 0;
    for (const auto& [key, value] : map) {
      EXPECT_EQ(rows.name(place), std::get<std::string>(key));
      const double wanted = value.is_int() ? static_cast<double>(value.as_int()) : value.as_float();
      EXPECT_EQ(rows.number(place++), wanted);
    }
  }
}

}  // namespace
}  // namespace rtrain
