#include "host/cli/screen/table.h"

#include <gtest/gtest.h>

#include "host/base/text/text_width.h"
#include "host/cli/screen/layout.h"

namespace rtrain::cli {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::vector<Column>& columns, const std::vector<Lines>& rows, size_t width) {
  return table_of(columns, rows, width).lines;
}

TEST(Table, ATableBeyondTheWidthGoesOnBelowWithItsKeys) {
  const std::vector<Column> columns{{.header = "INDEX", .right = true, .key = true},
                                    {"loss", true},
                                    {"accuracy", true},
                                    {"NOTE"}};
  const std::vector<Lines> rows{{"0", "0.25", "0.5", "x"}, {"10", "0.125", "0.75", ""}};
  EXPECT_EQ(lines_of(columns, rows, kAnyWidth),
            (Lines{"INDEX   loss  accuracy  NOTE", "    0   0.25       0.5  x",
                   "   10  0.125      0.75"}));
  EXPECT_EQ(lines_of(columns, rows, 22),
            (Lines{"INDEX   loss  accuracy", "    0   0.25       0.5", "   10  0.125      0.75", "",
                   "INDEX  NOTE", "    0  x", "   10"}));
}

TEST(Table, ALineBreakInACellLeavesTheTableInItsLines) {
  EXPECT_EQ(
      lines_of({{.header = "INDEX", .right = true, .key = true}, {"loss\nof b", true}, {"NOTE"}},
               {{"0", "0.25", "a\tb\r"}}, kAnyWidth),
      (Lines{"INDEX  loss\\nof b  NOTE", "    0        0.25  a\\tb\\r"}));
}

TEST(Table, WhatATerminalObeysIsEscapedAndCountedSo) {
  EXPECT_EQ(lines_of({{.header = "N\x1b[2J", .key = true}, {"NOTE"}},
                     {{"a\x1b]0;x\x07", "\x1b[31mred"},
                      {"b",
                       "\xc2\x9b"
                       "\x7f\xff"}},
                     kAnyWidth),
            (Lines{"N\\x1b[2J       NOTE", "a\\x1b]0;x\\x07  \\x1b[31mred",
                   "b              \\u009b\\x7f\\xff"}));
}

TEST(Table, AColumnThatFillsALineIsShortenedToWhatIsLeft) {
  const std::vector<Column> columns{{.header = "NAME", .key = true},
                                    {.header = "METRICS", .fills = true}};
  const std::vector<Lines> rows{{"a", "loss 1  accuracy 2  perplexity 3  rate 4"}};
  EXPECT_EQ(lines_of(columns, rows, 36), (Lines{"NAME  METRICS", "a     loss 1  accuracy 2  …"}));
}

TEST(Table, NoLineOfATableIsWiderThanAsked) {
  const std::vector<Column> columns{{.header = "NAME", .key = true}, {"METRICS"}, {"TAGS"}};
  const std::vector<Lines> rows{
      {std::string(70, 'n'), "loss 1  accuracy 2  learning_rate 3  perplexity 4", "a"}};
  for (const size_t width : {20U, 40U, 80U}) {
    for (const std::string& line : lines_of(columns, rows, width)) {
      EXPECT_LE(text_width(line), width) << line;
    }
  }
}

Lines shown_keys(const Lines& keys, size_t width) {
  std::vector<Lines> rows;
  for (const std::string& key : keys) rows.push_back({key});
  Lines lines = lines_of({{.header = "NAME", .key = true}}, rows, width);
  lines.erase(lines.begin());
  return lines;
}

TEST(Table, KeysAreShortenedWhereTheyStayDistinct) {
  EXPECT_EQ(shown_keys({"resnet50-augmented-seed1", "resnet50-augmented-seed2"}, 24),
            (Lines{"resnet…seed1", "resnet…seed2"}))
      << "equal beginnings";
  EXPECT_EQ(shown_keys({"wide-resnet-of-the-paper", "slim-resnet-of-the-paper"}, 24),
            (Lines{"wide-r…paper", "slim-r…paper"}))
      << "equal ends";
  EXPECT_EQ(
      shown_keys({"resnet50-lr=0.1-with-dropout-and-ema", "resnet50-lr=0.2-with-dropout-and-ema"},
                 40),
      (Lines{"resnet50-lr=0.1-…ema", "resnet50-lr=0.2-…ema"}))
      << "equal both";
  EXPECT_EQ(shown_keys({"東京の実験の一つ-1", "東京の実験の一つ-2"}, 20),
            (Lines{"東京…つ-1", "東京…つ-2"}));
  EXPECT_EQ(shown_keys({"short", "as-it-is"}, 24), (Lines{"short", "as-it-is"}));
}

const std::vector<Column> kSpare{{.header = "NAME", .key = true},
                                 {"STATUS"},
                                 {.header = "TAGS", .spare = 3},
                                 {.header = "loss", .right = true, .spare = 1},
                                 {.header = "accuracy", .right = true, .spare = 2},
                                 {.header = "lr", .right = true, .spare = 4}};

TEST(Table, SpareColumnsAreLeftOutOfAFullLine) {
  const std::vector<Lines> rows{{"a", "FINISHED", "base", "0.5", "0.25", "1"}};
  const Table wide = table_of(kSpare, rows, 40);
  EXPECT_EQ(wide.lines, (Lines{"NAME  STATUS    TAGS  loss  accuracy  lr",
                               "a     FINISHED  base   0.5      0.25   1"}));
  EXPECT_EQ(wide.left_out, 0U);
  const Table narrow = table_of(kSpare, rows, 30);
  EXPECT_EQ(narrow.lines,
            (Lines{"NAME  STATUS    loss  accuracy", "a     FINISHED   0.5      0.25"}));
  EXPECT_EQ(narrow.left_out, 2U);
  EXPECT_EQ(table_of(kSpare, rows, 25).lines,
            (Lines{"NAME  STATUS    loss  lr", "a     FINISHED   0.5   1"}))
      << "one that fits, where a more important one does not";
  EXPECT_EQ(table_of(kSpare, rows, kAnyWidth).left_out, 0U);
}

TEST(Table, SpareColumnsNeverBeginALine) {
  const Table table =
      table_of(kSpare, {{"a", std::string(30, 's'), "base", "0.5", "0.25", "1"}}, 20);
  EXPECT_EQ(table.lines, (Lines{"NAME  STATUS", "a     sssssssssssss…"}));
  EXPECT_EQ(table.left_out, 4U);
}

}  // namespace
}  // namespace rtrain::cli
