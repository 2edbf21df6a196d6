// tests/fake_nvidia/gpu/link.h: the links between the simulated devices. FAKE_NCCL_LETTER_MS=50:
// how long a letter of NCCL takes on each, longer than what the host's own speed changes.
// FAKE_NCCL_SLOW_LINK=0-1: that between devices 0 and 1 takes 400 ms more.
// FAKE_NCCL_BROKEN_LINK=0-1: no letter arrives there.
#pragma once

namespace fake_gpu {

enum class Link { kGood, kSlow, kBroken };

// The link between two devices, by their numbers among all devices of the machine.
Link link_between(int device, int other);

// Takes as long as a letter on that link.
void take_time(Link link);

}  // namespace fake_gpu
