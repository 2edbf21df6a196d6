// host/engine/files/pickle_checks.h: checks of an unpickled value before other code uses it.
#pragma once

#include <string_view>
#include <unordered_map>

#include "host/base/error.h"
#include "host/engine/files/tree.h"

namespace rtrain::engine {

inline constexpr int kMaxPickleDepth = 60;

// An Error(kArgument) without a position in the file.
class MalformedPickle final : public Error {
 public:
  explicit MalformedPickle(std::string_view what);
};

// Throws MalformedPickle.
[[noreturn]] void malformed(std::string_view what);

// Address of a list or map → its levels of nested containers, including itself.
using NodeHeights = std::unordered_map<const void*, int>;

// Throws for a value that is nested too deeply or contains itself; else returns its containers.
NodeHeights check_nesting(const Tree& tree);

// As in Python, a later value replaces an earlier one with the same key.
void remove_duplicates(TreeMap& map);

}  // namespace rtrain::engine
