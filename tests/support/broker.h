// The stack's RabbitMQ as tests handle it: where it is, and violence against it.
//
// What cannot be done fails the test.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/amqp/address.h"
#include "core/amqp/connection.h"
#include "core/amqp/reconnector.h"

namespace remotist::test::broker {

amqp::Address address();

// SIGKILL to the node; returns when it is gone.
void kill();
// script/up; returns when everything of the stack runs and the broker answers.
void start();
// Deletes all that a node that was killed had on disc: its next start is its first.
void wipe();
// Returns when a kill -9 can no longer lose that quorum queue. RabbitMQ answers a declaration before it has
// noted on disc that the queue exists; killed in that first second, a queue comes back empty and for ever
// without a leader.
void await_on_disk(const std::string& queue);
// script/lib/rabbitmqctl.
void control(const std::vector<std::string>& arguments);

// The node stands still while this lives: its sockets stay open and say nothing.
class Frozen {
 public:
  Frozen();
  ~Frozen();
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;
};

// The node believes that it is out of memory while this lives.
class MemoryAlarm {
 public:
  MemoryAlarm();
  ~MemoryAlarm();
  MemoryAlarm(const MemoryAlarm&) = delete;
  MemoryAlarm& operator=(const MemoryAlarm&) = delete;
};

// A quorum queue with a name of its own, deleted at the end.
class Queue {
 public:
  explicit Queue(const std::string& purpose);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  const std::string& name() const { return name_; }
  // Declares it on a connection of somebody else.
  amqp::Topology topology() const;
  void await_on_disk() const { broker::await_on_disk(name_); }
  // Takes everything out; the bodies, in order. Requires that nobody holds messages of it.
  std::vector<std::string> drain() const;

 private:
  std::string name_;
};

// "remotist-test.<purpose>.<random>"
std::string unique_name(const std::string& purpose);

}  // namespace remotist::test::broker
