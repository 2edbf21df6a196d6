#include "host/machine/libraries/nccl_settings.h"

#include <gtest/gtest.h>

#include <optional>

namespace rtrain::machine {
namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

std::optional<NcclSetting> find(const std::vector<NcclSetting>& all, const std::string& name) {
  for (const NcclSetting& each : all) {
    if (each.name == name) return each;
  }
  return std::nullopt;
}

TEST(NcclSettings, ChoicesAreMadeWhereTheUserHasMadeNone) {
  const auto settings = nccl_settings(Environment{{"HOME", "/root"}});
  const auto handling = find(settings, "TORCH_NCCL_ASYNC_ERROR_HANDLING");
  ASSERT_TRUE(handling);
  EXPECT_EQ(handling->value, "0");
  EXPECT_EQ(handling->set_by, "rtrain");
  EXPECT_FALSE(handling->why.empty());
  EXPECT_FALSE(find(settings, "HOME"));
  EXPECT_FALSE(find(settings, "TORCH_NCCL_BLOCKING_WAIT"));
}

TEST(NcclSettings, WhatTheUserHasSetStaysAlsoUnderItsOtherName) {
  const auto settings = nccl_settings(Environment{{"TORCH_NCCL_TRACE_BUFFER_SIZE", "10"},
                                                  {"NCCL_SOCKET_IFNAME", "eth0"},
                                                  {"NCCL_DEBUG", "INFO"}});
  EXPECT_FALSE(find(settings, "TORCH_FR_BUFFER_SIZE"));
  EXPECT_EQ(find(settings, "TORCH_NCCL_TRACE_BUFFER_SIZE")->set_by, "environment");
  EXPECT_EQ(find(settings, "NCCL_SOCKET_IFNAME")->value, "eth0");
  EXPECT_EQ(find(settings, "NCCL_DEBUG")->value, "INFO");
  EXPECT_TRUE(find(settings, "TORCH_NCCL_DUMP_ON_TIMEOUT"));
}

}  // namespace
}  // namespace rtrain::machine
