#include "host/engine/pickle_reader.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "host/base/error.h"
#include "host/base/text.h"
#include "host/engine/pickle_checks.h"
#include "host/engine/pickle_format.h"

namespace rtrain {
namespace {

// How many bytes of strings BINGET may copy: a small file must not unfold into a huge value.
constexpr size_t kMaxCopiedBytes = size_t{64} << 20;

struct Mark {};
struct Global {
  std::string name;  // "torch._utils._rebuild_tensor_v2"
};
struct StorageRef {
  c10::Storage storage;
  c10::ScalarType type;
  int64_t numel;
};
struct Tuple;
using Item = std::variant<Tree, Mark, Global, StorageRef, std::shared_ptr<Tuple>>;
struct Tuple {
  std::vector<Item> items;
  int depth = 1;
};

const TypeName* type_of(std::string_view name, std::string_view TypeName::*field) {
  if (!name.starts_with("torch.")) return nullptr;
  for (const TypeName& type : kTypeNames) {
    if (type.*field == name.substr(6)) return &type;
  }
  return nullptr;
}

bool is_known(std::string_view name) {
  static constexpr std::string_view kCallable[] = {"collections.OrderedDict",
                                                   "torch._utils._rebuild_tensor_v2",
                                                   "torch._utils._rebuild_parameter",
                                                   "torch.Size",
                                                   "torch.device",
                                                   "_codecs.encode"};
  return std::ranges::find(kCallable, name) != std::end(kCallable) ||
         type_of(name, &TypeName::storage) != nullptr || type_of(name, &TypeName::dtype) != nullptr;
}

// UTF-8 text of characters below 256 as bytes of these numbers.
std::string latin1_bytes(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      out.push_back(text[i]);
    } else if ((lead == 0xc2 || lead == 0xc3) && i + 1 < text.size()) {
      out.push_back(static_cast<char>(lead << 6 | (static_cast<unsigned char>(text[++i]) & 0x3f)));
    } else {
      malformed("_codecs.encode of text that is not latin1");
    }
  }
  return out;
}

class Unpickler {
 public:
  Unpickler(std::string_view bytes, const StorageLoader& load) : bytes_(bytes), load_(load) {}

  // Emptied one by one, so that neither a cycle leaks nor a deep chain destroys itself recursively.
  ~Unpickler() {
    if (finished_) return;
    for (auto& list : lists_) list->items.clear();
    for (auto& map : maps_) map->entries.clear();
  }

