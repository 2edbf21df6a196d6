#include "host/cli/screen/layout.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "host/base/text/text_width.h"

namespace rtrain::cli {
namespace {

using Lines = std::vector<std::string>;

TEST(Layout, WhatDoesNotFitIsLeftOutFromTheEnd) {
  EXPECT_EQ(shortened("loss 1  lr 2", 12), "loss 1  lr 2");
  EXPECT_EQ(shortened("loss 1  lr 2", 11), "loss 1  …");
  EXPECT_EQ(shortened("a_very_long_name", 8), "a_very_…");
  EXPECT_EQ(shortened("ääää", 3), "ää…") << "characters are not bytes";
  EXPECT_EQ(shortened("abc", 1), "…");
  EXPECT_EQ(shortened("東京都", 4), "東…") << "nor columns";
}

TEST(Layout, TextIsBrokenAtSpacesAndBehindCommas) {
  EXPECT_EQ(wrapped("one two three", 8), (Lines{"one two", "three"}));
  EXPECT_EQ(wrapped("{\"a\":1,\"b\":2}", 8), (Lines{"{\"a\":1,", "\"b\":2}"}));
  EXPECT_EQ(wrapped("see /a/folder/with/a/long/name now", 10),
            (Lines{"see", "/a/folder/with/a/long/name", "now"}));
  EXPECT_EQ(wrapped("loss 1  accuracy 2", 14), (Lines{"loss 1", "accuracy 2"}));
  EXPECT_EQ(wrapped("", 8), Lines{""});
  EXPECT_EQ(wrapped("as it is", kAnyWidth), Lines{"as it is"});
}

TEST(Layout, ATableBeyondTheWidthGoesOnBelowWithItsKeys) {
  const std::vector<Column> columns{{.header = "INDEX", .right = true, .key = true},
                                    {"loss", true},
                                    {"accuracy", true},
                                    {"NOTE"}};
  const std::vector<Lines> rows{{"0", "0.25", "0.5", "x"}, {"10", "0.125", "0.75", ""}};
  EXPECT_EQ(table_lines(columns, rows, kAnyWidth),
            (Lines{"INDEX   loss  accuracy  NOTE", "    0   0.25       0.5  x",
                   "   10  0.125      0.75"}));
  EXPECT_EQ(table_lines(columns, rows, 22),
            (Lines{"INDEX   loss  accuracy", "    0   0.25       0.5", "   10  0.125      0.75", "",
                   "INDEX  NOTE", "    0  x", "   10"}));
}

TEST(Layout, ALineBreakInACellLeavesTheTableInItsLines) {
  EXPECT_EQ(
      table_lines({{.header = "INDEX", .right = true, .key = true}, {"loss\nof b", true}, {"NOTE"}},
                  {{"0", "0.25", "a\tb\r"}}, kAnyWidth),
      (Lines{"INDEX  loss\\nof b  NOTE", "    0        0.25  a\\tb\\r"}));
}

TEST(Layout, WhatATerminalObeysIsEscapedAndCountedSo) {
  EXPECT_EQ(table_lines({{.header = "N\x1b[2J", .key = true}, {"NOTE"}},
                        {{"a\x1b]0;x\x07", "\x1b[31mred"},
                         {"b",
                          "\xc2\x9b"
                          "\x7f\xff"}},
                        kAnyWidth),
            (Lines{"N\\x1b[2J       NOTE", "a\\x1b]0;x\\x07  \\x1b[31mred",
                   "b              \\u009b\\x7f\\xff"}));
}

TEST(Layout, AColumnThatFillsALineIsShortenedToWhatIsLeft) {
  const std::vector<Column> columns{{.header = "NAME", .key = true},
                                    {.header = "METRICS", .fills = true}};
  const std::vector<Lines> rows{{"a", "loss 1  accuracy 2  perplexity 3  rate 4"}};
  EXPECT_EQ(table_lines(columns, rows, 36),
            (Lines{"NAME  METRICS", "a     loss 1  accuracy 2  …"}));
}

TEST(Layout, NoLineOfATableIsWiderThanAsked) {
  const std::vector<Column> columns{{.header = "NAME", .key = true}, {"METRICS"}, {"TAGS"}};
  const std::vector<Lines> rows{
      {std::string(70, 'n'), "loss 1  accuracy 2  learning_rate 3  perplexity 4", "a"}};
  for (const size_t width : {20U, 40U, 80U}) {
    for (const std::string& line : table_lines(columns, rows, width)) {
      EXPECT_LE(text_width(line), width) << line;
    }
  }
}

TEST(Layout, LongNamesLoseTheirMiddleAndLongValuesTheirEnd) {
  const std::string long_text = std::string(60, 'a') + std::string(60, 'b');
  EXPECT_EQ(brief_name(long_text), std::string(39, 'a') + "…" + std::string(39, 'b'));
  EXPECT_EQ(brief_value(long_text), std::string(60, 'a') + std::string(19, 'b') + "…");
  EXPECT_EQ(brief_name("loss"), "loss");
  EXPECT_EQ(brief_value(std::string(80, 'v')), std::string(80, 'v'));
  std::string wide;
  for (int i = 0; i < 60; ++i) wide += "東";
  EXPECT_LE(text_width(brief_name(wide)), 80U);
  EXPECT_LE(text_width(brief_value(wide)), 80U);
}

}  // namespace
}  // namespace rtrain::cli
