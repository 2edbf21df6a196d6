#include "host/wire/tls_session.h"

#include "host/wire/tls_library.h"

namespace rtrain::wire {

const TlsApi& tls_api() {
  static const TlsApi* const api =
      reinterpret_cast<const TlsApi* (*)()>(tls_symbol("rtrain_tls_api"))();
  return *api;
}

std::unique_ptr<TlsSession> TlsSession::client(const WireKey& key) { return tls_api().client(key); }

std::unique_ptr<TlsSession> TlsSession::server(FindKey find_key) {
  return tls_api().server(std::move(find_key));
}

}  // namespace rtrain::wire