  Tree run() {
    while (!finished_) step(static_cast<Opcode>(byte()));
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
        return push(Tree(long_integer(byte())));
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
        return push(Tree(lists_.emplace_back(std::make_shared<TreeList>())));
      case Opcode::kEmptyDict:
        return push(Tree(new_map(false)));
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
        malformed(cat("opcode ", static_cast<int>(code), " at byte ", at_ - 1,
                      " is not among those that torch.save writes"));
    }
  }

  static void protocol(int version) {
    if (version != 2) {
      malformed(cat("protocol ", version, "; only 2, torch.save's default, is read"));
    }
  }

  void stop() {
    result_ = to_tree(pop());
    if (!stack_.empty()) malformed("values are left over at its end");
    check_nesting(result_);
    for (const auto& map : maps_) remove_duplicates(*map);
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

  void append(std::vector<Item> items) {
    const auto list = top<std::shared_ptr<TreeList>>("a list");
    for (Item& item : items) list->items.push_back(to_tree(std::move(item)));
  }

  void set_items(std::vector<Item> items) {
    const auto map = top<std::shared_ptr<TreeMap>>("a dict");
    if (items.size() % 2 != 0) malformed("a dict key without its value");
    for (size_t i = 0; i < items.size(); i += 2) {
      const Tree key = to_tree(std::move(items[i]));
      if (const auto* name = std::get_if<std::string>(&key)) {
        map->entries.emplace_back(*name, to_tree(std::move(items[i + 1])));
      } else if (const auto* number = std::get_if<int64_t>(&key)) {
        map->entries.emplace_back(*number, to_tree(std::move(items[i + 1])));
      } else {
        malformed("a dict key that is neither a string nor an integer is not supported");
      }
    }
  }

  std::shared_ptr<TreeMap> new_map(bool ordered) {
    maps_.push_back(std::make_shared<TreeMap>());
    maps_.back()->ordered = ordered;
    return maps_.back();
  }

  // What may stand in a container: a value, a tuple as a list, a dtype as its name.
  Tree to_tree(Item item) {
    if (auto* tree = std::get_if<Tree>(&item)) return std::move(*tree);
    if (const auto* name = std::get_if<Global>(&item)) {
      const TypeName* type = type_of(name->name, &TypeName::dtype);
      if (type == nullptr) malformed(cat("the name ", name->name, " where a value should be"));
      return std::string(type->dtype);
    }
    const auto* tuple = std::get_if<std::shared_ptr<Tuple>>(&item);
    if (tuple == nullptr) malformed("a bare storage or mark where a value should be");
    auto list = lists_.emplace_back(std::make_shared<TreeList>());
    for (const Item& inner : (*tuple)->items) list->items.push_back(to_tree(inner));
    return list;
  }

  int64_t long_integer(size_t size) {
    if (size > 8) malformed("an integer beyond 64 bits is not supported");
    const std::string_view digits = take(size);
    uint64_t out = 0;
    for (size_t i = 0; i < size; ++i) out |= uint64_t{static_cast<uint8_t>(digits[i])} << (8 * i);
    const bool negative = size > 0 && (static_cast<uint8_t>(digits[size - 1]) & 0x80) != 0;
    if (negative && size < 8) out |= ~uint64_t{0} << (8 * size);
    return static_cast<int64_t>(out);
  }

  void put(uint32_t number) {
    if (stack_.empty()) malformed("its stack is empty");
    memo_[number] = stack_.back();
  }

  void get(uint32_t number) {
    const auto found = memo_.find(number);
    if (found == memo_.end()) malformed(cat("memo entry ", number, " does not exist"));
    if (const auto* tree = std::get_if<Tree>(&found->second)) {
      const auto* text = std::get_if<std::string>(tree);
      copied_ += text == nullptr ? 0 : text->size();
      if (copied_ > kMaxCopiedBytes + bytes_.size()) malformed("it repeats too much text");
    }
    push(found->second);
  }

  void global() {
    const std::string_view module = line();
    const std::string name = cat(module, ".", line());
    if (!is_known(name)) {
      throw Error(Code::kArgument,
                  cat("it refers to the Python name ", name,
                      ", which is refused: only tensors and plain values are loaded. Save a state "
                      "dict instead of whole objects"));
    }
    push(Item(Global{name}));
  }

  void storage() {
    const std::vector<Item> id = args(pop());
    if (id.size() != 5 || text(id[0]) != "storage") malformed("an unknown kind of persistent id");
    const auto* name = std::get_if<Global>(&id[1]);
    const TypeName* type = name == nullptr ? nullptr : type_of(name->name, &TypeName::storage);
    if (type == nullptr) malformed("a storage without a type");
    const StorageRequest request{text(id[2]), type->type, integer(id[4]), text(id[3])};
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

  static std::vector<Item> args(const Item& item) {
    const auto* tuple = std::get_if<std::shared_ptr<Tuple>>(&item);
    if (tuple == nullptr) malformed("arguments are missing");
    return (*tuple)->items;
  }

  template <class T>
  static const T& value(const Item& item, std::string_view wanted) {
    const Tree* tree = std::get_if<Tree>(&item);
    const T* out = tree == nullptr ? nullptr : std::get_if<T>(tree);
    if (out == nullptr) malformed(cat(wanted, " is missing"));
    return *out;
  }
  static const std::string& text(const Item& item) { return value<std::string>(item, "a string"); }
  static int64_t integer(const Item& item) { return value<int64_t>(item, "an integer"); }
  static std::vector<int64_t> integers(const Item& item) {
    std::vector<int64_t> out;
    for (const Item& inner : args(item)) out.push_back(integer(inner));
    return out;
  }

  void reduce() {
    const std::vector<Item> given = args(pop());
    const Item callee = pop();
    const auto* function = std::get_if<Global>(&callee);
    if (function == nullptr) malformed("a call of something that is no name");
    push(call(function->name, given));
  }

  Item call(const std::string& name, const std::vector<Item>& given) {
    const auto need = [&](size_t least, size_t most) {
      if (given.size() < least || given.size() > most) malformed(cat("the arguments of ", name));
    };
    if (name == "collections.OrderedDict") {
      need(0, 0);
      return Tree(new_map(true));
    }
    if (name == "torch._utils._rebuild_tensor_v2") {
      need(6, 7);
      return Tree(rebuild_tensor(given));
    }
    if (name == "torch._utils._rebuild_parameter") {
      need(3, 3);
      const auto& data = value<at::Tensor>(given[0], "a tensor");
      return Tree(data.detach().requires_grad_(value<bool>(given[1], "a boolean")));
    }
    if (name == "torch.Size") {
      need(1, 1);
      return to_tree(given[0]);
    }
    if (name == "torch.device") {
      need(1, 2);
      return Tree(given.size() == 1 ? text(given[0]) : cat(text(given[0]), ":", integer(given[1])));
    }
    if (name == "_codecs.encode") {
      need(2, 2);
      if (text(given[1]) != "latin1") malformed("_codecs.encode of another encoding than latin1");
      return Tree(latin1_bytes(text(given[0])));
    }
    malformed(cat(name, " is not a function"));
  }

  static at::Tensor rebuild_tensor(const std::vector<Item>& given) {
    const auto* storage = std::get_if<StorageRef>(&given[0]);
    if (storage == nullptr) malformed("a tensor without a storage");
    const int64_t offset = integer(given[1]);
    const std::vector<int64_t> sizes = integers(given[2]);
    const std::vector<int64_t> strides = integers(given[3]);
    check_extent(storage->numel, offset, sizes, strides);
    at::Tensor out =
        at::empty({0}, at::TensorOptions().dtype(storage->type).device(storage->storage.device()));
    out.set_(storage->storage, offset, sizes, strides);
    const bool requires_grad = value<bool>(given[4], "a boolean");
    return requires_grad ? out.requires_grad_(true) : out;
  }

  // That the last element lies inside the storage, without overflow on the way.
  static void check_extent(int64_t numel, int64_t offset, const std::vector<int64_t>& sizes,
                           const std::vector<int64_t>& strides) {
    if (offset < 0 || sizes.size() != strides.size()) malformed("a tensor's shape");
    bool empty = false;
    int64_t last = offset;
    for (size_t i = 0; i < sizes.size(); ++i) {
      int64_t step = 0;
      if (sizes[i] < 0 || strides[i] < 0) malformed("a tensor's shape");
      empty |= sizes[i] == 0;
      if (sizes[i] == 0) continue;
      if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &step) ||
          __builtin_add_overflow(last, step, &last)) {
        malformed("a tensor's shape");
      }
    }
    if (!empty && last >= numel) malformed("a tensor reaches outside its storage");
  }

  void build() {
    pop();
    top<std::shared_ptr<TreeMap>>("an OrderedDict");
  }

  std::string_view bytes_;
  const StorageLoader& load_;
  size_t at_ = 0;
  size_t copied_ = 0;
  bool finished_ = false;
  Tree result_;
  std::vector<Item> stack_;
  std::unordered_map<uint32_t, Item> memo_;
  std::unordered_map<std::string, StorageRef> storages_;
  std::vector<std::shared_ptr<TreeList>> lists_;
  std::vector<std::shared_ptr<TreeMap>> maps_;
};

}  // namespace

Tree unpickle(std::string_view bytes, const StorageLoader& load) {
  return Unpickler(bytes, load).run();
}

}  // namespace rtrain
