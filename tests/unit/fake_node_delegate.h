// tests/unit/fake_node_delegate.h: records the notifications of a node in order.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host/base/codec/codec.h"
#include "host/base/text/text.h"
#include "host/loop/messages/to_worker.h"
#include "host/node/workers/node.h"

namespace rtrain {

class FakeNodeDelegate : public node::NodeDelegate {
 public:
  void on_spawned(int rank, const node::SpawnedWorker& worker) override {
    log.push_back(cat("rank ", rank, " is spawned"));
    workers[rank] = worker;
  }
  void on_spawn_failed(int rank, const Error& error, bool) override {
    log.push_back(cat("rank ", rank, " is not spawned"));
    problem = error.message();
  }
  void on_frame(int rank, std::string frame) override {
    const std::string type = decode(frame)["type"].as_string();
    if (type == refused) throw Error(Code::kArgument, cat("no '", type, "' here"));
    log.push_back(cat("rank ", rank, ": ", type));
  }
  void on_output(int rank, node::OutputStream, std::string_view bytes) override {
    printed[rank] += bytes;
  }
  void on_dying(int rank) override { log.push_back(cat("rank ", rank, " is dying")); }
  void on_gone(int rank, const node::WorkerEnd& end) override {
    log.push_back(cat("rank ", rank, " is gone"));
    ends[rank] = end;
  }
  void on_series(store::SeriesChunk) override {}
  void on_device_fault(const node::DeviceFault&) override {}

  bool has(const std::string& what) const {
    return std::find(log.begin(), log.end(), what) != log.end();
  }

  std::vector<std::string> log;
  std::map<int, node::SpawnedWorker> workers;
  std::map<int, node::WorkerEnd> ends;
  std::map<int, std::string> printed;
  std::string problem;
  std::string refused;  // the type of message that on_frame() rejects
};

inline std::string to_frame(message::ToWorker message) {
  return encode(to_value(std::move(message)));
}

}  // namespace rtrain
