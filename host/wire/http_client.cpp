#include "host/wire/http_client.h"

#include "host/wire/tls_library.h"

namespace rtrain::wire {

HttpAnswer http_call(const HttpCall& call) {
  using Function = HttpAnswer (*)(const HttpCall&);
  static const auto function = reinterpret_cast<Function>(tls_symbol("rtrain_http_call"));
  return function(call);
}

}  // namespace rtrain::wire
