#include "host/text/models/byte_trie.h"

#include "host/base/error.h"
#include "host/base/text/text.h"

namespace rtrain::text {

ByteTrie::ByteTrie() : numbers_(1, kNone), roots_(256, 0), edges_(1024), mask_(1023) {}

uint32_t ByteTrie::new_node() {
  numbers_.push_back(kNone);
  return static_cast<uint32_t>(numbers_.size() - 1);
}

void ByteTrie::insert(uint64_t key, uint32_t node) {
  size_t at = place(key);
  while (edges_[at].node != 0) at = (at + 1) & mask_;
  edges_[at] = {key, node};
}

void ByteTrie::grow() {
  std::vector<Edge> old(edges_.size() * 2);
  old.swap(edges_);
  mask_ = edges_.size() - 1;
  for (const Edge& edge : old) {
    if (edge.node != 0) insert(edge.key, edge.node);
  }
}

void ByteTrie::add(std::string_view text, uint32_t number) {
  if (text.size() > kLongest) {
    throw Error(Code::kArgument,
                cat("model: a token of ", text.size(), " bytes; at most ", kLongest, " are read"));
  }
  uint32_t node = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    uint32_t next = child(node, byte);
    if (next == 0) {
      next = new_node();
      if (node == 0) {
        roots_[byte] = next;
      } else {
        if (2 * ++used_ > edges_.size()) grow();
        insert(uint64_t{node} << 8 | byte, next);
      }
    }
    node = next;
  }
  numbers_[node] = number;
}

}  // namespace rtrain::text
