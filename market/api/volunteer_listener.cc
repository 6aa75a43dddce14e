#include "market/api/volunteer_listener.h"

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <trantor/net/EventLoop.h>
#include <trantor/net/TcpServer.h>

#include "core/json.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/problem.h"
#include "core/token.h"
#include "core/websocket.h"
#include "core/websocket_handshake.h"
#include "market/api/hand_over.h"
#include "market/api/pending_connections.h"
#include "market/service/allowance.h"
#include "market/service/volunteers.h"
#include "market/store/sessions.h"

namespace remotist::market {
namespace {

using trantor::MsgBuffer;
using trantor::TcpConnectionPtr;
using websocket::CloseCode;

constexpr std::string_view kPath = "/volunteer/socket";

std::string http_answer(const Refusal& refusal) {
  const auto& row = row_of(refusal.code);
  const std::string body = problem_document(refusal, RequestId::make().text()).dump();
  return "HTTP/1.1 " + std::to_string(row.http_status) + " " + std::string{row.title} +
         "\r\nContent-Type: " + std::string{kProblemMediaType} +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

using WeakConnection = std::weak_ptr<trantor::TcpConnection>;

// A trantor connection as the service sees it.
class Socket final : public VolunteerSocket {
 public:
  // `closed` is called once, after close(), on the connection's loop.
  Socket(const TcpConnectionPtr& connection, std::function<void(const TcpConnectionPtr&)> closed)
      : connection_(connection), when_closed_(std::move(closed)) {}

  void send(std::string_view text) override {
    const auto connection = connection_.lock();
    if (connection && !closed_) connection->send(websocket::frame_of(websocket::Opcode::text, text));
  }
  void close(CloseCode code, std::string_view reason) override {
    const auto connection = connection_.lock();
    if (!connection || closed_.exchange(true)) return;
    connection->send(websocket::close_frame(code, reason));
    connection->shutdown();
    hand_over(connection->getLoop(), [weak = connection_, closed = when_closed_] {
      if (const auto alive = weak.lock()) closed(alive);
    });
  }
  bool is_closed() const { return closed_; }

 private:
  const WeakConnection connection_;
  const std::function<void(const TcpConnectionPtr&)> when_closed_;
  std::atomic<bool> closed_ = false;
};

using Pending = PendingConnections<trantor::TcpConnection>;

// The sockets of each machine: it needs one, and a second while it connects again. One more closes its
// oldest.
class MachineSockets {
 public:
  void add(MachineId machine, const std::shared_ptr<Socket>& socket) {
    std::shared_ptr<Socket> oldest;
    {
      const std::lock_guard lock{mutex_};
      auto& sockets = sockets_[machine];
      sockets.push_back(socket);
      if (sockets.size() > limits::kSocketsPerMachineMax) {
        oldest = std::move(sockets.front());
        sockets.pop_front();
      }
    }
    if (oldest) oldest->close(CloseCode::replaced, "the same machine has connected again");
  }
  void remove(MachineId machine, const std::shared_ptr<Socket>& socket) {
    const std::lock_guard lock{mutex_};
    const auto found = sockets_.find(machine);
    if (found == sockets_.end()) return;
    std::erase(found->second, socket);
    if (found->second.empty()) sockets_.erase(found);
  }

 private:
  std::mutex mutex_;
  std::map<MachineId, std::deque<std::shared_ptr<Socket>>> sockets_;
};

}  // namespace

// All of one connection happens on its own loop's thread.
struct VolunteerConnection {
  enum class Stage { handshake, asking, open, closed };
  Stage stage = Stage::handshake;
  std::optional<Pending::Ticket> pending;  // none: it is a machine's, and counted as one
  std::size_t late_bytes = 0;              // that came after it was closed
  std::string head;
  Allowance messages{limits::kSocketMessagesPerSecondMax, limits::kSocketBurstSeconds,
                     Allowance::Clock::now()};
  websocket::FrameReader reader{limits::kFrameBytesMax};
  std::shared_ptr<Socket> socket;
  std::shared_ptr<Volunteer> volunteer;
};

class VolunteerListener::Impl {
 public:
  Impl(Context& context, trantor::EventLoop* accepting, const std::vector<trantor::EventLoop*>& loops)
      : context_(context),
        server_(accepting,
                trantor::InetAddress{context.config.listen_address,
                                     static_cast<std::uint16_t>(context.config.socket_port)},
                "volunteers") {
    server_.setIoLoops(loops);
    server_.setConnectionCallback([this](const TcpConnectionPtr& connection) { changed(connection); });
    server_.setRecvMessageCallback(
        [this](const TcpConnectionPtr& connection, MsgBuffer* buffer) { received(connection, buffer); });
    server_.start();
    log::info("volunteers_listening",
              {{"address", context.config.listen_address}, {"port", context.config.socket_port}});
  }

