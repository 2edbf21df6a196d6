// host/engine/files/shared_storages.h: lets threads of this process share the storages of
// serialized tensors.
//
// A function dumped for another process contains the bytes of its tensors. For another thread no
// copy is needed: while a ShareStorages exists, tensors dumped by this thread put their storages
// into its list and are serialized as indices into it; while a UseStorages exists, tensors loaded
// by this thread take their storages from the list. Any number of threads may read the list.
#pragma once

#include <c10/core/Storage.h>

#include <memory>
#include <vector>

namespace rtrain::engine {

using StorageList = std::vector<c10::Storage>;

class ShareStorages {
 public:
  explicit ShareStorages(StorageList& list);
  ~ShareStorages();
  ShareStorages(const ShareStorages&) = delete;
  ShareStorages& operator=(const ShareStorages&) = delete;

 private:
  StorageList* const outer_;
};

class UseStorages {
 public:
  explicit UseStorages(const StorageList& list);
  ~UseStorages();
  UseStorages(const UseStorages&) = delete;
  UseStorages& operator=(const UseStorages&) = delete;

 private:
  const StorageList* const outer_;
};

}  // namespace rtrain::engine
