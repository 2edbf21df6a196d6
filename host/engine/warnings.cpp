// Prints LibTorch's warnings through the host, without LibTorch's own source positions.
#include <c10/util/Exception.h>

#include <memory>

#include "host/base/text/text.h"
#include "host/engine/runtime/open.h"

namespace rtrain::engine {
namespace {

class HostWarnings final : public c10::WarningHandler {
 public:
  explicit HostWarnings(const api::HostApi& host) : host_(host) {}
  void process(const c10::Warning& warning) override {
    host_.warn(cat("warning: ", warning.msg()));
  }

 private:
  const api::HostApi& host_;
};

}  // namespace

void open_warnings(lua_State* L) {
  const api::HostApi& api = host(L);
  if (api.warn == nullptr) return;
  // LibTorch keeps one handler per thread.
  thread_local std::unique_ptr<HostWarnings> handler;
  handler = std::make_unique<HostWarnings>(api);
  c10::WarningUtils::set_warning_handler(handler.get());
}

}  // namespace rtrain::engine
