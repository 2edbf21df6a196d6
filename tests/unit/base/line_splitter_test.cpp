#include "host/base/text/line_splitter.h"

#include <gtest/gtest.h>

namespace rtrain {
namespace {

using Texts = std::vector<std::string>;

TEST(LineSplitterTest, GivesALineOnceItIsWhole) {
  LineSplitter lines;
  EXPECT_EQ(lines.add("one\ntw"), Texts{"one"});
  EXPECT_EQ(lines.add("o\n\nthree"), (Texts{"two", ""}));
  EXPECT_EQ(lines.finish(), "three");
  EXPECT_EQ(lines.finish(), "");
}

TEST(LineSplitterTest, ALineWithoutAnEndComesInPieces) {
  LineSplitter lines;
  const std::string much(100000, 'x');
  EXPECT_EQ(lines.add(much), Texts{much});
  EXPECT_EQ(lines.add("y\n"), Texts{"y"});
}

TEST(LineSplitterTest, ShowsWhatAnUnfinishedLineShowsNow) {
  LineSplitter lines;
  lines.add("no return, no progress");
  EXPECT_EQ(lines.progress(), "");
  lines.add("\n\r 10%");
  EXPECT_EQ(lines.progress(), " 10%");
  lines.add("\r 20%\r 30%");
  EXPECT_EQ(lines.progress(), " 30%");
  lines.add("\r");
  EXPECT_EQ(lines.progress(), " 30%");
  lines.add(" 40%\r");
  EXPECT_EQ(lines.progress(), " 40%");
  EXPECT_EQ(lines.add("100%\n"), Texts{"\r 10%\r 20%\r 30%\r 40%\r100%"});
  EXPECT_EQ(lines.progress(), "");
}

}  // namespace
}  // namespace rtrain
