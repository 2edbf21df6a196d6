#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <system_error>

#include "host/base/error.h"

namespace rtrain {
namespace {

TEST(Error, WhatTheSystemRefusesIsNoBug) {
  const std::system_error thread(std::make_error_code(std::errc::resource_unavailable_try_again));
  EXPECT_EQ(error_of(thread).code(), Code::kEnvironment);
  EXPECT_NE(error_of(thread).message().find("ulimit -u"), std::string::npos);
  EXPECT_EQ(error_of(std::bad_alloc()).code(), Code::kOutOfMemory);
  EXPECT_EQ(error_of(Error(Code::kTimeout, "late")).code(), Code::kTimeout);
  EXPECT_EQ(error_of(std::runtime_error("x")).code(), Code::kInternal);
}

}  // namespace
}  // namespace rtrain
