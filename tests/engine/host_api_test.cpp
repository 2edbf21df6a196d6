#include "host/api/host_api.h"

#include <gtest/gtest.h>

#include "host/base/text/text.h"
#include "host/lua/lua.h"

extern "C" int rtrain_engine_open(lua_State* L, const rtrain::api::HostApi* host);

namespace rtrain::engine {
namespace {

TEST(HostApi, TheEngineRefusesAnotherVersion) {
  for (const uint32_t version : {api::HostApi::kVersion - 1, api::HostApi::kVersion + 1}) {
    api::HostApi host;
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
}  // namespace rtrain::engine
