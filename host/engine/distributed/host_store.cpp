#include "host/engine/distributed/host_store.h"

namespace rtrain::engine {
namespace {

std::vector<uint8_t> bytes(const std::string& text) { return {text.begin(), text.end()}; }
std::string text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

c10::intrusive_ptr<c10d::Store> HostStore::clone() {
  return c10::make_intrusive<HostStore>(api_, timeout_);
}

void HostStore::set(const std::string& key, const std::vector<uint8_t>& value) {
  api_.store_set(key, text(value));
}

std::vector<uint8_t> HostStore::compareSet(const std::string& key,
                                           const std::vector<uint8_t>& expected,
                                           const std::vector<uint8_t>& desired) {
  return bytes(api_.store_compare_set(key, text(expected), text(desired)));
}

std::vector<uint8_t> HostStore::get(const std::string& key) {
  return bytes(api_.store_get(key, timeout_));
}

int64_t HostStore::add(const std::string& key, int64_t delta) { return api_.store_add(key, delta); }

bool HostStore::deleteKey(const std::string& key) { return api_.store_delete(key); }

bool HostStore::check(const std::vector<std::string>& keys) { return api_.store_check(keys); }

int64_t HostStore::getNumKeys() { return api_.store_num_keys(); }

void HostStore::wait(const std::vector<std::string>& keys) { api_.store_wait(keys, timeout_); }

void HostStore::wait(const std::vector<std::string>& keys,
                     const std::chrono::milliseconds& timeout) {
  api_.store_wait(keys, timeout);
}

}  // namespace rtrain::engine
