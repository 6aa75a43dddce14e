#include "market/api/volunteer_listener.h"

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <trantor/net/EventLoop.h>
#include <trantor/net/TcpServer.h>

#include "core/limits.h"
#include "core/log.h"
#include "core/token.h"
#include "core/token_bucket.h"
#include "core/websocket.h"
#include "core/websocket_handshake.h"
#include "market/api/pending_connections.h"
#include "market/api/queue_in_loop.h"
#include "market/service/volunteers.h"
#include "market/store/machine_sessions.h"

namespace remotist::market {
namespace {

using trantor::MsgBuffer;
using trantor::TcpConnectionPtr;
using websocket::CloseCode;

constexpr std::string_view kPath = "/volunteer/socket";

using WeakConnection = std::weak_ptr<trantor::TcpConnection>;

// A trantor connection as the service sees it.
class Socket final : public VolunteerSocket {
 public:
  // `closed` is called once, after close(), on the connection's loop.
  Socket(const TcpConnectionPtr& connection, std::function<void(const TcpConnectionPtr&)> closed)
      : connection_(connection), on_closed_(std::move(closed)) {}

  void send(std::string_view text) override {
    const auto connection = connection_.lock();
    if (connection && !closed_) connection->send(websocket::frame_of(websocket::Opcode::text, text));
  }
  void close(CloseCode code, std::string_view reason) override {
    const auto connection = connection_.lock();
    if (!connection || closed_.exchange(true)) return;
    connection->send(websocket::close_frame(code, reason));
    connection->shutdown();
    queue_in_loop(connection->getLoop(), [weak = connection_, closed = on_closed_] {
      if (const auto alive = weak.lock()) closed(alive);
    });
  }
  bool is_closed() const { return closed_; }

 private:
  const WeakConnection connection_;
  const std::function<void(const TcpConnectionPtr&)> on_closed_;
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

// Used only on the connection's event loop.
struct VolunteerConnection {
  enum class Stage { handshake, authenticating, open, closed };
  Stage stage = Stage::handshake;
  std::optional<Pending::Ticket> pending;  // none: it counts as a machine's socket
  std::size_t late_bytes = 0;              // that came after it was closed
  std::string head;
  TokenBucket messages{limits::kSocketMessagesPerSecondMax,
                       limits::kSocketMessagesPerSecondMax* limits::kSocketBurstSeconds,
                       TokenBucket::Clock::now()};
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
    server_.setConnectionCallback(
        [this](const TcpConnectionPtr& connection) { on_connection_changed(connection); });
    server_.setRecvMessageCallback(
        [this](const TcpConnectionPtr& connection, MsgBuffer* buffer) { on_bytes(connection, buffer); });
    server_.start();
    log::info("volunteers_listening",
              {{"address", context.config.listen_address}, {"port", context.config.socket_port}});
  }

  void stop() { server_.stop(); }

 private:
  using State = std::shared_ptr<VolunteerConnection>;

  void on_connection_changed(const TcpConnectionPtr& connection) {
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
    connection->getLoop()->runAfter(limits::kHelloSecondsMax, [weak] { close_without_session(weak); });
  }

  static void close_without_session(const WeakConnection& weak) {
    const auto connection = weak.lock();
    if (!connection) return;
    const auto state = connection->getContext<VolunteerConnection>();
    if (!state || !state->volunteer || !state->volunteer->machine_session()) connection->forceClose();
  }

  // Stops counting it as a machine's socket.
  void release(const State& state) {
    admitted_.fetch_sub(1);
    machine_sockets_.remove(state->volunteer->machine(), state->socket);
    context_.volunteers.on_disconnect(state->volunteer);
  }

  // Ignores further input, and cuts the connection if the peer does not close it in time.
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

  void on_bytes(const TcpConnectionPtr& connection, MsgBuffer* buffer) {
    const auto state = connection->getContext<VolunteerConnection>();
    const std::string bytes{buffer->peek(), buffer->readableBytes()};
    buffer->retrieveAll();
    if (!state) return;
    switch (state->stage) {
      case VolunteerConnection::Stage::handshake:
        return read_handshake(connection, state, bytes);
      // The peer must wait for the answer to its handshake.
      case VolunteerConnection::Stage::authenticating:
        return connection->forceClose();
      case VolunteerConnection::Stage::open:
        return read_frames(connection, state, bytes);
      case VolunteerConnection::Stage::closed:
        // Data in flight is read, so that the peer still gets the close reason; a reset would discard it.
        state->late_bytes += bytes.size();
        if (state->late_bytes > limits::kUnackedBytesMax) connection->forceClose();
        return;
    }
  }

  void refuse_socket(const TcpConnectionPtr& connection, const Refusal& refusal) {
    connection->send(websocket::refusal_response(refusal, RequestId::make().text()));
    connection->shutdown();
    closing(connection);
  }

  void read_handshake(const TcpConnectionPtr& connection, const State& state, const std::string& bytes) {
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
    authenticate(connection, state, *answer, token_hash(handshake->bearer));
  }

  // Looks the token's machine up in the database, then calls admit().
  void authenticate(const TcpConnectionPtr& connection, const State& state, const std::string& answer,
                    std::string hash) {
    if (context_.health.stopping) {
      return refuse_socket(connection, refuse(Code::busy, "this market is stopping: try another"));
    }
    state->stage = VolunteerConnection::Stage::authenticating;
    const std::weak_ptr<trantor::TcpConnection> weak = connection;
    auto* const loop = connection->getLoop();
    const bool queued = context_.database.try_run([this, weak, loop, answer, hash](pg::Connection& db) {
      Result<MachineId> machine =
          refuse(Code::unauthenticated, "no machine has this token: its owner must start it again");
      try {
        if (const auto found = machine_of_token(db, hash)) machine = *found;
      } catch (const std::exception& fault) {
        log::warn("volunteer_unknown", {{"why", fault.what()}});
        machine = refuse(Code::database_unavailable, "try again in a moment");
      }
      queue_in_loop(loop, [this, weak, answer, hash, machine] {
        if (const auto alive = weak.lock()) admit(alive, answer, hash, machine);
      });
    });
    if (!queued) refuse_socket(connection, refuse(Code::busy, "try again in a moment"));
  }

  void admit(const TcpConnectionPtr& connection, const std::string& answer, const std::string& hash,
             const Result<MachineId>& machine) {
    const auto state = connection->getContext<VolunteerConnection>();
    if (!state || state->stage != VolunteerConnection::Stage::authenticating) return;
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

  void read_frames(const TcpConnectionPtr& connection, const State& state, const std::string& bytes) {
    std::vector<websocket::Message> messages;
    const bool right = state->reader.read(bytes, messages);
    for (const auto& message : messages) {
      if (state->socket->is_closed()) return;
      if (!state->messages.try_take(1, TokenBucket::Clock::now())) {
        return state->socket->close(CloseCode::too_much, "more messages a second than a machine may send");
      }
      switch (message.opcode) {
        case websocket::Opcode::text:
          context_.volunteers.on_message(state->volunteer, message.payload);
          break;
        case websocket::Opcode::ping:
          connection->send(websocket::frame_of(websocket::Opcode::pong, message.payload));
          break;
        case websocket::Opcode::pong:
          break;
        case websocket::Opcode::close:
          // The peer has finished, and may have closed its side already: do not wait for it.
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
