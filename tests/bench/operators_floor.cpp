// operators_floor.cpp: nanoseconds of the typed C++ call below each operation of operators.lua, its
// twin.
//
//   operators_floor CALLS REPEATS [NAME]
//
// With BENCH_DEVICE=cuda: nanoseconds of launching it on a GPU.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/TensorIndexing.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>

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

std::vector<Case> make_cases(at::Device device) {
  at::manual_seed(0);
  const auto on = at::TensorOptions(device), numbers = on.dtype(at::kLong);
  const at::Tensor x = at::randn({4}, on), y = at::randn({4}, on);
  const at::Tensor a = at::randn({8, 8}, on), b = at::randn({8, 8}, on);
  const at::Tensor p = at::randn({2, 4, 4}, on), q = at::randn({2, 4, 4}, on);
  const at::Tensor batch = at::randn({4, 8}, on), weight = at::randn({8, 8}, on);
  const at::Tensor bias = at::randn({8}, on), leaf = at::randn({4}, on).set_requires_grad(true);
  const at::Tensor rows = at::tensor({0, 2, 4}, numbers), column = at::zeros({8, 1}, numbers);
  const at::Tensor mask = a.gt(0), labels = at::randint(0, 8, {8}, numbers);
  const at::Tensor words = at::randn({10, 4}, on);
  return {
      {"add", [=] { at::add(x, y); }},
      {"sub", [=] { at::sub(x, y); }},
      {"mul", [=] { at::mul(x, y); }},
      {"div", [=] { at::div(x, y); }},
      {"add_scalar", [=] { at::add(x, 1); }},
      {"mul_scalar", [=] { at::mul(x, 0.5); }},
      {"rsub", [=] { at::rsub(x, 1); }},
      {"pow", [=] { at::pow(x, 2); }},
      {"neg", [=] { at::neg(x); }},
      {"add_", [=] { x.add_(y); }},
      {"mul_scalar_", [=] { x.mul_(0.999); }},
      {"add_alpha", [=] { at::add(x, y, 2); }},
      {"mul_grad", [=] { at::mul(leaf, y); }},
      {"mm", [=] { at::mm(a, b); }},
      {"matmul", [=] { at::matmul(a, b); }},
      {"bmm", [=] { at::bmm(p, q); }},
      {"addmm", [=] { at::addmm(bias, batch, weight); }},
      {"linear", [=] { at::linear(batch, weight, bias); }},
      {"dot", [=] { at::dot(x, y); }},
      {"view", [=] { a.view({64}); }},
      {"reshape",
       [=] {
         a.reshape({4, 16});
       }},
      {"transpose", [=] { a.transpose(0, 1); }},
      {"permute",
       [=] {
         p.permute({2, 0, 1});
       }},
      {"unsqueeze", [=] { x.unsqueeze(0); }},
      {"squeeze", [=] { x.squeeze(); }},
      {"expand",
       [=] {
         x.expand({3, 4});
       }},
      {"flatten", [=] { p.flatten(1); }},
      {"chunk", [=] { a.chunk(2); }},
      {"cat",
       [=] {
         at::cat({x, y});
       }},
      {"stack",
       [=] {
         at::stack({x, y});
       }},
      {"sum", [=] { a.sum(); }},
      {"sum_dim", [=] { a.sum(1); }},
      {"mean", [=] { a.mean(); }},
      {"mean_keepdim", [=] { a.mean(1, true); }},
      {"max", [=] { a.max(); }},
      {"max_dim", [=] { a.max(1); }},
      {"argmax", [=] { a.argmax(1); }},
      {"softmax", [=] { at::softmax(a, 1); }},
      {"log_softmax", [=] { at::log_softmax(a, 1); }},
      {"relu", [=] { at::relu(x); }},
      {"gelu", [=] { at::gelu(x); }},
      {"sigmoid", [=] { x.sigmoid(); }},
      {"exp", [=] { x.exp(); }},
      {"sqrt", [=] { x.sqrt(); }},
      {"eq", [=] { x.eq(y); }},
      {"gt_scalar", [=] { x.gt(0); }},
      {"where", [=] { at::where(mask, a, b); }},
      {"clamp", [=] { a.clamp(-1, 1); }},
      {"masked_fill", [=] { a.masked_fill(mask, 0); }},
      {"zeros",
       [=] {
         at::zeros({2, 2});
       }},
      {"ones", [=] { at::ones({4}); }},
      {"zeros_like", [=] { at::zeros_like(x); }},
      {"arange", [=] { at::arange(4); }},
      {"randn", [=] { at::randn({4}); }},
      {"select", [=] { a.select(0, 0); }},
      {"slice", [=] { a.slice(0, 0, 4); }},
      {"index", [=] { a.index({rows}); }},
      {"narrow", [=] { a.narrow(0, 1, 2); }},
      {"item", [=] { y.select(0, 0).item(); }},
      {"clone", [=] { x.clone(); }},
      {"detach", [=] { leaf.detach(); }},
      {"to_dtype", [=] { x.to(at::kDouble); }},
      {"index_select", [=] { a.index_select(0, rows); }},
      {"gather", [=] { a.gather(1, column); }},
      {"embedding", [=] { at::embedding(words, rows); }},
      {"layer_norm", [=] { at::layer_norm(batch, {8}, bias, bias); }},
      {"cross_entropy", [=] { at::cross_entropy_loss(a, labels); }},
      {"mse_loss", [=] { at::mse_loss(x, y); }},
  };
}

// Returns the time of the calls alone: the device is idle before, and the time does not include
// waiting for its work.
double nanoseconds(at::Device device, const std::function<void()>& call, int calls) {
  if (device.is_cuda()) c10::impl::getDeviceGuardImpl(device.type())->synchronizeDevice(0);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) call();
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / calls;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int calls = std::atoi(argv[1]);
  const int repeats = std::atoi(argv[2]);
  const char* given = std::getenv("BENCH_DEVICE");
  const at::Device device(given == nullptr ? "cpu" : given);
  if (device.is_cuda() && dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    std::fprintf(stderr, "operators_floor: %s\n", dlerror());
    return 1;
  }
  at::set_num_threads(1);
  for (const auto& [name, call] : make_cases(device)) {
    if (argc > 3 && name != argv[3]) continue;
    double best = nanoseconds(device, call, calls / 4 + 1);
    for (int i = 0; i < repeats; ++i) best = std::min(best, nanoseconds(device, call, calls));
    std::printf("%s\t%.1f\n", name.c_str(), best);
  }
  return 0;
}
