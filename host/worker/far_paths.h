// host/worker/far_paths.h: paths of a run's files on a node that does not see node 0's disk: node 0
// names them below its own folder for the run, and this node has another one.
//
// A value. Without such a folder both functions return what they get.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "host/loop/messages/to_worker.h"

namespace rtrain::worker {

class FarPaths {
 public:
  FarPaths() = default;
  // Makes the context one of this node: its paths are those here.
  static FarPaths enter(loop::WorkerContext& context) {
    FarPaths out;
    if (context.far_path.empty()) return out;
    out.near_ = context.run_path;
    out.far_ = context.far_path;
    context.run_path = out.far_;
    context.storage_path = std::filesystem::path(out.far_).parent_path();
    if (context.starting_checkpoint) {
      context.starting_checkpoint->path = out.here(context.starting_checkpoint->path);
    }
    return out;
  }

  bool is_empty() const { return far_.empty(); }
  // The path on this node of a file of node 0, and the other way round.
  std::string here(const std::string& path) const { return moved(path, near_, far_); }
  std::string there(const std::string& path) const { return moved(path, far_, near_); }

 private:
  static std::string moved(const std::string& path, const std::string& from,
                           const std::string& to) {
    return !from.empty() && path.starts_with(from + "/") ? to + path.substr(from.size()) : path;
  }

  std::string near_;
  std::string far_;
};

}  // namespace rtrain::worker
