// remotist-market: the REST server, its migrator, and a look into the queues.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <thread>

#include "core/digest.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/periodic.h"
#include "core/pg/migrate.h"
#include "core/pg/pool.h"
#include "core/pg/url.h"
#include "core/process.h"
#include "market/api/server.h"
#include "market/config.h"
#include "market/service/accounts.h"
#include "market/service/blobs.h"
#include "market/service/checks.h"
#include "market/service/market_queue_reader.h"
#include "market/service/outbox_publisher.h"
#include "market/service/passwords.h"
#include "market/service/peek_queue.h"
#include "market/service/volunteers.h"
#include "market/store/admin.h"
#include "market/store/audit.h"
#include "market/store/rates.h"

namespace {

using namespace remotist;

market::Config load_config(const std::string& file) {
  std::vector<std::string> mistakes;
  auto config =
      market::read_config(file.empty() ? ConfigReader::environment() : ConfigReader::file(file), mistakes);
  pg::check_setting("REMOTIST_MARKET_", config.database_url, config.database_url_is_secret, mistakes);
  require_no_mistakes(mistakes);
  return config;
}

void serve(const market::Config& config) {
  if (config.amqp_url.empty()) throw Misconfigured{"REMOTIST_MARKET_AMQP_URL_FILE must be set"};
  if (config.statement_key.empty()) throw Misconfigured{"REMOTIST_MARKET_STATEMENT_KEY_FILE must be set"};
  std::signal(SIGPIPE, SIG_IGN);
  constexpr std::int64_t kOthers = 1000;  // the database's, the broker's, files
  allow_descriptors(static_cast<std::size_t>(config.connections_max + config.sockets_max + kOthers),
                    "raise the hard limit (ulimit -Hn) or lower CONNECTIONS_MAX");
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const market::BlobFiles blob_files{config.blob_dir};
  pg::await_schema(config.database_url);
  {
    pg::Connection db{config.database_url};
    blob_files.claim_for(market::blob_store_id(db));
  }

  market::Metrics metrics;
  market::Health health;
  pg::Pool database{config.database_url, static_cast<std::size_t>(config.database_connections),
                    static_cast<std::size_t>(config.database_queue_max)};
  pg::Pool chunks{config.database_url, static_cast<std::size_t>(config.chunk_threads),
                  static_cast<std::size_t>(config.chunk_queue_max)};
  market::PasswordPool passwords{static_cast<std::size_t>(config.password_threads)};
  market::OutboxPublisher publisher{config.database_url, config.amqp_url, metrics, health};
  const auto wake_publisher = [&publisher] { publisher.wake(); };
  pg::Connection collect_db{config.database_url};
  // A shard a round: with all of them every market would look at every file each time.
  int shard = 0;
  const Periodic collect{"collect", std::chrono::seconds{config.collect_seconds},
                         [&](const std::stop_token& stop) {
                           market::collect_chunks(collect_db, blob_files, stop);
                           market::collect_orphans(collect_db, blob_files, shard);
                           shard = (shard + 1) % market::BlobFiles::kShards;
                           market::delete_expired_tokens(collect_db);
                           market::delete_old_rates(collect_db);
                           market::delete_old_login_origins(collect_db);
                           market::delete_old_events(collect_db, std::chrono::days{config.audit_days});
                         }};
  market::LongPoll long_poll{config.database_url};
  market::Volunteers volunteers{config.database_url,
                                database,
                                {.beat = std::chrono::milliseconds{config.beat_ms},
                                 .token_lifetime = std::chrono::seconds{config.machine_token_seconds},
                                 .loss_mean = std::chrono::hours{config.loss_hours_mean},
                                 .committed =
                                     [&] {
                                       publisher.wake();
                                       long_poll.check_now();
                                     },
                                 .recorded =
                                     [&](const market::NewestRecord& newest) {
                                       long_poll.on_recorded(newest.job, newest.variable, newest.sequence);
                                     }},
                                metrics};
  const market::MarketQueueReader market_queue_reader{
      config.amqp_url, volunteers.market(),
      [&volunteers](std::string_view body) { volunteers.on_queue_message(body); }};
  const SigningKey market_key{*bytes_of_hex(config.statement_key, SigningKey::kSeedBytes)};
  const std::int64_t unread_bytes_max = config.unread_mb_max << 20;
  market::AnswerBudget answer_budget{unread_bytes_max, unread_bytes_max / limits::kUnreadAddressShare};
  market::AttemptRates record_rates;
  market::Context context{config,       database,   chunks,        blob_files, passwords,
                          metrics,      health,     long_poll,     volunteers, answer_budget,
                          record_rates, market_key, wake_publisher};
  market::serve(context);
}

void migrate(const market::Config& config) {
  const auto applied = pg::migrate(config.database_url);
  for (const auto& name : applied) std::cout << "applied " << name << '\n';
  if (applied.empty()) std::cout << "the schema is up to date\n";
}

std::string read_password(const std::string& file) {
  std::ifstream opened;
  if (!file.empty()) {
    opened.open(file);
    if (!opened) throw Misconfigured{"cannot read the password file " + file};
  }
  std::string password;
  std::getline(file.empty() ? std::cin : opened, password);
  return password;
}

void create_admin(const market::Config& config, const std::string& email, const std::string& password_file) {
  const std::string password = read_password(password_file);
  if (auto checked = market::check_email(email); !checked) throw Misconfigured{checked.refusal().detail};
  if (auto checked = market::check_password(password); !checked)
    throw Misconfigured{checked.refusal().detail};
  pg::Connection db{config.database_url};
  pg::require_schema(db);
  const market::NewAccount account{.email = email, .password_hash = market::hash_password(password)};
  const bool created = db.transact([&] {
    if (market::create_account(db, account) != market::Registration::created) return false;
    market::make_admin(db, account.id);
    market::record_event(db, {}, {.action = "admin_created", .subject = account.id.text()});
    return true;
  });
  if (!created) throw Misconfigured{"an account with the e-mail " + email + " exists already"};
  std::cout << "created the admin " << email << " (" << account.id.text() << ")\n";
}

void reset_password(const market::Config& config, const std::string& email,
                    const std::string& password_file) {
  const std::string password = read_password(password_file);
  if (auto checked = market::check_password(password); !checked)
    throw Misconfigured{checked.refusal().detail};
  pg::Connection db{config.database_url};
  pg::require_schema(db);
  const std::string hash = market::hash_password(password);
  const auto account = db.transact([&] {
    const auto changed = market::set_password(db, email, hash);
    if (changed) market::record_event(db, {}, {.action = "password_reset", .subject = changed->text()});
    return changed;
  });
  if (!account) throw Misconfigured{"there is no account with the e-mail " + email};
  std::cout << "set the password of " << email << " (" << account->text() << ") and ended its logins\n";
}

void peek(const market::Config& config, const std::string& queue) {
  for (const auto& body : market::peek_queue(config.amqp_url, queue)) std::cout << body << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The RemotIST market. Settings: environment variables REMOTIST_MARKET_… (docs/operations.md)"};
  std::string config_file;
  std::string queue;
  app.add_option("--config", config_file, "a file of REMOTIST_MARKET_…=… lines instead of the environment");
  app.require_subcommand(1);
  auto* serve_command = app.add_subcommand("serve", "serve REST until SIGTERM");
  auto* migrate_command = app.add_subcommand("migrate", "bring the database to this program's schema");
  auto* peek_command = app.add_subcommand("peek", "show up to 10 messages of a queue and put them back");
  peek_command->add_option("queue", queue, "such as jobs.ready")->required();
  std::string email;
  std::string password_file;
  auto* admin_command = app.add_subcommand("create-admin", "make an account that may use /admin/…");
  admin_command->add_option("email", email, "its e-mail")->required();
  admin_command->add_option("--password-file", password_file,
                            "a file with the password (default: standard input)");
  auto* reset_command = app.add_subcommand("reset-password", "set an account's password and end its logins");
  reset_command->add_option("email", email, "its e-mail")->required();
  reset_command->add_option("--password-file", password_file,
                            "a file with the new password (default: standard input)");
  CLI11_PARSE(app, argc, argv);

  crypto_start();
  try {
    const auto config = load_config(config_file);
    log::set_level(*log::level_named(config.log_level));
    if (serve_command->parsed()) serve(config);
    if (migrate_command->parsed()) migrate(config);
    if (admin_command->parsed()) create_admin(config, email, password_file);
    if (reset_command->parsed()) reset_password(config, email, password_file);
    if (peek_command->parsed()) peek(config, queue);
    return 0;
  } catch (const std::exception& fault) {
    std::cerr << "remotist-market: " << fault.what() << '\n';
    return 1;
  }
}
