#include "host/worker/store_client.h"

#include <span>

#include "host/base/text/text.h"
#include "host/worker/worker_process.h"

namespace rtrain::worker {
namespace {

using Milliseconds = std::chrono::milliseconds;

WorkerProcess& worker() {
  if (auto* current = WorkerProcess::current()) return *current;
  throw Error(Code::kArgument, "the processes' store is there in the train function only");
}

std::string quoted(std::span<const std::string> keys) { return cat("'", join(keys, "', '"), "'"); }

void set(const std::string& key, const std::string& value) {
  worker().tell(message::StoreSet{.key = key, .value = value});
}

std::string get(const std::string& key, Milliseconds timeout) {
  return worker().wait_store(message::StoreGet{.key = key}, timeout, quoted({&key, 1})).as_string();
}

int64_t add(const std::string& key, int64_t delta) {
  return worker().call_store(message::StoreAdd{.key = key, .delta = delta}).as_int();
}

bool check(const std::vector<std::string>& keys) {
  return worker().call_store(message::StoreCheck{.keys = keys}).as_bool();
}

void wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  worker().wait_store(message::StoreWait{.keys = keys}, timeout, quoted(keys));
}

// Destructors call it, also after the channel has closed: then the keys need not be deleted.
bool remove(const std::string& key) {
  try {
    return worker().call_store(message::StoreDelete{.key = key}).as_bool();
  } catch (const Error& e) {
    if (e.code() != Code::kPeerLost) throw;
    return false;
  }
}

int64_t num_keys() { return worker().call_store(message::StoreNumKeys{}).as_int(); }

std::string compare_set(const std::string& key, const std::string& expected,
                        const std::string& desired) {
  return worker()
      .call_store(message::StoreCompareSet{.key = key, .expected = expected, .desired = desired})
      .as_string();
}

}  // namespace

void add_store_functions(api::HostApi& api) {
  api.has_store = [] { return WorkerProcess::current() != nullptr; };
  api.store_set = &set;
  api.store_get = &get;
  api.store_add = &add;
  api.store_check = &check;
  api.store_wait = &wait;
  api.store_delete = &remove;
  api.store_num_keys = &num_keys;
  api.store_compare_set = &compare_set;
}

}  // namespace rtrain::worker
