#include "tests/support/broker.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>

#include "tests/support/environment.h"
#include "tests/support/eventually.h"

namespace remotist::test::broker {
namespace {

using namespace std::chrono_literals;

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
  auto parsed = amqp::Address::parse(env("REMOTIST_AMQP_URL"));
  if (!parsed) throw std::runtime_error{parsed.refusal().detail};
  return *parsed;
}

void kill() {
  kill_part("rabbitmq");
}

void start() {
  bring_up();
  if (!eventually(answers, 60s)) throw std::runtime_error{"the broker does not answer"};
}

void control(const std::vector<std::string>& arguments) {
  std::string command =
      "'" + env("REMOTIST_ROOT") + "/script/lib/rabbitmqctl' --state '" + env("REMOTIST_STATE") + "'";
  for (const auto& argument : arguments) command += " '" + argument + "'";
  output_of(command);
}

Frozen::Frozen() {
  freeze_part("rabbitmq");
}
Frozen::~Frozen() {
  signal_part("rabbitmq", SIGCONT);
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

void wipe() {
  std::filesystem::remove_all(env("REMOTIST_STATE") + "/rabbitmq/mnesia");
}

void await_on_disk(const std::string& queue) {
  std::filesystem::path list;
  const std::filesystem::path base = env("REMOTIST_STATE") + "/rabbitmq/mnesia";
  for (const auto& entry : std::filesystem::recursive_directory_iterator{base}) {
    if (entry.path().filename() == "names.dets" && entry.path().string().contains("/quorum/"))
      list = entry.path();
  }
  if (list.empty()) throw std::runtime_error{"the broker keeps no list of its quorum queues"};
  const auto listed = [&] {
    std::ifstream file{list, std::ios::binary};
    return std::string{std::istreambuf_iterator<char>{file}, {}}.contains(queue);
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

}  // namespace remotist::test::broker
