// tests/sim/disk_model.h: a disk, simulated, which loses or reorders what was not synced.
//
// A file's data is safe when the file was synced, a name when the folder was that has it. Until
// then a crash leaves any of what was done and not the rest, in any combination; a file that was
// not synced may be empty. A rename is one: it has happened on both sides or on none.
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

  // Paths are relative to the run's folder: "staging/x/file". Their folders must be there.
  void make_folder(const std::string& path);
  void write(const std::string& path, const std::string& text);
  void sync_file(const std::string& path);
  void sync_folder(const std::string& path);
  // False where something has the name.
  bool rename(const std::string& from, const std::string& to);
  void exchange(const std::string& from, const std::string& to);
  // One file, or one empty folder.
  void remove(const std::string& path);

  bool exists(const std::string& path) const { return find(path).has_value(); }
  bool is_folder(const std::string& path) const;
  // Of a folder, sorted; empty where there is none.
  std::vector<std::string> names(const std::string& path) const;
  std::optional<std::string> text(const std::string& path) const;

  // What is left of it is drawn.
  void crash(Draws& draws);

 private:
  struct Node {
    bool is_folder = false;
    std::string text = {};
    std::map<std::string, int> entries = {};
  };
  // Entries that change together; of a file its text. Node -1: the name goes.
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

  std::vector<Node> nodes_;  // as processes see them
  std::vector<Node> safe_;   // as the disk has them whatever comes
  std::vector<Change> unsafe_;
};

}  // namespace rtrain::sim
