// host/engine/operators/boxed/argument_stacks.h: operators' argument stacks, reused by one Lua
// virtual machine.
#pragma once

#include <ATen/core/stack.h>

#include <deque>

namespace rtrain::engine {

// One stack per depth, because operators can call Lua (hooks), which calls operators again.
class ArgumentStacks {
 public:
  // Returns the empty stack of the next depth, valid until the matching leave().
  torch::jit::Stack& enter() {
    if (depth_ == stacks_.size()) stacks_.emplace_back();
    return stacks_[depth_++];
  }
  // Clears the stack of the last enter(), because it owns tensors.
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

}  // namespace rtrain::engine