  void stop() { server_.stop(); }

 private:
  using State = std::shared_ptr<VolunteerConnection>;

  void changed(const TcpConnectionPtr& connection) {
    if (!connection->connected()) {
      const auto state = connection->getContext<VolunteerConnection>();
      if (!state) return;
      if (state->pending) {
        pending_.remove(*state->pending);
      } else {
        release(state);
      }
      state->stage = VolunteerConnection::Stage::closed;
      connection->clearContext();  // the connection itself ends on another thread
      return;
    }
    const auto state = std::make_shared<VolunteerConnection>();
    connection->setContext(state);
    state->pending = pending_.add(connection);
    connection->setTcpNoDelay(true);
    connection->setHighWaterMarkCallback(
        [](const TcpConnectionPtr& full, std::size_t) { full->forceClose(); }, limits::kUnsentBytesMax);
    const WeakConnection weak = connection;
    connection->getLoop()->runAfter(limits::kHelloSecondsMax, [weak] { close_if_nobody(weak); });
  }

  static void close_if_nobody(const WeakConnection& weak) {
    const auto connection = weak.lock();
    if (!connection) return;
    const auto state = connection->getContext<VolunteerConnection>();
    if (!state || !state->volunteer || !state->volunteer->session()) connection->forceClose();
  }

  // It no longer counts as a machine's socket.
  void release(const State& state) {
    admitted_.fetch_sub(1);
    machine_sockets_.remove(state->volunteer->machine(), state->socket);
    context_.volunteers.gone(state->volunteer);
  }

  // Nothing that it says counts any more. Whoever does not close its own side is cut off.
  void closing(const TcpConnectionPtr& connection) {
    const auto state = connection->getContext<VolunteerConnection>();
    if (!state) return;
    if (!state->pending) {
      release(state);
      state->pending = pending_.add(connection);
    }
    state->stage = VolunteerConnection::Stage::closed;
    const WeakConnection weak = connection;
    connection->getLoop()->runAfter(limits::kClosingSecondsMax, [weak] {
      if (const auto alive = weak.lock()) alive->forceClose();
    });
  }

  void received(const TcpConnectionPtr& connection, MsgBuffer* buffer) {
    const auto state = connection->getContext<VolunteerConnection>();
    const std::string bytes{buffer->peek(), buffer->readableBytes()};
    buffer->retrieveAll();
    if (!state) return;
    switch (state->stage) {
      case VolunteerConnection::Stage::handshake:
        return shake_hands(connection, state, bytes);
      // Nobody speaks before it has been let in.
      case VolunteerConnection::Stage::asking:
        return connection->forceClose();
      case VolunteerConnection::Stage::open:
        return hear(connection, state, bytes);
      case VolunteerConnection::Stage::closed:
        // What was on its way is let in, so that the peer still gets the reason; a reset would take it away.
        state->late_bytes += bytes.size();
        if (state->late_bytes > limits::kUnackedBytesMax) connection->forceClose();
        return;
    }
  }

  void refuse_socket(const TcpConnectionPtr& connection, const Refusal& refusal) {
    connection->send(http_answer(refusal));
    connection->shutdown();
    closing(connection);
  }

  void shake_hands(const TcpConnectionPtr& connection, const State& state, const std::string& bytes) {
    state->head += bytes;
    const auto end = websocket::head_end(state->head);
    if (!end && state->head.size() <= limits::kHandshakeBytesMax) return;
    if (!end || *end > limits::kHandshakeBytesMax) {
      return refuse_socket(connection, refuse(Code::too_large, "the request's head is too long"));
    }
    if (*end != state->head.size()) {
      return refuse_socket(connection, refuse(Code::malformed_request, "wait for 101 before you speak"));
    }
    const auto handshake = websocket::read_handshake(state->head);
    state->head.clear();
    if (!handshake) return refuse_socket(connection, handshake.refusal());
    if (handshake->path != kPath) {
      return refuse_socket(connection,
                           refuse(Code::not_found, "volunteers' sockets are at " + std::string{kPath}));
    }
    const auto answer = websocket::accept_key(handshake->key);
    if (!answer) {
      return refuse_socket(connection,
                           refuse(Code::malformed_request, "Sec-WebSocket-Key must be 16 bytes in base64"));
    }
    ask_who(connection, state, *answer, token_hash(handshake->bearer));
  }

