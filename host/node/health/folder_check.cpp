#include "host/node/health/folder_check.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "host/node/health/node_checks.h"
#include "host/store/checkpoints/far_store.h"
#include "host/store/checkpoints/object_storage.h"
#include "host/store/files/file.h"

namespace rtrain::node {
namespace {

std::string file_problem(const message::CheckFolder& check) {
  std::ifstream file(check.path);
  if (!file) return std::strerror(errno);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return text == check.text ? "" : "it holds something else";
}

}  // namespace

std::string folder_problem(const message::CheckFolder& check) {
  std::string problem = file_problem(check);
  const std::filesystem::path run_path = std::filesystem::path(check.path).parent_path();
  if (!problem.empty() && check.uri.empty() && check.may_be_far) {
    return store::join_far_run(store::far_run_path(run_path));
  }
  if (problem.empty() || check.uri.empty()) return problem;
  try {
    store::make_folders(run_path);
  } catch (const Error& e) {
    return e.message();
  }
  // Writes into the folder first: after that a network file system also shows new files.
  problem = storage_problem(run_path);
  if (!problem.empty() || file_problem(check).empty()) return problem;
  return store::ObjectStorage::join(run_path, check.uri, check.text);
}

std::string far_path(const message::CheckFolder& check) {
  if (!check.may_be_far || !check.uri.empty()) return "";
  std::string path = store::far_run_path(std::filesystem::path(check.path).parent_path());
  return store::is_far_run(path) && !file_problem(check).empty() ? path : "";
}

}  // namespace rtrain::node
