#include "host/engine/files/pickle_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "host/base/error.h"
#include "host/base/text/text.h"
#include "host/engine/files/pickle_calls.h"
#include "host/engine/files/pickle_format.h"

namespace rtrain::engine {
namespace {

// Limit for the bytes of copies through the memo and of calls, beyond reading and returning each
// string once: a small file must not expand to a huge value.
constexpr size_t kMaxMadeBytes = size_t{64} << 20;

constexpr size_t kMaxNameBytes = 200;
constexpr int64_t kMaxKey = int64_t{1} << 53;

class Unpickler {
 public:
  Unpickler(std::string_view bytes, const StorageLoader& load) : bytes_(bytes), load_(load) {}

  Tree run() {
    try {
      while (!finished_) step(static_cast<Opcode>(byte()));
    } catch (const MalformedPickle& error) {
      throw Error(error.code(), cat(error.message(), " (before byte ", at_, " of its pickle)"));
    }
    return std::move(result_);
  }

 private:
  uint8_t byte() { return static_cast<uint8_t>(take(1)[0]); }

  std::string_view take(size_t size) {
    if (bytes_.size() - at_ < size) malformed("it ends too early");
    const std::string_view out = bytes_.substr(at_, size);
    at_ += size;
    return out;
  }

  template <class T>
  T raw() {
    T out;
    std::memcpy(&out, take(sizeof(T)).data(), sizeof(T));
    return out;
  }

  std::string_view line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) malformed("it ends too early");
    if (end - at_ > kMaxNameBytes) malformed("a Python name of more than 200 bytes");
    const std::string_view out = take(end - at_);
    ++at_;
    return out;
  }

  void step(Opcode code) {
    switch (code) {
      case Opcode::kProto:
        return protocol(byte());
      case Opcode::kStop:
        return stop();
      case Opcode::kMark:
        return push(Item(Mark{}));
      case Opcode::kPop:
        pop();
        return;
      case Opcode::kNone:
        return push(Tree());
      case Opcode::kNewTrue:
        return push(Tree(true));
      case Opcode::kNewFalse:
        return push(Tree(false));
      case Opcode::kBinInt:
        return push(Tree(int64_t{raw<int32_t>()}));
      case Opcode::kBinInt1:
        return push(Tree(int64_t{byte()}));
      case Opcode::kBinInt2:
        return push(Tree(int64_t{raw<uint16_t>()}));
      case Opcode::kLong1:
        return push(long_integer(byte()));
      case Opcode::kBinFloat:
        return push(Tree(std::bit_cast<double>(__builtin_bswap64(raw<uint64_t>()))));
      case Opcode::kBinUnicode:
        return push(Tree(std::string(take(raw<uint32_t>()))));
      case Opcode::kShortBinString:
        return push(Tree(std::string(take(byte()))));
      case Opcode::kGlobal:
        return global();
      case Opcode::kBinPersId:
        return storage();
      case Opcode::kReduce:
        return reduce();
      case Opcode::kBuild:
        return build();
      default:
        return step_container(code);
    }
  }

  void step_container(Opcode code) {
    switch (code) {
      case Opcode::kEmptyList:
        return push(Tree(nodes_.list()));
      case Opcode::kEmptyDict:
        return push(Tree(nodes_.map(false)));
      case Opcode::kEmptyTuple:
        return push_tuple({});
      case Opcode::kTuple:
        return push_tuple(pop_to_mark());
      case Opcode::kTuple1:
        return push_tuple(pop_some(1));
      case Opcode::kTuple2:
        return push_tuple(pop_some(2));
      case Opcode::kTuple3:
        return push_tuple(pop_some(3));
      case Opcode::kAppend:
        return append(pop_some(1));
      case Opcode::kAppends:
        return append(pop_to_mark());
      case Opcode::kSetItem:
        return set_items(pop_some(2));
      case Opcode::kSetItems:
        return set_items(pop_to_mark());
      case Opcode::kBinPut:
        return put(byte());
      case Opcode::kLongBinPut:
        return put(raw<uint32_t>());
      case Opcode::kBinGet:
        return get(byte());
      case Opcode::kLongBinGet:
        return get(raw<uint32_t>());
      default:
        malformed(
            cat("opcode ", static_cast<int>(code), " is not among those that torch.save writes"));
    }
  }

