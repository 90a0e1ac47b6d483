#pragma once

namespace mesh::natsconf {

/// Which server's grammar. They differ in one thing: a number with a suffix and further digits
/// (`5e7bcd`, as a password may start) is refused by `Nats210` and text to `Nats215` (measured on
/// 2.10.27 and 2.15.1; the change came with 2.15).
enum class Dialect { Nats210, Nats215 };

}  // namespace mesh::natsconf
