#include "market/api/machine_document.h"

#include "market/api/job_document.h"
#include "market/service/new_machine.h"

namespace remotist::market {

nlohmann::json document_of(const Machine& machine) {
  return {{"id", machine.id.text()},
          {"account", machine.account.text()},
          {"name", machine.name},
          {"cpu", machine.cpu_cores},
          {"ram", machine.ram_mb},
          {"disc", machine.disc_mb},
          {"price", per_cpu_hour(machine.price_per_cpu_second).number()},
          {"state", machine.state},
          {"created_at", machine.created_at},
          {"seen_at", or_null(machine.seen_at)},
          {"ban_reason", or_null(machine.ban_reason)}};
}

nlohmann::json document_of(const MachinePage& listed, const Page& page) {
  nlohmann::json machines = nlohmann::json::array();
  for (const auto& machine : listed.machines) machines.push_back(document_of(machine));
  return {{"machines", machines}, {"page", page.number}, {"per_page", page.rows}, {"more", listed.more}};
}

}  // namespace remotist::market
