// host/lua/closure/closure_format.h: the bytes that the closure writer and reader agree on.
//
//   magic | package.path | package.cpath | modules (name, chunk, text)… | strings… | nodes (kind,
//   payload)… | order (node ids) | globals (name, reference)… | root reference
// Numbers are little-endian base-128; their length precedes texts. `order` lists the nodes so that
// all nodes that a packed node's state needs precede it, unless they form a cycle.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "host/base/error.h"

namespace rtrain::lua {

inline constexpr std::string_view kClosureMagic = "rtrain-closure-1";

// Registry table: name of a user module → {chunk, text}, for modules that came with a closure.
inline constexpr const char* kModuleTexts = "rtrain.module_texts";
// Field of an untransportable value's metatable: why it raises.
inline constexpr const char* kUntransportable = "__untransportable";
// The pseudo module whose paths begin at the registry: for shared metatables that no module owns.
inline constexpr std::string_view kRegistryModule = "*registry";

enum class RefTag : uint8_t { kNil, kFalse, kTrue, kNumber, kString, kNode, kInt64, kUint64 };

enum class NodeKind : uint8_t {
  kTable,            // count, (key, value)…, metatable
  kFunction,         // code, environment (EnvTag [reference]), count, cell ids…
  kCell,             // value
  kModuleCell,       // node id of the module's function, upvalue number
  kModule,           // module name, count, (StepKind, reference)…
  kPacked,           // module, function, state
  kUntransportable,  // message
};

enum class EnvTag : uint8_t { kGlobals, kLibrary, kTable };
enum class StepKind : uint8_t { kKey, kMetatable, kUpvalue };

class ByteWriter {
 public:
  template <class T>
  requires std::is_enum_v<T>
  void add(T tag) { bytes_.push_back(static_cast<char>(tag)); }
  void add_count(uint64_t n) {
    for (; n >= 0x80; n >>= 7) bytes_.push_back(static_cast<char>(n | 0x80));
    bytes_.push_back(static_cast<char>(n));
  }
  void add_bits(uint64_t bits) {
    for (int shift = 0; shift < 64; shift += 8) bytes_.push_back(static_cast<char>(bits >> shift));
  }
  void add_text(std::string_view text) {
    add_count(text.size());
    bytes_.append(text);
  }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

// Throws Error(kInternal) at the end of the bytes.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T tag() {
    return static_cast<T>(take(1)[0]);
  }
  uint64_t count() {
    uint64_t n = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      n |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return n;
    }
    throw Error(Code::kInternal, "closure: a number is too long");
  }
  uint64_t bits() {
    const std::string_view raw = take(8);
    uint64_t out = 0;
    for (int i = 0; i < 8; ++i)
      out |= static_cast<uint64_t>(static_cast<uint8_t>(raw[i])) << (8 * i);
    return out;
  }
  std::string_view text() { return take(count()); }
  std::string_view rest() const { return bytes_; }
  std::string_view take(size_t n) {
    if (n > bytes_.size()) throw Error(Code::kInternal, "closure: the bytes are truncated");
    const std::string_view out = bytes_.substr(0, n);
    bytes_.remove_prefix(n);
    return out;
  }

 private:
  std::string_view bytes_;
};

}  // namespace rtrain::lua
