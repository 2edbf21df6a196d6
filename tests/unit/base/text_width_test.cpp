#include "host/base/text/text_width.h"

#include <gtest/gtest.h>

#include <string_view>

namespace rtrain {
namespace {

TEST(TextWidth, CountsColumns) {
  EXPECT_EQ(text_width(""), 0U);
  EXPECT_EQ(text_width("loss=0.1"), 8U);
  EXPECT_EQ(text_width("häßlich ⠤ │"), 11U);
  EXPECT_EQ(text_width("東京-1"), 6U);
  EXPECT_EQ(text_width("한국어"), 6U);
  EXPECT_EQ(text_width("🚀 go"), 5U);
  EXPECT_EQ(text_width("e\xCC\x81"), 1U) << "an accent of its own";
  EXPECT_EQ(text_width("\xFF\x80 \xE6\x9D"), 5U) << "bytes that are not text";
}

TEST(TextWidth, CutsBetweenCharacters) {
  const std::string_view text = "a東京b";
  EXPECT_EQ(text.substr(0, bytes_that_fit(text, 0)), "");
  EXPECT_EQ(text.substr(0, bytes_that_fit(text, 2)), "a");
  EXPECT_EQ(text.substr(0, bytes_that_fit(text, 3)), "a東");
  EXPECT_EQ(text.substr(0, bytes_that_fit(text, 100)), text);
  EXPECT_EQ(bytes_that_fit("e\xCC\x81z", 1), 3U) << "with its accent";
}

}  // namespace
}  // namespace rtrain
