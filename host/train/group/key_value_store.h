// host/train/group/key_value_store.h: the key-value store of one attempt, through which ranks find
// each other.
//
// Pure: takes the messages `call` and `cancel` of the ranks and returns the answers that became
// due, the caller's own and those of ranks that waited for a key. Deadlines are the callers': they
// cancel. It ends with its attempt, so that nothing a dead attempt has written is ever seen.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/base/value.h"

namespace rtrain {

class KeyValueStore {
 public:
  struct Answer {
    int rank;
    int64_t id;
    Value value;
  };

  // set{key, value} and delete{key} change; add{key, delta} counts; check{keys} asks; get{key} and
  // wait{keys} are answered once all keys exist; num_keys; compare_set{key, expected, desired}.
  // `set` has no answer. Throws Error(kArgument) for a malformed call.
  std::vector<Answer> call(int rank, const Value& request);
  void cancel(int rank, int64_t id);

 private:
  struct Waiter {
    int rank;
    int64_t id;
    std::vector<std::string> keys;
    bool wants_value;
  };

  void put(const std::string& key, std::string value, std::vector<Answer>& answers);
  bool has_all(const std::vector<std::string>& keys) const;
  int64_t add(const std::string& key, int64_t delta, std::vector<Answer>& answers);
  Value compare_set(const Value& request, std::vector<Answer>& answers);

  std::unordered_map<std::string, std::string> values_;
  std::vector<Waiter> waiters_;
};

}  // namespace rtrain
