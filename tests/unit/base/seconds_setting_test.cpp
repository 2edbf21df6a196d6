#include "host/base/seconds_setting.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "host/base/clock.h"
#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain {
namespace {

constexpr const char* kName = "RTRAIN_TEST_SECONDS";

class SecondsSetting : public testing::Test {
 protected:
  ~SecondsSetting() override { ::unsetenv(kName); }
  static double with(const char* text, ZeroSeconds zero = ZeroSeconds::kRefused) {
    ::setenv(kName, text, 1);
    return seconds_setting(kName, 60, zero);
  }
  static std::string refusal(const char* text) {
    try {
      with(text);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kConfig);
      return e.message();
    }
    return "none";
  }
};

TEST_F(SecondsSetting, IsTheOtherValueUnlessSet) {
  EXPECT_EQ(seconds_setting(kName, 60), 60);
  EXPECT_EQ(with(""), 60);
  EXPECT_EQ(with("0.25"), 0.25);
  EXPECT_EQ(with("1e3"), 1000);
}

TEST_F(SecondsSetting, WhatIsNoDurationIsRefusedByName) {
  for (const char* text : {"0", "-1", "ten", "10s", "nan", "inf", "1 2"}) {
    EXPECT_EQ(refusal(text), cat(std::string_view(kName), " = '", std::string_view(text),
                                 "' in the environment: expected a number of seconds above 0"));
  }
}

TEST_F(SecondsSetting, ZeroWhereItHasAMeaning) {
  EXPECT_EQ(with("0", ZeroSeconds::kAllowed), 0);
  EXPECT_THROW(with("-1", ZeroSeconds::kAllowed), Error);
}

TEST(ToMs, NoTimerEndsEarly) {
  EXPECT_EQ(to_ms(0).count(), 0);
  EXPECT_EQ(to_ms(0.0001).count(), 1);
  EXPECT_EQ(to_ms(1.5).count(), 1500);
  EXPECT_EQ(to_ms(1e300).count(), 1000000000000) << "no overflow";
}

}  // namespace
}  // namespace rtrain
