#include "host/store/db/database.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "host/store/db/schema.h"
#include "host/store/db/stored_metrics.h"
#include "tests/unit/temp_folder.h"

namespace rtrain::store {
namespace {

int64_t count(Database& database, const std::string& sql) {
  Statement statement = database.prepare(sql);
  statement.next();
  return statement.integer(0);
}

TEST(Database, MigratesANewFileAndOpensItAgain) {
  TempFolder folder;
  { Database database = Database::open(folder / "rtrain.db"); }
  Database again = Database::open(folder / "rtrain.db");
  EXPECT_EQ(count(again, "PRAGMA user_version"), kSchemaVersion);
  EXPECT_EQ(count(again, "SELECT count(*) FROM run_list"), 0);
}

TEST(Database, RefusesAFileOfANewerVersion) {
  TempFolder folder;
  Database::open(folder / "rtrain.db").execute("PRAGMA user_version=99");
  try {
    Database::open(folder / "rtrain.db");
    FAIL() << "opened a newer file";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kEnvironment);
    EXPECT_NE(e.message().find("newer rtrain"), std::string::npos) << e.message();
  }
}

TEST(Database, NamesThePathOfAFileThatIsNoDatabase) {
  TempFolder folder;
  const std::string path = folder.write("rtrain.db", std::string(5000, 'x'));
  try {
    Database::open(path);
    FAIL() << "opened rubbish";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kEnvironment);
    EXPECT_NE(e.message().find(path), std::string::npos) << e.message();
  }
}

TEST(Database, RollsBackWithoutCommit) {
  TempFolder folder;
  Database database = Database::open(folder / "rtrain.db");
  database.execute("CREATE TABLE t(a)");
  {
    Transaction transaction(database, Durability::kNormal);
    database.run("INSERT INTO t VALUES(?)", 1);
  }
  EXPECT_EQ(count(database, "SELECT count(*) FROM t"), 0);
  {
    Transaction transaction(database, Durability::kFull);
    database.run("INSERT INTO t VALUES(?)", "kept");
    transaction.commit();
  }
  EXPECT_EQ(count(database, "SELECT count(*) FROM t"), 1);
}

TEST(Database, ReadsWhileAnotherConnectionWrites) {
  TempFolder folder;
  Database writer = Database::open(folder / "rtrain.db");
  writer.execute("CREATE TABLE t(a)");
  Transaction transaction(writer, Durability::kNormal);
  writer.run("INSERT INTO t VALUES(1)");
  auto reader = Database::open_read_only(folder / "rtrain.db");
  ASSERT_TRUE(reader);
  EXPECT_EQ(count(*reader, "SELECT count(*) FROM t"), 0);
  transaction.commit();
  EXPECT_EQ(count(*reader, "SELECT count(*) FROM t"), 1);
  EXPECT_THROW(reader->run("INSERT INTO t VALUES(2)"), Error);
}

// SQLite itself would give up immediately here.
TEST(Database, WaitsForAnotherWhoMakesTheSameFile) {
  TempFolder folder;
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open((folder / "rtrain.db").c_str(), &other), SQLITE_OK);
  const auto run = [&](const char* sql) { sqlite3_exec(other, sql, nullptr, nullptr, nullptr); };
  run("BEGIN IMMEDIATE; CREATE TABLE other(a); INSERT INTO other VALUES(1)");
  std::thread end([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    run("ROLLBACK");
  });
  EXPECT_NO_THROW(Database::open(folder / "rtrain.db"));
  end.join();
  sqlite3_close(other);
}

TEST(Database, HasNothingToReadWhereThereIsNoFile) {
  TempFolder folder;
  EXPECT_FALSE(Database::open_read_only(folder / "rtrain.db"));
}

TEST(Database, ReadsOnlyWhenToldSo) {
  TempFolder folder;
  Database database = Database::open(folder / "rtrain.db");
  database.allow_reads_only();
  EXPECT_EQ(count(database, "SELECT count(*) FROM runs WHERE name LIKE 'a%'"), 0);
  EXPECT_THROW(database.prepare("ATTACH 'x.db' AS x"), Error);
  EXPECT_THROW(database.run("DELETE FROM runs"), Error);
  EXPECT_THROW(database.prepare("SELECT 1; SELECT 2"), Error);
  EXPECT_THROW(database.prepare("PRAGMA query_only=OFF"), Error);
}

TEST(StoredMetrics, KeepsNonFiniteNumbers) {
  const Value metrics = Map{{"loss", std::nan("")},
                            {"best", HUGE_VAL},
                            {"text", "not 1e999 \"-1e999\""},
                            {"nested", Map{{"low", -HUGE_VAL}, {"list", List{1, std::nan("")}}}},
                            {"accuracy", 0.5}};
  const StoredMetrics stored = store_metrics(metrics);
  const Value loaded = load_metrics(stored.json, *stored.nonfinite);
  EXPECT_TRUE(std::isnan(loaded["loss"].as_float()));
  EXPECT_EQ(loaded["best"].as_float(), HUGE_VAL);
  EXPECT_EQ(loaded["text"].as_string(), "not 1e999 \"-1e999\"");
  EXPECT_EQ(loaded["nested"]["low"].as_float(), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(loaded["nested"]["list"].as_list()[1].as_float()));
  EXPECT_EQ(loaded["accuracy"].as_float(), 0.5);
}

TEST(StoredMetrics, OfFiniteNumbersNeedNoSecondDocument) {
  const Value metrics = Map{{"epoch", 3}, {"loss", 0.25}};
  const StoredMetrics stored = store_metrics(metrics);
  EXPECT_FALSE(stored.nonfinite);
  EXPECT_EQ(load_metrics(stored.json, ""), metrics);
}

TEST(StoredMetrics, AreReadableBySqlite) {
  TempFolder folder;
  Database database = Database::open(folder / "rtrain.db");
  const StoredMetrics stored = store_metrics(Map{{"nan", std::nan("")}, {"inf", HUGE_VAL}});
  Statement query = database.prepare(
      "SELECT json_valid(?1), json_extract(?1, '$.nan') IS NULL, json_extract(?1, '$.inf')");
  ASSERT_TRUE(query.add(stored.json).next());
  EXPECT_EQ(query.integer(0), 1);
  EXPECT_EQ(query.integer(1), 1);
  EXPECT_EQ(query.real(2), HUGE_VAL);
}

}  // namespace
}  // namespace rtrain::store
