#include "host/api/host_api.h"

#include <gtest/gtest.h>

#include "host/base/text/text.h"
#include "host/lua/lua.h"

extern "C" int rtrain_engine_open(lua_State* L, const rtrain::HostApi* host);

namespace rtrain {
namespace {

TEST(HostApi, TheEngineRefusesAnotherVersion) {
  for (const uint32_t version : {HostApi::kVersion - 1, HostApi::kVersion + 1}) {
    HostApi host;
    host.version = version;
    try {
      rtrain_engine_open(nullptr, &host);
      FAIL() << "the engine took version " << version;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kEnvironment);
      EXPECT_NE(e.message().find(cat("this executable has version ", version)), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace rtrain
