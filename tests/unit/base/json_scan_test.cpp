#include "host/base/codec/json_scan.h"

#include <gtest/gtest.h>

#include <vector>

#include "host/base/codec/json.h"

namespace rtrain {
namespace {

std::string found(std::string_view json, std::vector<std::string> keys) {
  const auto out = find_in_json(json, keys);
  return out ? std::string(*out) : "nothing";
}

TEST(JsonScan, FindsEveryValueOfAMap) {
  constexpr std::string_view kText =
      R"({"a":1,"b":"x,\"}y","c":{"a":[1,{"b":2}],"d":-1.5e3},"e":[],"f":true , "g" : null,"h":{}})";
  EXPECT_EQ(found(kText, {}), kText);
  EXPECT_EQ(found(kText, {"a"}), "1");
  EXPECT_EQ(found(kText, {"b"}), R"("x,\"}y")");
  EXPECT_EQ(found(kText, {"c"}), R"({"a":[1,{"b":2}],"d":-1.5e3})");
  EXPECT_EQ(found(kText, {"c", "d"}), "-1.5e3");
  EXPECT_EQ(found(kText, {"e"}), "[]");
  EXPECT_EQ(found(kText, {"f"}), "true");
  EXPECT_EQ(found(kText, {"g"}), "null");
  EXPECT_EQ(found(kText, {"h"}), "{}");
  for (const char* missing : {"", "x", "d", "h.x"}) EXPECT_EQ(found(kText, {missing}), "nothing");
  EXPECT_EQ(found(kText, {"a", "b"}), "nothing") << "a number has no entries";
  EXPECT_EQ(found(kText, {"e", "0"}), "nothing") << "nor has a list";
}

TEST(JsonScan, KeysAreComparedAsTheyRead) {
  EXPECT_EQ(found(R"({"\u00e4\n":1,"ä":2})", {"ä\n"}), "1");
  EXPECT_EQ(found(R"({"a\"b":1})", {"a\"b"}), "1");
  EXPECT_EQ(found(R"({"a\\":1,"b":2})", {"b"}), "2");
}

TEST(JsonScan, AgreesWithTheReaderWhereverATextIsCut) {
  const std::string text = R"({"a":{"b":[1,"x\\"],"c":"]}"},"d":{"e":{"f":3}}})";
  const std::vector<std::string> keys{"d", "e", "f"};
  EXPECT_EQ(found(text, keys), "3");
  for (size_t size = 0; size < text.size(); ++size) {
    // A cut text may give any result; only nothing behind its end may be read.
    const std::string part = text.substr(0, size);
    EXPECT_LE(find_in_json(part, keys).value_or("").size(), size);
  }
}

}  // namespace
}  // namespace rtrain
