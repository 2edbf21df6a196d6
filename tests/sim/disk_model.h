// tests/sim/disk_model.h: a simulated disk that loses or reorders unsynced changes.
//
// A file's data is safe once the file is synced; a name is safe once its folder is synced. Until
// then a crash keeps any subset of the changes; an unsynced file may become empty. A rename is
// atomic: a crash keeps both of its sides or neither.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/draws.h"

namespace rtrain::sim {

class DiskModel {
 public:
  DiskModel();

  // Paths are relative to the run's folder, such as "staging/x/file". Parent folders must exist.
  void make_folder(const std::string& path);
  void write(const std::string& path, const std::string& text);
  void sync_file(const std::string& path);
  void sync_folder(const std::string& path);
  // Returns false if the new name exists.
  bool rename(const std::string& from, const std::string& to);
  void exchange(const std::string& from, const std::string& to);
  // Removes one file or one empty folder.
  void remove(const std::string& path);

  bool exists(const std::string& path) const { return find(path).has_value(); }
  bool is_folder(const std::string& path) const;
  // Returns the sorted names in a folder; empty if the folder does not exist.
  std::vector<std::string> names(const std::string& path) const;
  std::optional<std::string> text(const std::string& path) const;

  // Applies a random subset of the unsynced changes and forgets the others.
  void crash(Draws& draws);

 private:
  struct Node {
    bool is_folder = false;
    std::string text = {};
    std::map<std::string, int> entries = {};
  };
  // One name in a folder before and after a change; node -1 means that the name does not exist. A
  // Change holds the entries that change together, or the file whose text was written.
  struct Entry {
    int folder;
    std::string name;
    int before, after;
  };
  struct Change {
    std::vector<Entry> entries = {};
    int file = -1;
  };

  std::optional<int> find(const std::string& path) const;
  int folder_of(const std::string& path) const;
  void change(std::vector<Entry> entries);
  static void apply(std::vector<Node>& nodes, const Entry& entry);

  std::vector<Node> nodes_;  // the state that processes see
  std::vector<Node> safe_;   // the state that survives any crash
  std::vector<Change> unsafe_;
};

}  // namespace rtrain::sim