  static void protocol(int version) {
    if (version != 2) {
      malformed(cat("protocol ", version, "; only 2, torch.save's default, is read"));
    }
  }

  void stop() {
    result_ = to_tree(pop(), nodes_);
    if (!stack_.empty()) malformed("values are left over at its end");
    nodes_.keep(check_nesting(result_));
    finished_ = true;
  }

  void push(Item item) { stack_.push_back(std::move(item)); }
  void push(Tree tree) { stack_.emplace_back(std::move(tree)); }

  Item pop() {
    if (stack_.empty()) malformed("its stack is empty");
    Item out = std::move(stack_.back());
    stack_.pop_back();
    return out;
  }

  std::vector<Item> pop_some(size_t count) {
    if (stack_.size() < count) malformed("its stack is empty");
    std::vector<Item> out(std::make_move_iterator(stack_.end() - static_cast<ptrdiff_t>(count)),
                          std::make_move_iterator(stack_.end()));
    stack_.resize(stack_.size() - count);
    return out;
  }

  std::vector<Item> pop_to_mark() {
    const auto mark = std::find_if(stack_.rbegin(), stack_.rend(), [](const Item& item) {
      return std::holds_alternative<Mark>(item);
    });
    if (mark == stack_.rend()) malformed("a mark is missing");
    std::vector<Item> out = pop_some(static_cast<size_t>(mark - stack_.rbegin()));
    stack_.pop_back();
    return out;
  }

  void push_tuple(std::vector<Item> items) {
    auto tuple = std::make_shared<Tuple>();
    for (const Item& item : items) {
      if (const auto* inner = std::get_if<std::shared_ptr<Tuple>>(&item)) {
        tuple->depth = std::max(tuple->depth, (*inner)->depth + 1);
      }
    }
    if (tuple->depth > kMaxPickleDepth) malformed("nested too deeply");
    tuple->items = std::move(items);
    push(Item(std::move(tuple)));
  }

  template <class T>
  const T& top(std::string_view wanted) {
    const Tree* tree = stack_.empty() ? nullptr : std::get_if<Tree>(&stack_.back());
    const T* value = tree == nullptr ? nullptr : std::get_if<T>(tree);
    if (value == nullptr) malformed(cat(wanted, " is missing on its stack"));
    return *value;
  }

  void append(const std::vector<Item>& items) {
    const auto list = top<std::shared_ptr<TreeList>>("a list");
    for (const Item& item : items) list->items.push_back(to_tree(item, nodes_));
  }

  void set_items(const std::vector<Item>& items) {
    const auto map = top<std::shared_ptr<TreeMap>>("a dict");
    if (items.size() % 2 != 0) malformed("a dict key without its value");
    for (size_t i = 0; i < items.size(); i += 2) {
      const Tree key = to_tree(items[i], nodes_);
      if (const auto* name = std::get_if<std::string>(&key)) {
        map->entries.emplace_back(*name, to_tree(items[i + 1], nodes_));
      } else if (const auto* number = std::get_if<int64_t>(&key)) {
        if (*number < -kMaxKey || *number > kMaxKey) {
          malformed("a dict key beyond 2^53, where Lua has no number for it");
        }
        map->entries.emplace_back(*number, to_tree(items[i + 1], nodes_));
      } else {
        malformed("a dict key that is neither a string nor an integer is not supported");
      }
    }
  }

