#include "volunteer/sandbox/guesthouse.h"

#include <format>
#include <fstream>
#include <utility>

#include "volunteer/sandbox/house.h"

namespace remotist::volunteer {

Guesthouse::Guesthouse(GuesthouseOptions options) : house_(std::make_unique<House>(std::move(options))) {}
Guesthouse::~Guesthouse() = default;

int Guesthouse::descriptor() const {
  return house_->descriptor();
}

std::vector<Event> Guesthouse::take_events() {
  return house_->take_events();
}

void Guesthouse::make_folder(GuestSpec& spec) {
  house_->make_folder(spec);
}

void Guesthouse::prepare_discs(std::int64_t disc_mb, std::size_t count) {
  house_->prepare_discs(disc_mb, count);
}

bool Guesthouse::ready() const {
  return house_->ready();
}

std::vector<std::string> Guesthouse::missing() const {
  return house_->missing();
}

void Guesthouse::start(GuestSpec spec) {
  house_->start(std::move(spec));
}

void Guesthouse::stop(std::string_view name) {
  house_->stop(name);
}

void Guesthouse::ask_checkpoint(std::string_view name) {
  house_->ask_checkpoint(name);
}

std::optional<std::int64_t> Guesthouse::cpu_ms(std::string_view name) const {
  const auto* stay = house_->find(name);
  if (stay == nullptr) return std::nullopt;
  return stay->cpu_ms();
}

std::string Guesthouse::log_so_far(std::string_view name) const {
  const auto* stay = house_->find(name);
  return stay == nullptr ? std::string{} : stay->log_so_far();
}

pid_t Guesthouse::zygote() const {
  return house_->zygote();
}

pid_t Guesthouse::process_of(std::string_view name) const {
  const auto* stay = house_->find(name);
  if (stay == nullptr) return 0;
  const pid_t first = stay->lodging().process;
  std::ifstream children{std::format("/proc/{0}/task/{0}/children", first)};
  pid_t job = 0;
  return children >> job ? job : first;
}

}  // namespace remotist::volunteer
