// host/loop/messages/store_calls.h: calls of the attempt's key-value store, from a worker to the
// controller (host/train/group/key_value_store.h).
//
// Plain data. All but StoreSet and Cancel are requests: message::Reply with their id answers them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/base/codec/record.h"

namespace rtrain::message {

// There is no reply.
struct StoreSet {
  static constexpr std::string_view kType = "store_set";
  std::string key;
  std::string value;

  static constexpr RecordFields kFields{required("key", &StoreSet::key),
                                        required("value", &StoreSet::value)};
};

// The reply is the value, once the key exists.
struct StoreGet {
  static constexpr std::string_view kType = "store_get";
  int64_t id = 0;
  std::string key;

  static constexpr RecordFields kFields{required("id", &StoreGet::id),
                                        required("key", &StoreGet::key)};
};

// The reply is the sum.
struct StoreAdd {
  static constexpr std::string_view kType = "store_add";
  int64_t id = 0;
  std::string key;
  int64_t delta = 0;

  static constexpr RecordFields kFields{required("id", &StoreAdd::id),
                                        required("key", &StoreAdd::key),
                                        required("delta", &StoreAdd::delta)};
};

// The reply is whether all keys exist.
struct StoreCheck {
  static constexpr std::string_view kType = "store_check";
  int64_t id = 0;
  std::vector<std::string> keys;

  static constexpr RecordFields kFields{required("id", &StoreCheck::id),
                                        required("keys", &StoreCheck::keys)};
};

// The reply comes once all keys exist.
struct StoreWait {
  static constexpr std::string_view kType = "store_wait";
  int64_t id = 0;
  std::vector<std::string> keys;

  static constexpr RecordFields kFields{required("id", &StoreWait::id),
                                        required("keys", &StoreWait::keys)};
};

// The reply is whether the key existed.
struct StoreDelete {
  static constexpr std::string_view kType = "store_delete";
  int64_t id = 0;
  std::string key;

  static constexpr RecordFields kFields{required("id", &StoreDelete::id),
                                        required("key", &StoreDelete::key)};
};

// The reply is a number.
struct StoreNumKeys {
  static constexpr std::string_view kType = "store_num_keys";
  int64_t id = 0;

  static constexpr RecordFields kFields{required("id", &StoreNumKeys::id)};
};

// The reply is the value after the call.
struct StoreCompareSet {
  static constexpr std::string_view kType = "store_compare_set";
  int64_t id = 0;
  std::string key;
  std::string expected;
  std::string desired;

  static constexpr RecordFields kFields{required("id", &StoreCompareSet::id),
                                        required("key", &StoreCompareSet::key),
                                        required("expected", &StoreCompareSet::expected),
                                        required("desired", &StoreCompareSet::desired)};
};

// The caller of that StoreGet or StoreWait has stopped waiting.
struct Cancel {
  static constexpr std::string_view kType = "cancel";
  int64_t id = 0;

  static constexpr RecordFields kFields{required("id", &Cancel::id)};
};

}  // namespace rtrain::message
