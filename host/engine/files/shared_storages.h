// host/engine/files/shared_storages.h: tensors that travel to other threads of this process keep
// their storage.
//
// A function dumped for another process carries the bytes of its tensors. For another thread they
// need not be copied: while a ShareStorages lives, tensors dumped by this thread leave their
// storages in its list and travel as places in that list; while a UseStorages lives, tensors loaded
// by this thread find them there. The list itself may be read by any number of threads.
#pragma once

#include <c10/core/Storage.h>

#include <memory>
#include <vector>

namespace rtrain {

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

}  // namespace rtrain
