#include "host/text/patterns/scanners.h"

#include <gtest/gtest.h>

#include <random>

#include "host/text/patterns/regex.h"
#include "host/text/patterns/ruby_syntax.h"
#include "host/text/unicode/characters.h"

namespace rtrain::text {
namespace {

constexpr const char* kCl100k =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> kParts = {" ",
                                                  "  ",
                                                  "\n",
                                                  "\r\n",
                                                  "\t",
                                                  "a",
                                                  "B",
                                                  "é",
                                                  "É",
                                                  "Ж",
                                                  "ж",
                                                  "中",
                                                  "ʰ",
                                                  "ǅ",
                                                  "\xcc\x81",
                                                  "1",
                                                  "२",
                                                  "½",
                                                  "'",
                                                  "'s",
                                                  "'LL",
                                                  "'\xc5\xbf",
                                                  "/",
                                                  "!",
                                                  "«",
                                                  "👍",
                                                  "\xe2\x80\x8d",
                                                  "\xc2\xa0",
                                                  "\xe2\x80\xa8",
                                                  "_",
                                                  "don't",
                                                  "I'VE"};
  std::string out;
  const size_t count = random() % 12;
  for (size_t i = 0; i < count; ++i) out += kParts[random() % kParts.size()];
  return out;
}

std::vector<size_t> ends(const Pattern& pattern, const std::string& text) {
  std::vector<Match> matches;
  pattern.find(text, matches);
  std::vector<size_t> out;
  for (const Match& match : matches) out.push_back(match.end);
  return out;
}

TEST(Scanners, cut_as_their_expressions) {
  std::mt19937 random(1);
  for (const char* expression : {kGpt2Pattern, kCl100k, kQwen2, kO200k}) {
    const auto scanner = known_scanner(expression);
    ASSERT_TRUE(scanner);
    const auto scans = scanner_pattern(*scanner);
    const Regex regex(to_pcre2(expression), expression);
    for (int i = 0; i < 5000; ++i) {
      const std::string text = random_text(random);
      ASSERT_EQ(ends(*scans, text), ends(regex, text)) << expression << "\n" << text;
    }
  }
}

TEST(Scanners, another_expression_has_none) { EXPECT_FALSE(known_scanner("\\p{L}+")); }

}  // namespace
}  // namespace rtrain::text
