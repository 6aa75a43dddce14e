#include "tests/support/own_market.h"

#include <doctest/doctest.h>
#include <filesystem>
#include <pqxx/pqxx>

#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"

namespace remotist::test {
namespace {

std::string secret(const char* name) {
  return env("REMOTIST_STATE") + "/secret/" + name;
}

}  // namespace

OwnMarket::OwnMarket(const std::map<std::string, std::string>& settings)
    : database_(std::make_shared<Database>()),
      blob_dir_(std::filesystem::temp_directory_path() / ("remotist-" + database_->name())),
      owns_blobs_(true),
      settings_(settings) {
  start();
}

OwnMarket::OwnMarket(const OwnMarket& first, const std::map<std::string, std::string>& settings)
    : database_(first.database_), blob_dir_(first.blob_dir_), owns_blobs_(false), settings_(settings) {
  start();
}

void OwnMarket::start() {
  if (url_.empty()) {
    const std::string port = std::to_string(free_port());
    const std::string socket_port = std::to_string(free_port());
    url_ = "http://127.0.0.1:" + port;
    socket_url_ = "ws://127.0.0.1:" + socket_port + "/volunteer/socket";
    settings_.insert({{"DATABASE_URL", database_->url()},
                      {"AMQP_URL_FILE", secret("amqp_url")},
                      {"STATEMENT_KEY_FILE", secret("statement_key")},
                      {"BLOB_DIR", blob_dir_},
                      {"LISTEN_PORT", port},
                      {"SOCKET_PORT", socket_port},
                      {"REGISTRATIONS_PER_ADDRESS_HOUR_MAX", "1000000"}});
  }
  std::map<std::string, std::string> variables;
  for (const auto& [name, value] : settings_) variables["REMOTIST_MARKET_" + name] = value;
  process_.emplace("remotist-market", std::vector<std::string>{"serve"}, variables, "own_market");
  REQUIRE_MESSAGE(eventually([&] { return Http{url_}.get("/healthz").status == 200; }),
                  "see log/own_market.log of the stack");
}

OwnMarket::~OwnMarket() {
  process_.reset();
  if (owns_blobs_) std::filesystem::remove_all(blob_dir_);
}

OwnWorker::OwnWorker(const std::string& database_url, std::map<std::string, std::string> settings)
    : settings_(std::move(settings)) {
  settings_.insert({{"DATABASE_URL", database_url},
                    {"AMQP_URL_FILE", secret("amqp_url")},
                    {"ACCEPT_MS", "1000"},
                    {"REAP_MS", "100"},
                    {"SCAN_MS", "500"}});
  start();
}

void OwnWorker::start() {
  std::map<std::string, std::string> variables;
  for (const auto& [name, value] : settings_) variables["REMOTIST_WORKER_" + name] = value;
  process_.emplace("remotist-worker", std::vector<std::string>{}, variables, "own_worker");
}

struct LockedTable::Transaction {
  pqxx::connection connection;
  pqxx::work work{connection};
};

LockedTable::LockedTable(const std::string& database_url, const std::string& table)
    : transaction_(new Transaction{.connection = pqxx::connection{database_url}}) {
  transaction_->work.exec("LOCK TABLE " + table + " IN ACCESS EXCLUSIVE MODE");
}

LockedTable::~LockedTable() = default;

}  // namespace remotist::test
