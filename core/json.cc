#include "core/json.h"

template class nlohmann::basic_json<>;

namespace remotist {

using nlohmann::json;

json json_in(std::string_view text) {
  return json::parse(text);
}

std::optional<json> json_if_any(std::string_view text, int depth_max) {
  bool is_shallow = true;
  // `depth` counts what is open around the event. Of what is too deep nothing is kept.
  const auto look = [&](int depth, json::parse_event_t event, json&) {
    const bool opens =
        event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    if (opens && depth >= depth_max) is_shallow = false;
    return is_shallow;
  };
  auto document = json::parse(text, look, false);
  if (document.is_discarded() || !is_shallow) return std::nullopt;
  return document;
}

}  // namespace remotist
