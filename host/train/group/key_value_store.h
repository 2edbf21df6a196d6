// host/train/group/key_value_store.h: the key-value store of one attempt, with which ranks find
// each other.
//
// Pure: takes the ranks' calls and returns the answers that are due: the caller's own and those of
// ranks that waited for a key. The callers have the deadlines, and cancel. It ends with its
// attempt, so keys of an earlier attempt are never visible.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/base/value.h"
#include "host/loop/messages/store_calls.h"

namespace rtrain::train {

class KeyValueStore {
 public:
  struct Answer {
    int rank;
    int64_t id;
    Value value;
  };

  // The messages document the answers. StoreAdd throws Error(kArgument) for a key whose value is
  // not a number.
  std::vector<Answer> call(int rank, message::StoreSet set);
  std::vector<Answer> call(int rank, message::StoreGet get);
  std::vector<Answer> call(int rank, message::StoreWait wanted);
  std::vector<Answer> call(int rank, const message::StoreAdd& add);
  std::vector<Answer> call(int rank, const message::StoreCheck& check);
  std::vector<Answer> call(int rank, const message::StoreDelete& del);
  std::vector<Answer> call(int rank, const message::StoreNumKeys& asked);
  std::vector<Answer> call(int rank, const message::StoreCompareSet& call);
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
  std::vector<Answer> wait(Waiter waiter);
  Value answer_to(const Waiter& waiter) const;

  std::unordered_map<std::string, std::string> values_;
  std::vector<Waiter> waiters_;
};

}  // namespace rtrain::train
