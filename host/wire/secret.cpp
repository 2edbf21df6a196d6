#include "host/wire/secret.h"

#include <utility>

#include "host/base/error.h"
#include "host/base/random.h"
#include "host/base/text/text.h"
#include "host/wire/tls_session.h"

namespace rtrain::wire {
namespace {

constexpr size_t kKeyBytes = 32;
constexpr std::string_view kPrefix = "rtrain1/";  // a new way to make keys gets a new number

}  // namespace

std::string WireIdentity::text() const { return cat(kPrefix, role, "/", run_id); }

std::optional<WireIdentity> WireIdentity::parse(std::string_view text) {
  if (!text.starts_with(kPrefix)) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  return WireIdentity{.role = std::string(text.substr(0, slash)),
                      .run_id = std::string(text.substr(slash + 1))};
}

Secret::Secret(std::string bytes, std::string_view origin) : bytes_(std::move(bytes)) {
  if (bytes_.size() >= kMinBytes) return;
  throw Error(Code::kConfig,
              cat(origin, " holds ", bytes_.size(), " bytes, and a secret has at least ", kMinBytes,
                  ": make one with `openssl rand -hex 32`"));
}

Secret Secret::generate() { return {random_bytes(kMinBytes), "the kernel"}; }

Secret Secret::of(const WireIdentity& identity) const {
  const std::string name = identity.text();
  return {tls_api().hkdf_sha256(bytes_, "rtrain secret", name, kKeyBytes), "a run's secret"};
}

WireKey Secret::derive(const WireIdentity& identity) const {
  const std::string name = identity.text();
  // The key of Secret::none() is made from a secret of zeros.
  const std::string none(kMinBytes, '\0');
  return {name, tls_api().hkdf_sha256(is_given() ? bytes_ : none, "rtrain wire", name, kKeyBytes)};
}

}  // namespace rtrain::wire
