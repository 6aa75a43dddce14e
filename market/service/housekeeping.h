// What every market does now and then; they do not get in each other's way.
#pragma once

#include <chrono>
#include <functional>

#include "core/pg/session.h"

namespace remotist::market {

// Puts every queued job that nobody has touched for so long before the workers again. Messages are hints:
// with this, losing all of them, or the whole broker, loses nothing but time. `published` is called when
// there is something for the publisher.
void sweep_all_jobs(pg::Session& db, std::chrono::milliseconds untouched,
                    const std::function<void()>& published);

}  // namespace remotist::market
