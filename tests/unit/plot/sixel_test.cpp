#include "host/plot/sixel.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "host/plot/palette.h"

namespace rtrain::plot {
namespace {

constexpr const char* kRed = "\xff\x00\x00";
constexpr const char* kBlue = "\x00\x00\xff";

std::string pixels_of(const std::string& letters) {
  std::string out;
  for (const char letter : letters) out.append(letter == 'r' ? kRed : kBlue, 3);
  return out;
}

TEST(Sixel, SixRowsAreOneCharacterOfEachColour) {
  EXPECT_EQ(sixel(pixels_of("r"), 1, 1), "\x1bP0;1q\"1;1;1;1#0;2;100;0;0#0@\x1b\\");
  EXPECT_EQ(sixel(pixels_of("rb"
                            "br"),
                  2, 2),
            "\x1bP0;1q\"1;1;2;2#0;2;0;0;100#1;2;100;0;0#0A@$#1@A\x1b\\")
      << "the second colour begins at the left again, as $ says";
  EXPECT_EQ(sixel(pixels_of("rrrrrrb"), 1, 7),
            "\x1bP0;1q\"1;1;1;7#0;2;0;0;100#1;2;100;0;0#1~-#0@\x1b\\");
}

TEST(Sixel, WhatIsRepeatedIsSaidOnce) {
  EXPECT_EQ(sixel(pixels_of("rrrbbbbb"), 8, 1),
            "\x1bP0;1q\"1;1;8;1#0;2;0;0;100#1;2;100;0;0#0??"
            "?!5@$#1@@@\x1b\\");
}

TEST(Palette, FewColoursStayAsTheyAre) {
  std::string pixels;
  for (int i = 0; i < 256; ++i)
    pixels += {static_cast<char>(i), '\x07', static_cast<char>(255 - i)};
  const IndexedPicture picture = indexed(pixels + pixels);
  ASSERT_EQ(picture.colours.size(), 256U);
  ASSERT_EQ(picture.pixels.size(), 512U);
  for (size_t i = 0; i < picture.pixels.size(); ++i) {
    for (size_t part = 0; part < 3; ++part) {
      EXPECT_EQ(static_cast<char>(picture.colours[picture.pixels[i]][part]),
                pixels[i % 256 * 3 + part]);
    }
  }
}

TEST(Palette, OfManyColoursSimilarOnesBecomeOne) {
  constexpr int kSide = 64;
  std::string pixels;
  for (int row = 0; row < kSide; ++row) {
    for (int column = 0; column < kSide; ++column) {
      pixels += {static_cast<char>(4 * row), static_cast<char>(4 * column), '\x20'};
    }
  }
  const IndexedPicture picture = indexed(pixels);
  EXPECT_EQ(picture.colours.size(), kMostColours);
  for (size_t i = 0; i < picture.pixels.size(); ++i) {
    for (size_t part = 0; part < 3; ++part) {
      const int is = picture.colours[picture.pixels[i]][part];
      EXPECT_LE(std::abs(is - static_cast<uint8_t>(pixels[i * 3 + part])), 16) << "pixel " << i;
    }
  }
  EXPECT_TRUE(indexed("").pixels.empty());
}

}  // namespace
}  // namespace rtrain::plot