  // Looks in the database whose token it is, and goes on when it knows.
  void ask_who(const TcpConnectionPtr& connection, const State& state, const std::string& answer,
               std::string hash) {
    if (context_.health.stopping) {
      return refuse_socket(connection, refuse(Code::busy, "this market is stopping: try another"));
    }
    state->stage = VolunteerConnection::Stage::asking;
    const std::weak_ptr<trantor::TcpConnection> weak = connection;
    auto* const loop = connection->getLoop();
    const bool queued = context_.database.try_run([this, weak, loop, answer, hash](pg::Session& db) {
      Result<MachineId> machine =
          refuse(Code::unauthenticated, "no machine has this token: its owner must start it again");
      try {
        if (const auto found = machine_of_token(db, hash)) machine = *found;
      } catch (const std::exception& fault) {
        log::warn("volunteer_unknown", {{"what", fault.what()}});
        machine = refuse(Code::database_unavailable, "try again in a moment");
      }
      hand_over(loop, [this, weak, answer, hash, machine] {
        if (const auto alive = weak.lock()) let_in(alive, answer, hash, machine);
      });
    });
    if (!queued) refuse_socket(connection, refuse(Code::busy, "try again in a moment"));
  }

  void let_in(const TcpConnectionPtr& connection, const std::string& answer, const std::string& hash,
              const Result<MachineId>& machine) {
    const auto state = connection->getContext<VolunteerConnection>();
    if (!state || state->stage != VolunteerConnection::Stage::asking) return;
    if (!machine) return refuse_socket(connection, machine.refusal());
    if (admitted_.fetch_add(1) >= context_.config.sockets_max) {
      admitted_.fetch_sub(1);
      return refuse_socket(connection, refuse(Code::busy, "this market has as many volunteers as it takes"));
    }
    state->stage = VolunteerConnection::Stage::open;
    pending_.remove(*std::exchange(state->pending, std::nullopt));
    state->socket =
        std::make_shared<Socket>(connection, [this](const TcpConnectionPtr& closed) { closing(closed); });
    state->volunteer = context_.volunteers.connect(state->socket, *machine, hash);
    connection->send(websocket::switching_protocols(answer));
    machine_sockets_.add(*machine, state->socket);
  }

  void hear(const TcpConnectionPtr& connection, const State& state, const std::string& bytes) {
    std::vector<websocket::Message> messages;
    const bool right = state->reader.read(bytes, messages);
    for (const auto& message : messages) {
      if (state->socket->is_closed()) return;
      if (!state->messages.has(1, Allowance::Clock::now())) {
        return state->socket->close(CloseCode::too_much, "more messages a second than a machine may send");
      }
      state->messages.take(1);
      switch (message.opcode) {
        case websocket::Opcode::text:
          context_.volunteers.hear(state->volunteer, message.payload);
          break;
        case websocket::Opcode::ping:
          connection->send(websocket::frame_of(websocket::Opcode::pong, message.payload));
          break;
        case websocket::Opcode::pong:
          break;
        case websocket::Opcode::close:
          // It has said all it wanted; whoever also hangs up at once must not be waited for.
          connection->forceClose();
          return;
        default:
          state->socket->close(CloseCode::not_text, "messages are text");
          return;
      }
    }
    if (!right) state->socket->close(state->reader.fault(), "this is no WebSocket frame of a client");
  }

  Context& context_;
  std::atomic<std::int64_t> admitted_ = 0;
  Pending pending_{limits::kSocketsPendingMax};
  MachineSockets machine_sockets_;
  trantor::TcpServer server_;
};

VolunteerListener::VolunteerListener(Context& context, trantor::EventLoop* accepting,
                                     const std::vector<trantor::EventLoop*>& loops)
    : impl_(std::make_unique<Impl>(context, accepting, loops)) {}
VolunteerListener::~VolunteerListener() = default;

void VolunteerListener::stop() {
  impl_->stop();
}

}  // namespace remotist::market
