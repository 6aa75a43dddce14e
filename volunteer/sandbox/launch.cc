#include "volunteer/sandbox/launch.h"

#include "core/json.h"
#include "volunteer/sandbox/hex_digits.h"

namespace remotist::volunteer {

using nlohmann::json;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Protections, own_root, own_inodes, own_processes, own_network, own_ipc,
                                   own_time, own_uid, no_privileges, seccomp, rlimits, cgroup, disc_limit,
                                   frame_budget)

std::string encode(const ZygoteConfig& config) {
  return json{{"protections", config.protections},
              {"uid_range", config.uid_range},
              {"guests", config.guests},
              {"guests_detached", config.guests_detached},
              {"memory_counted", config.memory_counted}}
      .dump();
}

ZygoteConfig parse_zygote_config(std::string_view text) {
  const auto object = json_in(text);
  return {object.at("protections").get<Protections>(), object.at("uid_range").get<bool>(),
          object.at("guests").get<std::string>(), object.at("guests_detached").get<bool>(),
          object.at("memory_counted").get<bool>()};
}

std::string encode(const GuestConfig& config) {
  const auto& limits = config.limits;
  json object{{"folder", config.folder},
              {"own_disc", config.own_disc},
              {"exec_file", config.exec_file},
              {"uid", config.uid},
              {"cpu_cores", limits.cpu_cores},
              {"ram_mb", limits.ram_mb},
              {"disc_mb", limits.disc_mb},
              {"processes_max", limits.processes_max},
              {"descriptors_max", limits.descriptors_max},
              {"watched_variables", config.watched_variables},
              {"resumable", config.resumable},
              {"checkpoint_every_ms", config.checkpoint_every_ms},
              {"output_marker", hex_digits(config.output_marker)},
              {"exact_times", config.exact_times},
              {"resumes", config.resumes}};
  auto& watched = object["watched"] = json::array();
  for (const auto& [variable, last] : config.watched)
    watched.push_back({variable, name_of(last.kind), hex_digits(last.hash)});
  if (limits.cpu_ms_max) object["cpu_ms_max"] = *limits.cpu_ms_max;
  return object.dump();
}

GuestConfig parse_guest_config(std::string_view text) {
  const auto object = json_in(text);
  GuestConfig config{.folder = object.at("folder"),
                     .own_disc = object.at("own_disc"),
                     .exec_file = object.at("exec_file"),
                     .uid = object.at("uid"),
                     .watched_variables = object.at("watched_variables")};
  auto& limits = config.limits;
  limits.cpu_cores = object.at("cpu_cores");
  limits.ram_mb = object.at("ram_mb");
  limits.disc_mb = object.at("disc_mb");
  limits.processes_max = object.at("processes_max");
  limits.descriptors_max = object.at("descriptors_max");
  config.resumable = object.at("resumable");
  config.checkpoint_every_ms = object.at("checkpoint_every_ms");
  config.output_marker = bytes_of_digits(object.at("output_marker").get<std::string>());
  config.exact_times = object.at("exact_times");
  config.resumes = object.at("resumes");
  for (const auto& last : object.at("watched")) {
    config.watched[last.at(0).get<std::size_t>()] = {
        watched_kind_named(last.at(1).get<std::string>()).value_or(WatchedKind::value),
        bytes_of_digits(last.at(2).get<std::string>())};
  }
  if (object.contains("cpu_ms_max")) limits.cpu_ms_max = object.at("cpu_ms_max").get<std::int64_t>();
  return config;
}

}  // namespace remotist::volunteer
