#include "host/wire/http_client.h"

#include "host/wire/tls_library.h"

namespace rtrain::wire {

HttpAnswer http_call(const HttpCall& call) {
  using Function = void (*)(const HttpCall&, HttpAnswer&);
  static const auto function = reinterpret_cast<Function>(tls_symbol("rtrain_http_call"));
  HttpAnswer answer;
  function(call, answer);
  return answer;
}

}  // namespace rtrain::wire
