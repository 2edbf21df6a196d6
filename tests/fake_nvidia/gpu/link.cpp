#include "link.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "../settings.h"

namespace fake_gpu {
namespace {

bool is_set(const char* variable, int device, int other) {
  const char* text = std::getenv(variable);
  const auto [least, most] = std::minmax(device, other);
  return text != nullptr && text == std::to_string(least) + "-" + std::to_string(most);
}

}  // namespace

Link link_between(int device, int other) {
  if (is_set("FAKE_NCCL_BROKEN_LINK", device, other)) return Link::kBroken;
  return is_set("FAKE_NCCL_SLOW_LINK", device, other) ? Link::kSlow : Link::kGood;
}

void take_time(Link link) {
  const std::chrono::milliseconds time(fake_nvidia::number("FAKE_NCCL_LETTER_MS") +
                                       (link == Link::kSlow ? 400 : 0));
  if (time.count() > 0) std::this_thread::sleep_for(time);
}

}  // namespace fake_gpu
