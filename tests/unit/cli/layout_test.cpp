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

TEST(Layout, AMiddleThatDoesNotFitIsLeftOut) {
  EXPECT_EQ(without_middle("resnet50-seed1", 14, 4), "resnet50-seed1");
  EXPECT_EQ(without_middle("resnet50-seed1", 10, 4), "resn…seed1");
  EXPECT_EQ(without_middle("resnet50-seed1", 10, 0), "…t50-seed1");
  EXPECT_EQ(without_middle("resnet50-seed1", 10, 20), "resnet50-…");
  EXPECT_EQ(without_middle("東京都の実験", 7, 3), "東…験") << "characters are not columns";
  EXPECT_EQ(without_middle("東京都の実験", 8, 3), "東…実験");
  EXPECT_EQ(without_middle("abc", 1, 5), "…");
  EXPECT_EQ(without_middle("abc", 0, 5), "");
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
