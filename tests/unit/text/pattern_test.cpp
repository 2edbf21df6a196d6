#include "host/text/patterns/pattern.h"

#include <gtest/gtest.h>

#include <chrono>

#include "host/base/error.h"
#include "host/text/patterns/ruby_syntax.h"

namespace rtrain::text {
namespace {

std::string cut(const Pattern& pattern, std::string_view text) {
  std::vector<Match> matches;
  pattern.find(text, matches);
  std::string out;
  for (const Match& match : matches) {
    out += match.is_match ? '<' : '[';
    out += text.substr(match.begin, match.end - match.begin);
    out += match.is_match ? '>' : ']';
  }
  return out;
}

std::string cut(std::string_view expression, std::string_view text) {
  return cut(*regex_pattern(expression), text);
}

std::string message_of(std::string_view expression, std::string_view text = "a") {
  try {
    cut(expression, text);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(Pattern, matches_cover_the_text) {
  EXPECT_EQ(cut("b+", "abbc"), "[a]<bb>[c]");
  EXPECT_EQ(cut("b", ""), "[]");
  EXPECT_EQ(cut(*literal_pattern("bb"), "abbbb"), "[a]<bb><bb>");
  EXPECT_EQ(cut(*character_pattern([](char32_t c) { return c == U'é'; }), "aéb"), "[a]<é>[b]");
}

TEST(Pattern, an_empty_match_is_a_place) { EXPECT_EQ(cut("(?=\\d)", "a12"), "[a]<>[1]<>[2]"); }

TEST(Pattern, classes_are_those_of_oniguruma) {
  EXPECT_EQ(cut("\\w+", "a\u0301_½ ①"), "<a\u0301_½>[ ①]");
  EXPECT_EQ(cut("[\\w]+", "a½"), "<a>[½]");
  EXPECT_EQ(cut("\\h+", "fg"), "<f>[g]");
  EXPECT_EQ(cut("[[:punct:]]", "+a"), "<+>[a]");
  EXPECT_EQ(cut("[a[bc]]+", "abcd"), "<abc>[d]");
  EXPECT_EQ(cut("\\d{1,3}+", "12345"), "<12345>");
  EXPECT_EQ(cut("(?m:.)", "\n"), "<\n>");
  EXPECT_EQ(cut("a{,2}", "aaa"), "<aa><a>");
}

TEST(Pattern, sets_are_joined_intersected_and_negated) {
  EXPECT_EQ(cut("[a-z&&[^aeiou]]+", "stone"), "<st>[o]<n>[e]");
  EXPECT_EQ(cut("[^a-z&&[^aeiou]]+", "stone"), "[st]<o>[n]<e>");
  EXPECT_EQ(cut("[a[^b-z]]+", "ab-1"), "<a>[b]<-1>");
  EXPECT_EQ(cut("[\\p{L}&&[^\\p{Han}]]+", "ab漢字c"), "<ab>[漢字]<c>");
  EXPECT_EQ(cut("[\\w&&[^\\d_]&&[^x]]+", "a1b_xc"), "<a>[1]<b>[_x]<c>");
  EXPECT_EQ(cut("[\\W0]+", "a-0"), "[a]<-0>");
  EXPECT_EQ(cut("[&&a]|b", "ab"), "[a]<b>");
  EXPECT_EQ(cut("[a&&^b]|\\^", "a^b"), "[a]<^>[b]");
  EXPECT_EQ(cut("[\\d-z]+", "1-z"), "<1-z>");
}

TEST(Pattern, a_set_is_made_before_it_ignores_case) {
  EXPECT_EQ(cut("(?i)[a-z&&[^A]]+", "abAB"), "<abAB>");
  EXPECT_EQ(cut("(?i:[\\p{Lu}])b+", "abbBB"), "<abb>[BB]");
  EXPECT_EQ(cut("(?i:a)[a-c&&[^b]]", "AaAC"), "<Aa>[AC]");
}

TEST(Pattern, a_script_has_no_extensions) {
  EXPECT_EQ(cut("\\p{Han}+", "漢。"), "<漢>[。]");
  EXPECT_EQ(cut("\\p{^Han}", "漢。"), "[漢]<。>");
}

TEST(Pattern, what_is_not_supported_is_named) {
  EXPECT_NE(message_of("(?~a)").find("the absence operator at byte 1"), std::string::npos);
  EXPECT_NE(message_of(std::string(60, '[') + "a").find("not supported"), std::string::npos);
  EXPECT_NE(message_of("(a").find("pattern '(a'"), std::string::npos);
  EXPECT_NE(message_of("[a").find("a set has no end"), std::string::npos);
  EXPECT_NE(message_of("a\\").find("ends with a backslash"), std::string::npos);
}

TEST(Pattern, exponential_backtracking_ends) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_NE(message_of("(?:a|a)*(?:a|a)*b", std::string(60, 'a')), "never");
  EXPECT_NE(message_of("(?:(?:x+x+)+)+[yz]", std::string(60, 'x')).find("too many steps"),
            std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

}  // namespace
}  // namespace rtrain::text
