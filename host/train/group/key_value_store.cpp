#include "host/train/group/key_value_store.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::train {
namespace {

std::vector<KeyValueStore::Answer> one(int rank, int64_t id, Value value) {
  std::vector<KeyValueStore::Answer> out;
  out.push_back({rank, id, std::move(value)});
  return out;
}

}  // namespace

std::vector<KeyValueStore::Answer> KeyValueStore::call(int, message::StoreSet set) {
  std::vector<Answer> answers;
  put(set.key, std::move(set.value), answers);
  return answers;
}

std::vector<KeyValueStore::Answer> KeyValueStore::call(int rank, message::StoreGet get) {
  return wait({rank, get.id, {std::move(get.key)}, true});
}

std::vector<KeyValueStore::Answer> KeyValueStore::call(int rank, message::StoreWait wanted) {
  return wait({rank, wanted.id, std::move(wanted.keys), false});
}

std::vector<KeyValueStore::Answer> KeyValueStore::wait(Waiter waiter) {
  if (has_all(waiter.keys)) return one(waiter.rank, waiter.id, answer_to(waiter));
  waiters_.push_back(std::move(waiter));
  return {};
}

// Counters are stored as decimal text, as in every c10d store: get() of a counter returns its
// digits.
std::vector<KeyValueStore::Answer> KeyValueStore::call(int rank, const message::StoreAdd& add) {
  int64_t sum = 0;
  if (const auto found = values_.find(add.key); found != values_.end()) {
    const std::string& text = found->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sum);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw Error(Code::kArgument, cat("Store key '", add.key, "' holds no number"));
    }
  }
  sum += add.delta;
  std::vector<Answer> answers;
  put(add.key, std::to_string(sum), answers);
  Answer& answer = answers.emplace_back();
  answer.rank = rank;
  answer.id = add.id;
  answer.value = sum;
  return answers;
}

std::vector<KeyValueStore::Answer> KeyValueStore::call(int rank, const message::StoreCheck& check) {
  return one(rank, check.id, has_all(check.keys));
}

std::vector<KeyValueStore::Answer> KeyValueStore::call(int rank, const message::StoreDelete& del) {
  return one(rank, del.id, values_.erase(del.key) > 0);
}

std::vector<KeyValueStore::Answer> KeyValueStore::call(int rank,
                                                       const message::StoreNumKeys& asked) {
  return one(rank, asked.id, values_.size());
}

// compare_set: a missing key is set if the expected value is empty. The answer is the key's value
// after the call.
std::vector<KeyValueStore::Answer> KeyValueStore::call(int rank,
                                                       const message::StoreCompareSet& call) {
  const auto found = values_.find(call.key);
  const bool is_there = found != values_.end();
  if (is_there ? found->second == call.expected : call.expected.empty()) {
    std::vector<Answer> answers;
    put(call.key, call.desired, answers);
    answers.push_back({rank, call.id, call.desired});
    return answers;
  }
  return one(rank, call.id, is_there ? found->second : call.expected);
}

void KeyValueStore::cancel(int rank, int64_t id) {
  std::erase_if(waiters_, [&](const Waiter& w) { return w.rank == rank && w.id == id; });
}

Value KeyValueStore::answer_to(const Waiter& waiter) const {
  return waiter.wants_value ? Value(values_.at(waiter.keys[0])) : Value(true);
}

void KeyValueStore::put(const std::string& key, std::string value, std::vector<Answer>& answers) {
  values_[key] = std::move(value);
  const auto is_due = [&](const Waiter& w) {
    const bool wants = std::find(w.keys.begin(), w.keys.end(), key) != w.keys.end();
    return wants && has_all(w.keys);
  };
  for (const Waiter& w : waiters_) {
    if (!is_due(w)) continue;
    answers.push_back({w.rank, w.id, answer_to(w)});
  }
  std::erase_if(waiters_, is_due);
}

bool KeyValueStore::has_all(const std::vector<std::string>& keys) const {
  return std::all_of(keys.begin(), keys.end(),
                     [&](const auto& key) { return values_.contains(key); });
}

}  // namespace rtrain::train
