#include "host/base/codec.h"

#define MSGPACK_NO_BOOST 1
#include <msgpack.hpp>

#include "host/base/error.h"
#include "host/base/text.h"

namespace rtrain {
namespace {

using Packer = msgpack::packer<msgpack::sbuffer>;
constexpr size_t kMaxDepth = 64;

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
  } else if (value.is_float()) {
    packer.pack(value.as_float());
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

int64_t checked_int(uint64_t number) {
  if (number > INT64_MAX) throw Error(Code::kArgument, "integer above 2^63-1 in message");
  return static_cast<int64_t>(number);
}

Value unpack(const msgpack::object& object);

Key unpack_key(const msgpack::object& object) {
  if (object.type == msgpack::type::STR)
    return std::string(object.via.str.ptr, object.via.str.size);
  if (object.type == msgpack::type::POSITIVE_INTEGER) return checked_int(object.via.u64);
  if (object.type == msgpack::type::NEGATIVE_INTEGER) return object.via.i64;
  throw Error(Code::kArgument, "a map key in a message is neither string nor integer");
}

Value unpack_map(const msgpack::object_map& map) {
  Map out;
  for (uint32_t i = 0; i < map.size; ++i)
    out.set(unpack_key(map.ptr[i].key), unpack(map.ptr[i].val));
  return out;
}

Value unpack_list(const msgpack::object_array& array) {
  List out;
  out.reserve(array.size);
  for (uint32_t i = 0; i < array.size; ++i) out.push_back(unpack(array.ptr[i]));
  return out;
}

Value unpack(const msgpack::object& object) {
  switch (object.type) {
    case msgpack::type::NIL:
      return {};
    case msgpack::type::BOOLEAN:
      return object.via.boolean;
    case msgpack::type::POSITIVE_INTEGER:
      return checked_int(object.via.u64);
    case msgpack::type::NEGATIVE_INTEGER:
      return object.via.i64;
    case msgpack::type::FLOAT32:
    case msgpack::type::FLOAT64:
      return object.via.f64;
    case msgpack::type::STR:
      return std::string(object.via.str.ptr, object.via.str.size);
    case msgpack::type::BIN:
      return std::string(object.via.bin.ptr, object.via.bin.size);
    case msgpack::type::ARRAY:
      return unpack_list(object.via.array);
    case msgpack::type::MAP:
      return unpack_map(object.via.map);
    default:
      throw Error(Code::kArgument, "a message holds a MessagePack extension type");
  }
}

}  // namespace

std::string encode(const Value& value) {
  msgpack::sbuffer buffer;
  Packer packer(buffer);
  pack(packer, value);
  return std::string(buffer.data(), buffer.size());
}

Value decode(std::string_view bytes) {
  try {
    // Limits by the input's own size: an array header cannot make us reserve more than its bytes
    // could hold.
    const msgpack::unpack_limit limit(bytes.size(), bytes.size(), bytes.size(), bytes.size(), 0,
                                      kMaxDepth);
    size_t offset = 0;
    const msgpack::object_handle handle =
        msgpack::unpack(bytes.data(), bytes.size(), offset, nullptr, nullptr, limit);
    if (offset != bytes.size()) throw Error(Code::kArgument, "a message has trailing bytes");
    return unpack(handle.get());
  } catch (const msgpack::unpack_error& e) {
    throw Error(Code::kArgument, cat("a message does not decode: ", std::string_view(e.what())));
  }
}

}  // namespace rtrain
