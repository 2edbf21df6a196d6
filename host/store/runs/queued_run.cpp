#include "host/store/runs/queued_run.h"

#include "host/base/clock.h"
#include "host/base/codec/json.h"
#include "host/base/error.h"
#include "host/base/random.h"
#include "host/base/secrets.h"
#include "host/base/text/text.h"
#include "host/machine/machine.h"
#include "host/store/claim/run_name.h"
#include "host/store/claim/run_owner.h"
#include "host/store/files/file.h"

namespace rtrain::store {
namespace {

List without_secrets(const List& command) {
  std::vector<std::string> words;
  for (const Value& word : command) words.push_back(word.as_string());
  words = mask_secrets(words);
  return List(words.begin(), words.end());
}

}  // namespace

bool add_queued_run(const std::string& storage_path, const QueuedRun& run) {
  if (const std::string problem = run_name_problem(run.name); !problem.empty()) {
    throw Error(Code::kConfig, cat("'", run.name, "' cannot be a run's name: ", problem));
  }
  make_folders(storage_path);
  Database database = Database::open(storage_path + "/rtrain.db");
  Transaction transaction(database, Durability::kFull);
  Statement known = database.prepare("SELECT 1 FROM runs WHERE name = ?");
  if (known.add(run.name).next()) return false;
  known.reset();
  const List command = without_secrets(run.command);
  const std::string environment = to_json(Map{{"git_commit", nullptr},
                                              {"git_dirty", nullptr},
                                              {"hostname", machine::hostname()},
                                              {"command", command},
                                              {"launcher", run.launcher},
                                              {"job", run.job}});
  const int64_t now = now_ms();
  database.run(
      "INSERT INTO runs(run_id, name, status, num_workers, script, note, command, tags, config, "
      "scaling, checkpoint_config, environment, started_at, updated_at, owner_epoch, owner) "
      "VALUES(?, ?, 'QUEUED', ?, ?, '', ?, '[]', '{}', '{}', '{}', ?, ?, ?, 0, ?)",
      random_hex(16), run.name, run.num_workers.value_or(0), run.script, to_json(command),
      environment, now, now, RunOwner::of_this_process().to_json());
  transaction.commit();
  return true;
}

void forget_queued_run(const std::string& storage_path, const std::string& name) {
  const std::string path = storage_path + "/rtrain.db";
  if (!path_exists(path)) return;
  Database database = Database::open(path);
  Transaction transaction(database, Durability::kNormal);
  remove_queued_run(database, name);
  transaction.commit();
}

void remove_queued_run(Database& database, const std::string& name) {
  database.run("DELETE FROM runs WHERE name = ? AND status = 'QUEUED'", name);
}

}  // namespace rtrain::store
