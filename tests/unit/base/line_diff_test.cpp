#include "host/base/text/line_diff.h"

#include <gtest/gtest.h>

#include <random>

#include "host/base/text/text.h"

namespace rtrain {
namespace {

TEST(LineDiff, ShowsChangesWithTheLinesAroundThem) {
  EXPECT_EQ(unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "a", "b"),
            "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
  EXPECT_EQ(unified_diff("", "new\n", "a", "b"), "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+new\n");
  EXPECT_EQ(unified_diff("same\n", "same\n", "a", "b"), "");
  EXPECT_EQ(unified_diff("", "", "a", "b"), "");
}

TEST(LineDiff, FarChangesAreHunksOfTheirOwn) {
  std::string a;
  for (int i = 0; i < 30; ++i) a += cat(i, "\n");
  std::string b = cat("first\n", a, "last\n");
  EXPECT_EQ(unified_diff(a, b, "a", "b"),
            "--- a\n+++ b\n@@ -1,3 +1,4 @@\n+first\n 0\n 1\n 2\n@@ -28,3 +29,4 @@\n 27\n 28\n 29\n"
            "+last\n");
}

// The lines of the difference restore both texts.
TEST(LineDiff, RandomTextsComeBackFromTheirDifference) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string texts[2];
    for (std::string& text : texts) {
      for (uint32_t i = random() % 30; i > 0; --i) text += cat(random() % 4, "\n");
    }
    std::string a;
    std::string b;
    for (const DiffLine& line : diff_lines(texts[0], texts[1])) {
      if (line.sign != '+') a += cat(line.text, "\n");
      if (line.sign != '-') b += cat(line.text, "\n");
    }
    ASSERT_EQ(a, texts[0]);
    ASSERT_EQ(b, texts[1]);
  }
}

TEST(LineDiff, TextsWithNothingInCommonAreReplaced) {
  std::string a;
  std::string b;
  for (int i = 0; i < 5000; ++i) {
    a += cat("a", i, "\n");
    b += cat("b", i, "\n");
  }
  EXPECT_EQ(diff_lines(a, b).size(), 10000u);
}

}  // namespace
}  // namespace rtrain
