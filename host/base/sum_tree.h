// host/base/sum_tree.h: a fixed binary tree along which the values of n leaves are added, so that
// the sum has the same bits whoever adds which part of it.
//
// A node of level l and number i stands for the leaves i · 2^l … (i + 1) · 2^l − 1, without those
// from n on. Its value is that of its left child plus that of its right one; a node whose right
// child has no leaves is its left child. A range of leaves is a few nodes: its pieces.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace rtrain {

struct SumNode {
  int level = 0;
  int number = 0;

  bool operator==(const SumNode&) const = default;
};

// The nodes of a growing range of leaves, and which values to add for them. No thread safety.
class SumTree {
 public:
  explicit SumTree(int num_leaves) : num_leaves_(num_leaves) {}

  // Appends the node behind the last one. For each add(i) the caller adds value i + 1 of its list
  // to value i, and removes value i + 1, which is the last one.
  template <class Add>
  void push(SumNode node, const Add& add) {
    nodes_.push_back(widest(node));
    while (nodes_.size() >= 2 && are_siblings(nodes_[nodes_.size() - 2], nodes_.back())) {
      add(nodes_.size() - 2);
      nodes_.pop_back();
      nodes_.back() = widest({nodes_.back().level + 1, nodes_.back().number / 2});
    }
  }

  // The nodes that are left, in order.
  const std::vector<SumNode>& nodes() const { return nodes_; }
  void clear() { nodes_.clear(); }

  // The pieces of the leaves begin … end − 1.
  static std::vector<SumNode> pieces(int num_leaves, int begin, int end) {
    SumTree tree(num_leaves);
    for (int leaf = begin; leaf < end; ++leaf) tree.push({0, leaf}, [](size_t) {});
    return tree.nodes();
  }

  // Returns the additions (to, from) that make the sum of all leaves out of pieces that follow one
  // another. The sum is in the first one.
  static std::vector<std::pair<size_t, size_t>> additions(int num_leaves,
                                                          const std::vector<SumNode>& pieces) {
    SumTree tree(num_leaves);
    std::vector<std::pair<size_t, size_t>> out;
    std::vector<size_t> values;
    for (size_t i = 0; i < pieces.size(); ++i) {
      values.push_back(i);
      tree.push(pieces[i], [&](size_t to) {
        out.emplace_back(values[to], values[to + 1]);
        values.pop_back();
      });
    }
    return out;
  }

  // Whether the sum is also that of one value of each part, added along the tree of the parts: each
  // part is one piece, and the additions are the same. `parts`: the pieces of each, in order.
  static bool is_tree_of_parts(int num_leaves, const std::vector<std::vector<SumNode>>& parts) {
    std::vector<SumNode> pieces, each;
    for (const std::vector<SumNode>& part : parts) {
      if (part.size() != 1) return false;
      each.push_back({0, static_cast<int>(each.size())});
      pieces.push_back(part[0]);
    }
    return additions(num_leaves, pieces) == additions(static_cast<int>(each.size()), each);
  }

 private:
  // A node without a right sibling is its parent.
  SumNode widest(SumNode node) const {
    const auto is_whole = [&] { return node.number == 0 && (1LL << node.level) >= num_leaves_; };
    while (!is_whole() && node.number % 2 == 0 &&
           (static_cast<long long>(node.number) + 1) << node.level >= num_leaves_) {
      node = {node.level + 1, node.number / 2};
    }
    return node;
  }

  static bool are_siblings(const SumNode& left, const SumNode& right) {
    return left.level == right.level && left.number % 2 == 0 && right.number == left.number + 1;
  }

  int num_leaves_;
  std::vector<SumNode> nodes_;
};

// The leaves of part `number` of `num_parts`, as equal as possible: begin … end − 1.
struct LeafRange {
  int begin = 0;
  int end = 0;

  static LeafRange of(int num_leaves, int number, int num_parts) {
    const auto bound = [&](int part) {
      return static_cast<int>(static_cast<long long>(part) * num_leaves / num_parts);
    };
    return {bound(number), bound(number + 1)};
  }
  // Of parts of these sizes.
  static LeafRange of(const std::vector<int>& sizes, int number) {
    LeafRange out;
    for (int part = 0; part <= number; ++part) {
      out = {out.end, out.end + sizes.at(static_cast<size_t>(part))};
    }
    return out;
  }
};

}  // namespace rtrain
