#include "host/worker/profile/link_sampler.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "host/lua/libraries/engine_loader.h"

namespace rtrain::worker {
namespace {

constexpr std::chrono::milliseconds kLook{50};
constexpr std::chrono::milliseconds kLookForLinks{1000};
// More than the last packets of a message, whose arrival the other end reports late.
constexpr uint64_t kManyBytes = uint64_t{32} << 10;

// Of several connections between two nodes one; those over which nothing was sent are left out.
std::vector<api::LinkReading> read_links() {
  std::vector<api::LinkReading> out;
  for (api::LinkReading& each : lua::read_links()) {
    if (each.bytes == 0) continue;
    const auto known = std::ranges::find_if(
        out, [&](const auto& other) { return other.own == each.own && other.peer == each.peer; });
    if (known == out.end()) {
      out.push_back(std::move(each));
    } else {
      known->bytes += each.bytes;
      known->waiting += each.waiting;
    }
  }
  return out;
}

bool is_of(const pages::LinkCounts& counts, const api::LinkReading& link) {
  return counts.own.view() == link.own && counts.peer.view() == link.peer;
}

}  // namespace

LinkSampler::LinkSampler(loop::Loop& loop, pages::ProgressPage& page)
    : page_(page), timer_(loop, [this] { look(); }) {
  timer_.start(kLookForLinks);
}

// Where the page has no room for all nodes the first ones have it.
void LinkSampler::look() {
  const std::vector<api::LinkReading> links = read_links();
  timer_.start(links.empty() ? kLookForLinks : kLook);
  for (const api::LinkReading& link : links) {
    for (auto& cell : page_.links) {
      const auto known = cell.read();
      if (!known || (known->looks > 0 && !is_of(*known, link))) continue;
      cell.update([&](pages::LinkCounts& counts) {
        counts.own.set(link.own);
        counts.peer.set(link.peer);
        counts.bytes = link.bytes;
        ++counts.looks;
        if (link.waiting >= kManyBytes) ++counts.waits;
      });
      break;
    }
  }
}

}  // namespace rtrain::worker