  // Two's complement, little-endian.
  Tree long_integer(size_t size) {
    std::string_view digits = take(size);
    // Python adds a ninth zero byte to keep values beyond int64 positive.
    const bool is_unsigned = size == 9 && digits[8] == 0 && (digits[7] & 0x80) != 0;
    if (size > 8 && !is_unsigned) malformed("an integer beyond 64 bits is not supported");
    digits = digits.substr(0, 8);
    uint64_t out = 0;
    for (size_t i = 0; i < digits.size(); ++i) {
      out |= uint64_t{static_cast<uint8_t>(digits[i])} << (8 * i);
    }
    if (is_unsigned) return out;
    const bool negative = size > 0 && (static_cast<uint8_t>(digits[size - 1]) & 0x80) != 0;
    if (negative && size < 8) out |= ~uint64_t{0} << (8 * size);
    return static_cast<int64_t>(out);
  }

  void put(uint32_t number) {
    if (stack_.empty()) malformed("its stack is empty");
    count(text_bytes(stack_.back()));
    // Every pickler numbers its entries in order, so a list is enough, and its size never depends
    // on a number in the file.
    if (number > memo_.size()) malformed(cat("memo entry ", number, " comes too early"));
    if (number == memo_.size()) memo_.emplace_back();
    memo_[number] = stack_.back();
  }

  void get(uint32_t number) {
    if (number >= memo_.size()) malformed(cat("memo entry ", number, " does not exist"));
    count(text_bytes(memo_[number]));
    push(memo_[number]);
  }

  static size_t text_bytes(const Item& item) {
    const Tree* tree = std::get_if<Tree>(&item);
    const auto* text = tree == nullptr ? nullptr : std::get_if<std::string>(tree);
    return text == nullptr ? 0 : text->size();
  }

  void count(size_t bytes) {
    made_ += bytes;
    if (made_ > kMaxMadeBytes + 2 * bytes_.size()) malformed("it repeats too much text");
  }

  void global() {
    const std::string_view module = line();
    const std::string name = cat(module, ".", line());
    check_known(name);
    push(Item(Global{name}));
  }

  void storage() {
    const Item given = pop();
    const std::vector<Item>& id = items_of(given);
    if (id.size() != 5 || text_of(id[0]) != "storage") {
      malformed("an unknown kind of persistent id");
    }
    const c10::ScalarType type = storage_type(id[1]);
    const StorageRequest request{text_of(id[2]), type, integer_of(id[4]), text_of(id[3])};
    if (std::max(request.key.size(), request.location.size()) > kMaxNameBytes) {
      malformed("a storage whose name or device has more than 200 bytes");
    }
    const auto [entry, fresh] = storages_.try_emplace(request.key);
    if (fresh) {
      if (request.numel < 0 || request.numel > INT64_MAX / 16) malformed("a storage's size");
      entry->second = {load_(request), request.type, request.numel};
    }
    if (entry->second.type != request.type || entry->second.numel != request.numel) {
      malformed(cat("storage ", request.key, " is described in two ways"));
    }
    push(Item(entry->second));
  }

  void reduce() {
    const Item given = pop();
    const Item callee = pop();
    const auto* function = std::get_if<Global>(&callee);
    if (function == nullptr) malformed("a call of something that is not a name");
    // The result may contain a copy of strings from a tuple in the memo.
    push(call_name(function->name, items_of(given), nodes_));
    count(text_bytes(stack_.back()));
  }

  void build() {
    pop();
    top<std::shared_ptr<TreeMap>>("an OrderedDict");
  }

  std::string_view bytes_;
  const StorageLoader& load_;
  size_t at_ = 0;
  size_t made_ = 0;
  bool finished_ = false;
  PickleNodes nodes_;
  Tree result_;
  std::vector<Item> stack_;
  std::vector<Item> memo_;
  std::map<std::string, StorageRef> storages_;
};

}  // namespace

Tree unpickle(std::string_view bytes, const StorageLoader& load) {
  return Unpickler(bytes, load).run();
}

}  // namespace rtrain::engine
