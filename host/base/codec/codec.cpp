#include "host/base/codec/codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#define MSGPACK_NO_BOOST 1
#include <msgpack.hpp>

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain {
namespace {

// The packer's output.
struct Output {
  void write(const char* from, size_t size) { bytes.append(from, size); }
  std::string bytes;
};

class Packer : public msgpack::packer<Output> {
 public:
  explicit Packer(Output& out) : packer(out), out_(out) {}

  // msgpack's own function would pack an integral float as an integer, which changes its type for
  // the reader and fails for a loss beyond int64.
  void pack_float(double value) {
    const auto bits = std::bit_cast<uint64_t>(value);
    std::array<char, 9> bytes{'\xcb'};
    for (size_t i = 0; i < 8; ++i) bytes[1 + i] = static_cast<char>(bits >> (56 - 8 * i));
    out_.write(bytes.data(), bytes.size());
  }

 private:
  Output& out_;
};
constexpr size_t kMaxDepth = 64;
// Limits the memory reserved because of a header.
constexpr size_t kMaxReserved = 1024;

[[noreturn]] void bad_message(const std::string& what) { throw Error(Code::kArgument, what); }

void pack_string(Packer& packer, const std::string& text) {
  packer.pack_str(static_cast<uint32_t>(text.size()));
  packer.pack_str_body(text.data(), static_cast<uint32_t>(text.size()));
}

void pack(Packer& packer, const Value& value) {
  if (value.is_nil()) {
    packer.pack_nil();
  } else if (value.is_bool()) {
    packer.pack(value.as_bool());
  } else if (value.is_int()) {
    packer.pack(value.as_int());
  } else if (value.is_large()) {
    packer.pack(value.as_large());
  } else if (value.is_float()) {
    packer.pack_float(value.as_float());
  } else if (value.is_string()) {
    pack_string(packer, value.as_string());
  } else if (value.is_list()) {
    packer.pack_array(static_cast<uint32_t>(value.as_list().size()));
    for (const Value& item : value.as_list()) pack(packer, item);
  } else {
    packer.pack_map(static_cast<uint32_t>(value.as_map().size()));
    for (const auto& [key, item] : value.as_map()) {
      if (const auto* name = std::get_if<std::string>(&key)) {
        pack_string(packer, *name);
      } else {
        packer.pack(std::get<int64_t>(key));
      }
      pack(packer, item);
    }
  }
}

// Builds the value from msgpack's callbacks.
class ValueBuilder : public msgpack::null_visitor {
 public:
  // The value that was read.
  Value take() { return std::move(root_); }

  bool visit_nil() { return add({}); }
  bool visit_boolean(bool value) { return add(value); }
  bool visit_positive_integer(uint64_t value) { return add(Value::from_unsigned(value)); }
  bool visit_negative_integer(int64_t value) { return add(value); }
  bool visit_float32(float value) { return add(double{value}); }
  bool visit_float64(double value) { return add(value); }
  bool visit_str(const char* at, uint32_t size) { return add(std::string(at, size)); }
  bool visit_bin(const char* at, uint32_t size) { return add(std::string(at, size)); }
  bool visit_ext(const char*, uint32_t) {
    bad_message("a message holds a MessagePack extension type");
  }

  bool start_array(uint32_t size) {
    List list;
    list.reserve(std::min<size_t>(size, kMaxReserved));
    return open(std::move(list));
  }
  bool end_array() { return close(); }
  bool start_map(uint32_t) { return open(Map{}); }
  bool end_map() { return close(); }
  bool start_map_key() {
    open_.back().wants_key = true;
    return true;
  }

  [[noreturn]] void parse_error(size_t, size_t offset) {
    bad_message(cat("a message does not decode: byte ", offset, " begins no value"));
  }
  [[noreturn]] void insufficient_bytes(size_t, size_t offset) {
    bad_message(cat("a message does not decode: it ends after byte ", offset));
  }

 private:
  // An incomplete list or map.
  struct Open {
    Value value;
    Key key;  // key of the entry whose value is read next
    bool wants_key = false;
  };

  bool add(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Open& in = open_.back(); in.wants_key) {
      in.key = key_of(std::move(value));
      in.wants_key = false;
    } else if (in.value.is_list()) {
      in.value.as_list().push_back(std::move(value));
    } else {
      in.value.as_map().set(std::move(in.key), std::move(value));
    }
    return true;
  }

  bool open(Value value) {
    if (open_.size() == kMaxDepth) {
      bad_message(cat("a message does not decode: it is nested more than ", kMaxDepth, " deep"));
    }
    if (!open_.empty() && open_.back().wants_key) key_of(value);
    open_.push_back({.value = std::move(value), .key = {}});
    return true;
  }

  bool close() {
    Value value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }

  static Key key_of(Value value) {
    if (value.is_string()) return std::move(value.as_string());
    if (value.is_int()) return value.as_int();
    bad_message("a map key in a message is neither string nor integer");
  }

  Value root_;
  std::vector<Open> open_;
};

}  // namespace

std::string encode(const Value& value) {
  Output output;
  Packer packer(output);
  pack(packer, value);
  return std::move(output.bytes);
}

Value decode(std::string_view bytes) {
  ValueBuilder builder;
  size_t offset = 0;
  msgpack::parse(bytes.data(), bytes.size(), offset, builder);
  if (offset != bytes.size()) bad_message("a message has trailing bytes");
  return builder.take();
}

}  // namespace rtrain
