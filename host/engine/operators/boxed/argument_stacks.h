// host/engine/operators/boxed/argument_stacks.h: the stacks that operators are called with, used
// again and again by one Lua virtual machine.
#pragma once

#include <ATen/core/stack.h>

#include <deque>

namespace rtrain {

// Operators can call back into Lua (hooks), which calls operators again: one stack for each depth.
class ArgumentStacks {
 public:
  // The stack of the next depth, empty. Valid until the matching leave().
  torch::jit::Stack& enter() {
    if (depth_ == stacks_.size()) stacks_.emplace_back();
    return stacks_[depth_++];
  }
  // Clears the stack of the last enter(): it owns tensors.
  void leave() { stacks_[--depth_].clear(); }

 private:
  std::deque<torch::jit::Stack> stacks_;
  size_t depth_ = 0;
};

// An empty argument stack for one operator call.
class StackLease {
 public:
  explicit StackLease(ArgumentStacks& stacks) : stacks_(stacks), stack_(stacks.enter()) {}
  ~StackLease() { stacks_.leave(); }
  StackLease(const StackLease&) = delete;
  StackLease& operator=(const StackLease&) = delete;
  torch::jit::Stack& operator*() { return stack_; }
  torch::jit::Stack* operator->() { return &stack_; }

 private:
  ArgumentStacks& stacks_;
  torch::jit::Stack& stack_;
};

}  // namespace rtrain
