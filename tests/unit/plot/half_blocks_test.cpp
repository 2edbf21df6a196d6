#include "host/plot/half_blocks.h"

#include <gtest/gtest.h>

namespace rtrain::plot {
namespace {

using Lines = std::vector<std::string>;

TEST(HalfBlocks, TwoRowsOfPixelsAreALine) {
  const std::string pixels("\xff\x00\x00\x00\xff\x00\x01\x02\x03\x01\x02\x03", 12);
  EXPECT_EQ(half_blocks(pixels, 2, 2, TerminalColours::kAll),
            (Lines{"\x1b[38;2;255;0;0;48;2;1;2;3m▀\x1b[38;2;0;255;0;48;2;1;2;3m▀\x1b[0m"}));
  EXPECT_EQ(half_blocks(pixels, 1, 3, TerminalColours::kAll),
            (Lines{"\x1b[38;2;255;0;0;48;2;0;255;0m▀\x1b[0m", "\x1b[38;2;1;2;3m▀\x1b[0m"}))
      << "an odd last row has no ground";
}

TEST(HalfBlocks, AColourThatStaysIsSaidOnce) {
  const Lines lines = half_blocks(std::string(3 * 4, '\0'), 4, 1, TerminalColours::kAll);
  EXPECT_EQ(lines, (Lines{"\x1b[38;2;0;0;0m▀▀▀▀\x1b[0m"}));
}

TEST(HalfBlocks, ThePaletteHasTheNearestOfItsCube) {
  const std::string pixels("\xff\xff\xff\x00\x00\x00\xff\x00\x00", 9);
  EXPECT_EQ(half_blocks(pixels, 3, 1, TerminalColours::kPalette),
            (Lines{"\x1b[38;5;231m▀\x1b[38;5;16m▀\x1b[38;5;196m▀\x1b[0m"}));
}

}  // namespace
}  // namespace rtrain::plot
