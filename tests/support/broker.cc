#include "tests/support/broker.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <signal.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace remotist::tests::broker {
namespace {

using namespace std::chrono_literals;

std::string required(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr)
    throw std::runtime_error{std::string{variable} + " is not set: run script/test integration"};
  return value;
}

std::string root() {
  const char* given = std::getenv("REMOTIST_ROOT");
  return given != nullptr ? given : ".";
}

pid_t node() {
  const std::string path = required("REMOTIST_STATE") + "/run/rabbitmq.pid";
  std::ifstream file{path};
  pid_t pid = 0;
  if (!(file >> pid) || pid <= 1) throw std::runtime_error{"no pid in " + path};
  return pid;
}

bool runs(pid_t pid) {
  std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
  std::string line;
  if (!std::getline(file, line)) return false;
  const auto name_end = line.rfind(") ");
  return name_end != std::string::npos && line[name_end + 2] != 'Z' && line[name_end + 2] != 'X';
}

void signal_node(int signal) {
  if (::kill(node(), signal) != 0) throw std::runtime_error{"cannot signal the broker"};
}

void run(std::vector<std::string> command) {
  std::vector<char*> argv;
  for (auto& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int failure = posix_spawn(&pid, argv[0], &quiet, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  if (failure != 0) throw std::runtime_error{"cannot start " + command[0]};
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) throw std::runtime_error{command[0] + " failed"};
}

bool answers() {
  try {
    const amqp::Connection connection{address(), {}};
    return true;
  } catch (const amqp::Fault&) {
    return false;
  }
}

}  // namespace

amqp::Address address() {
  auto parsed = amqp::Address::parse(required("REMOTIST_AMQP_URL"));
  if (!parsed) throw std::runtime_error{parsed.refusal().detail};
  return *parsed;
}

void kill() {
  const pid_t pid = node();
  signal_node(SIGKILL);
  if (!eventually([&] { return !runs(pid); })) throw std::runtime_error{"the broker does not die"};
}

void start() {
  run({root() + "/script/up", "--state", required("REMOTIST_STATE")});
  if (!eventually(answers, 60s)) throw std::runtime_error{"the broker does not answer"};
}

void control(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{root() + "/script/lib/rabbitmqctl", "--state", required("REMOTIST_STATE")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  run(std::move(command));
}

Frozen::Frozen() {
  signal_node(SIGSTOP);
}
Frozen::~Frozen() {
  signal_node(SIGCONT);
}

MemoryAlarm::MemoryAlarm() {
  control({"set_vm_memory_high_watermark", "0"});
}
MemoryAlarm::~MemoryAlarm() {
  control({"set_vm_memory_high_watermark", "0.6"});
}

Queue::Queue(const std::string& purpose) : name_(unique_name(purpose)) {
  amqp::Connection{address(), {}}.declare_quorum_queue(name_);
}

Queue::~Queue() {
  try {
    amqp::Connection{address(), {}}.delete_queue(name_);
  } catch (const std::exception&) {
    // The broker is gone and the test has failed already: the stack is thrown away.
  }
}

amqp::Topology Queue::topology() const {
  return [name = name_](amqp::Connection& connection) { connection.declare_quorum_queue(name); };
}

void Queue::await_on_disk() const {
  std::filesystem::path list;
  const std::filesystem::path base = required("REMOTIST_STATE") + "/rabbitmq/mnesia";
  for (const auto& entry : std::filesystem::recursive_directory_iterator{base}) {
    if (entry.path().filename() == "names.dets" && entry.path().string().contains("/quorum/"))
      list = entry.path();
  }
  if (list.empty()) throw std::runtime_error{"the broker keeps no list of its quorum queues"};
  const auto listed = [&] {
    std::ifstream file{list, std::ios::binary};
    return std::string{std::istreambuf_iterator<char>{file}, {}}.contains(name_);
  };
  if (!eventually(listed)) throw std::runtime_error{"the broker does not write its list of quorum queues"};
}

std::vector<std::string> Queue::drain() const {
  // A queue's count lags behind; a last message of our own does not.
  const std::string end = unique_name("end");
  amqp::Connection connection{address(), {}};
  connection.publish({.routing_key = name_, .body = end});
  connection.consume(name_, 1000);
  std::vector<std::string> bodies;
  const auto deadline = amqp::Clock::now() + 30s;
  while (amqp::Clock::now() < deadline) {
    for (amqp::Event& event : connection.wait(deadline)) {
      auto* delivered = std::get_if<amqp::Delivered>(&event);
      if (delivered == nullptr) continue;
      connection.ack(delivered->tag);
      if (delivered->body == end) {
        connection.close();
        return bodies;
      }
      bodies.push_back(std::move(delivered->body));
    }
  }
  throw std::runtime_error{"the queue does not end"};
}

std::string unique_name(const std::string& purpose) {
  std::random_device random;
  return "remotist-test." + purpose + "." + std::to_string(random()) + std::to_string(random());
}

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds patience) {
  const auto deadline = amqp::Clock::now() + patience;
  while (!condition()) {
    if (amqp::Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

}  // namespace remotist::tests::broker
