#include "volunteer/agent/resume_choice.h"

#include <format>
#include <string_view>

#include "volunteer/sandbox/checkpoint_file.h"

namespace remotist::volunteer {
namespace {

// "4.5" of "4.5.0".
std::string_view minor_version(std::string_view version) {
  const auto first = version.find('.');
  return version.substr(0, first == std::string_view::npos ? first : version.find('.', first + 1));
}

std::string text_if_any(const nlohmann::json& object, const char* field) {
  const auto found = object.find(field);
  return found == object.end() || found->is_null() ? std::string{} : found->get<std::string>();
}

std::string why_not_package(const std::string& wanted, const MachineSoftware& machine) {
  const auto space = wanted.find(' ');
  const auto name = wanted.substr(0, space);
  const auto found = machine.packages.find(name);
  if (found == machine.packages.end()) return std::format("this machine does not have the package {}", name);
  if (space != std::string::npos && found->second != wanted.substr(space + 1))
    return std::format("this machine has {} {}, and the checkpoint needs {}", name, found->second, wanted);
  return {};
}

}  // namespace

OfferedCheckpoint offered_checkpoint(const nlohmann::json& object) {
  return {.sequence = object.at("sequence").get<std::int64_t>(),
          .format = object.at("format").get<std::int64_t>(),
          .r_version = text_if_any(object, "r_version"),
          .architecture = text_if_any(object, "architecture"),
          .packages = object.at("packages").get<std::vector<std::string>>(),
          .size_bytes = object.at("size_bytes").get<std::int64_t>(),
          .log = text_if_any(object, "log"),
          .log_left_out = object.value("log_left_out", std::int64_t{0}),
          .cpu_ms_max = object.contains("cpu_ms_max") && !object["cpu_ms_max"].is_null()
                            ? std::optional{object["cpu_ms_max"].get<std::int64_t>()}
                            : std::nullopt};
}

std::string why_not_resumable(const OfferedCheckpoint& checkpoint, const MachineSoftware& machine,
                              std::int64_t bytes_max) {
  if (checkpoint.format != kCheckpointFormat)
    return std::format("it has format {}, and this machine reads format {}", checkpoint.format,
                       kCheckpointFormat);
  if (!machine.architecture.empty() && checkpoint.architecture != machine.architecture)
    return std::format("this machine is {}, and the checkpoint is from {}", machine.architecture,
                       checkpoint.architecture);
  if (!machine.r_version.empty() && minor_version(checkpoint.r_version) != minor_version(machine.r_version))
    return std::format("this machine has R {}, and the checkpoint is from R {}", machine.r_version,
                       checkpoint.r_version);
  if (!machine.packages.empty()) {
    for (const auto& package : checkpoint.packages)
      if (auto why = why_not_package(package, machine); !why.empty()) return why;
  }
  if (checkpoint.size_bytes > bytes_max)
    return std::format("it is larger than the job's memory and disc: {} bytes", checkpoint.size_bytes);
  return {};
}

}  // namespace remotist::volunteer
