#include "host/train/group/key_value_store.h"

#include <algorithm>
#include <charconv>

#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

std::vector<std::string> texts(const Value& list) {
  std::vector<std::string> out;
  for (const Value& item : list.as_list()) out.push_back(item.as_string());
  return out;
}

}  // namespace

std::vector<KeyValueStore::Answer> KeyValueStore::call(int rank, const Value& request) {
  const std::string& op = request["op"].as_string();
  const int64_t id = request["id"].int_or(0);
  std::vector<Answer> answers;
  const auto answer = [&](Value value) { answers.push_back({rank, id, std::move(value)}); };
  if (op == "set") {
    put(request["key"].as_string(), request["value"].as_string(), answers);
  } else if (op == "get" || op == "wait") {
    Waiter waiter{rank, id, {}, op == "get"};
    waiter.keys = op == "get" ? std::vector{request["key"].as_string()} : texts(request["keys"]);
    if (has_all(waiter.keys)) {
      answer(waiter.wants_value ? Value(values_[waiter.keys[0]]) : Value(true));
    } else {
      waiters_.push_back(std::move(waiter));
    }
  } else if (op == "add") {
    const int64_t sum = add(request["key"].as_string(), request["delta"].as_int(), answers);
    answer(sum);
  } else if (op == "check") {
    answer(has_all(texts(request["keys"])));
  } else if (op == "delete") {
    answer(values_.erase(request["key"].as_string()) > 0);
  } else if (op == "num_keys") {
    answer(values_.size());
  } else if (op == "compare_set") {
    answer(compare_set(request, answers));
  } else {
    throw Error(Code::kArgument, cat("unknown Store call '", op, "'"));
  }
  return answers;
}

void KeyValueStore::cancel(int rank, int64_t id) {
  std::erase_if(waiters_, [&](const Waiter& w) { return w.rank == rank && w.id == id; });
}

void KeyValueStore::put(const std::string& key, std::string value, std::vector<Answer>& answers) {
  values_[key] = std::move(value);
  const auto is_due = [&](const Waiter& w) {
    const bool wants = std::find(w.keys.begin(), w.keys.end(), key) != w.keys.end();
    return wants && has_all(w.keys);
  };
  for (const Waiter& w : waiters_) {
    if (!is_due(w)) continue;
    answers.push_back({w.rank, w.id, w.wants_value ? Value(values_[w.keys[0]]) : Value(true)});
  }
  std::erase_if(waiters_, is_due);
}

bool KeyValueStore::has_all(const std::vector<std::string>& keys) const {
  return std::all_of(keys.begin(), keys.end(),
                     [&](const auto& key) { return values_.contains(key); });
}

// Counters are kept as decimal text, as every c10d store keeps them: get() of one gives its digits.
int64_t KeyValueStore::add(const std::string& key, int64_t delta, std::vector<Answer>& answers) {
  int64_t sum = 0;
  if (const auto found = values_.find(key); found != values_.end()) {
    const std::string& text = found->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sum);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw Error(Code::kArgument, cat("Store key '", key, "' holds no number"));
    }
  }
  sum += delta;
  put(key, std::to_string(sum), answers);
  return sum;
}

// A missing key is set when nothing was expected; the answer is what the key holds after the call.
Value KeyValueStore::compare_set(const Value& request, std::vector<Answer>& answers) {
  const std::string& key = request["key"].as_string();
  const std::string& expected = request["expected"].as_string();
  const std::string& desired = request["desired"].as_string();
  const auto found = values_.find(key);
  const bool matches = found == values_.end() ? expected.empty() : found->second == expected;
  if (matches) {
    put(key, desired, answers);
    return desired;
  }
  return found == values_.end() ? expected : found->second;
}

}  // namespace rtrain
