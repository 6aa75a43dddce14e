#include "core/pg/statement.h"

#include "core/pg/connection_impl.h"

namespace remotist::pg {

pqxx::result read(Connection& connection, const Query& query, const pqxx::params& params) {
  return connection.impl().run(query, params, Connection::Impl::Effect::reads);
}

pqxx::result write(Connection& connection, const Query& query, const pqxx::params& params) {
  return connection.impl().run(query, params, Connection::Impl::Effect::writes);
}

void run_script(Connection& connection, const std::string& text) {
  connection.impl().run_script(text);
}

pqxx::bytes_view bytes_of(std::string_view bytes) {
  return pqxx::binary_cast(bytes);
}

std::vector<std::string> texts_of(const pqxx::field& array_field) {
  const auto array = array_field.as_sql_array<std::string>();
  return {array.cbegin(), array.cend()};
}

std::string text_of(const pqxx::field& bytea_field) {
  const auto bytes = bytea_field.as<pqxx::bytes>();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace remotist::pg
