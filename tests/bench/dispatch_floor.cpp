// dispatch_floor.cpp: nanoseconds an operation costs in C++, boxed (a stack of values, as the Lua
// binding calls) or direct (the typed call, as Python's bindings call). Twin of dispatch.lua.
//
//   dispatch_floor boxed|direct CALLS REPEATS
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using Case = std::pair<std::string, std::function<void()>>;

template <typename... Args>
std::function<void()> boxed(const char* name, const char* overload, Args... args) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
  return [op, args..., stack = torch::jit::Stack()]() mutable {
    stack.clear();
    torch::jit::push(stack, args...);
    op.callBoxed(&stack);
  };
}

struct Inputs {
  at::Tensor x = at::randn({4}), y = at::randn({4});
  at::Tensor a = at::randn({8, 8}), b = at::randn({8, 8});
  at::Tensor batch = at::randn({8, 32}), weight = at::randn({32, 32}), bias = at::randn({32});
};

std::vector<Case> boxed_cases(const Inputs& in) {
  return {{"empty", [] {}},
          {"add", boxed("aten::add", "Tensor", in.x, in.y, at::Scalar(1))},
          {"mm", boxed("aten::mm", "", in.a, in.b)},
          {"view", boxed("aten::view", "", in.a, std::vector<int64_t>{64})},
          {"linear", boxed("aten::linear", "", in.batch, in.weight, in.bias)},
          {"relu", boxed("aten::relu", "", in.x)}};
}

std::vector<Case> direct_cases(const Inputs& in) {
  return {{"empty", [] {}},
          {"add", [in] { at::add(in.x, in.y); }},
          {"mm", [in] { at::mm(in.a, in.b); }},
          {"view", [in] { in.a.view({64}); }},
          {"linear", [in] { at::linear(in.batch, in.weight, in.bias); }},
          {"relu", [in] { at::relu(in.x); }}};
}

double nanoseconds(const std::function<void()>& call, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / calls;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int calls = std::atoi(argv[2]);
  const int repeats = std::atoi(argv[3]);
  const Inputs in;
  const auto cases = std::string(argv[1]) == "boxed" ? boxed_cases(in) : direct_cases(in);
  for (const auto& [name, call] : cases) {
    nanoseconds(call, calls / 10 + 1);
    double best = nanoseconds(call, calls);
    for (int i = 1; i < repeats; ++i) best = std::min(best, nanoseconds(call, calls));
    std::printf("%s\t%.1f\n", name.c_str(), best);
  }
  return 0;
}
