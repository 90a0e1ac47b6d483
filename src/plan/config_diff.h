#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

/// Compares configurations of streams and consumers as nats-server means them: what was not asked
/// stands at the server's default, which its answer spells out; the order of subjects is nothing;
/// what the server adds itself (`_nats.*` in the metadata) is not ours. Measured on 2.10 and 2.15.
namespace mesh::plan {

/// The names of the fields in which `observed` is not what was `asked`, sorted. Fields that neither
/// we ask nor this version of Mesh knows are left to the server.
/// Where a source starts (`opt_start_seq`, `opt_start_time`) is not compared: it is decided once.
[[nodiscard]] std::vector<std::string> stream_differences(const nlohmann::json& asked,
                                                          const nlohmann::json& observed);

/// The same of a consumer. Where it starts (`deliver_policy` and `opt_start_…`) is not compared.
[[nodiscard]] std::vector<std::string> consumer_differences(const nlohmann::json& asked,
                                                            const nlohmann::json& observed);

/// What the server's answer to a create or update does not hold of what was `asked`: here where it
/// starts counts too. Some versions drop in silence what they do not know.
[[nodiscard]] std::vector<std::string> echo_differences(const nlohmann::json& asked,
                                                        const nlohmann::json& answered);

/// The filters of a consumer, sorted, however they are written (`filter_subject` is one of them).
[[nodiscard]] std::vector<std::string> filters_of(const nlohmann::json& consumer_config);

}  // namespace mesh::plan
