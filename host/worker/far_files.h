// host/worker/far_files.h: moves files between a rank and node 0 through the rank's channel, for a
// node that does not see node 0's disk.
//
// Thread: any; in a rank the upload thread puts, and those that read checkpoints get. A few parts
// are on their way at a time, so that reports are not held up for long on a slow link, and a part's
// time-out is the run's.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "host/store/checkpoints/far_store.h"

namespace rtrain::worker {

class WorkerProcess;

class FarFiles : public store::FarStore {
 public:
  explicit FarFiles(WorkerProcess& worker);
  ~FarFiles() override;
  FarFiles(const FarFiles&) = delete;
  FarFiles& operator=(const FarFiles&) = delete;

  void put(int64_t index, const StagedRank& staged, const std::string& folder,
           const store::BytesMoved& moved) override;
  std::string read(const std::string& name, const std::string& path) override;
  void get_file(const std::string& name, const std::string& path,
                const std::string& target) override;

 private:
  Value wait(int64_t id);
  void put_file(int64_t index, const std::string& path, const std::string& source,
                const store::BytesMoved& moved);
  template <class Take>
  void read_parts(const std::string& name, const std::string& path, const Take& take);

  WorkerProcess& worker_;
};

}  // namespace rtrain::worker
