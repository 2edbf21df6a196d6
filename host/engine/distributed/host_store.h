// host/engine/distributed/host_store.h: a worker's c10d::Store: the key-value store that the
// controller keeps for the attempt.
//
// Any thread may wait in it. A wait throws Error(kTimeout) at its deadline and Error(kPeerLost)
// once the channel to the controller is closed. After that set and deleteKey do nothing, because
// LibTorch's destructors call them.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "host/api/host_api.h"

namespace rtrain::engine {

class HostStore final : public c10d::Store {
 public:
  // REQUIRES: `api` has the store functions and outlives the store.
  HostStore(const api::HostApi& api, std::chrono::milliseconds timeout)
      : Store(timeout), api_(api) {}

  using c10d::Store::set;
  c10::intrusive_ptr<c10d::Store> clone() override;
  void set(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<uint8_t> compareSet(const std::string& key, const std::vector<uint8_t>& expected,
                                  const std::vector<uint8_t>& desired) override;
  std::vector<uint8_t> get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t delta) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override;

 private:
  const api::HostApi& api_;
};

}  // namespace rtrain::engine
