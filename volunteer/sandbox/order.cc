#include "volunteer/sandbox/order.h"

#include "core/json.h"

namespace remotist::volunteer {

using nlohmann::json;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Layers, own_root, own_inodes, own_processes, own_network, own_ipc,
                                   own_time, own_uid, no_privileges, seccomp, rlimits, cgroup, disc_limit,
                                   frame_budget)

std::string text_of(const ZygoteOrder& order) {
  return json{{"layers", order.layers},
              {"uid_range", order.uid_range},
              {"guests", order.guests},
              {"guests_detached", order.guests_detached},
              {"memory_counted", order.memory_counted}}
      .dump();
}

ZygoteOrder zygote_order_in(std::string_view text) {
  const auto object = json_in(text);
  return {object.at("layers").get<Layers>(), object.at("uid_range").get<bool>(),
          object.at("guests").get<std::string>(), object.at("guests_detached").get<bool>(),
          object.at("memory_counted").get<bool>()};
}

std::string text_of(const GuestOrder& order) {
  const auto& limits = order.limits;
  json object{{"folder", order.folder},
              {"own_disc", order.own_disc},
              {"exec_file", order.exec_file},
              {"uid", order.uid},
              {"cpu_cores", limits.cpu_cores},
              {"ram_mb", limits.ram_mb},
              {"disc_mb", limits.disc_mb},
              {"processes_max", limits.processes_max},
              {"descriptors_max", limits.descriptors_max},
              {"watched", order.watched},
              {"resumable", order.resumable},
              {"checkpoint_every_ms", order.checkpoint_every_ms}};
  if (limits.cpu_ms_max) object["cpu_ms_max"] = *limits.cpu_ms_max;
  return object.dump();
}

GuestOrder guest_order_in(std::string_view text) {
  const auto object = json_in(text);
  GuestOrder order{.folder = object.at("folder"),
                   .own_disc = object.at("own_disc"),
                   .exec_file = object.at("exec_file"),
                   .uid = object.at("uid"),
                   .watched = object.at("watched")};
  auto& limits = order.limits;
  limits.cpu_cores = object.at("cpu_cores");
  limits.ram_mb = object.at("ram_mb");
  limits.disc_mb = object.at("disc_mb");
  limits.processes_max = object.at("processes_max");
  limits.descriptors_max = object.at("descriptors_max");
  order.resumable = object.at("resumable");
  order.checkpoint_every_ms = object.at("checkpoint_every_ms");
  if (object.contains("cpu_ms_max")) limits.cpu_ms_max = object.at("cpu_ms_max").get<std::int64_t>();
  return order;
}

}  // namespace remotist::volunteer
