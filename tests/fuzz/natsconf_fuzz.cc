#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "broker/config_view.h"
#include "natsconf/digest.h"
#include "natsconf/document.h"
#include "natsconf/writer.h"

using mesh::Result;

namespace {

/// Gives every include and every variable something, now and then itself.
class Around : public mesh::natsconf::Surroundings {
 public:
  explicit Around(std::string text) : text_(std::move(text)) {}
  Result<Included> include(const std::string& includer, std::string_view path) override {
    if (path.size() % 3 == 0) {
      return mesh::fail(mesh::Code::NotFound, "no such file");
    }
    return Included{includer + "+", path.size() % 3 == 1 ? std::string(path) : text_};
  }
  std::optional<std::string> variable(std::string_view name) override {
    return name.size() % 3 == 0 ? std::nullopt : std::optional("$" + std::string(name));
  }

 private:
  std::string text_;
};

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

/// A value's JSON, put back as text, means the same: strings are quoted for the grammar, not JSON.
void read_quoted_back(const std::string& text) {
  const auto document = mesh::natsconf::parse("a = " + mesh::natsconf::quoted_text(text));
  require(document.has_value() && document->root().find("a")->text() == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  for (const auto dialect : {mesh::natsconf::Dialect::Nats210, mesh::natsconf::Dialect::Nats215}) {
    Around around(text.size() < 256 ? text : std::string("x = 1"));
    const auto document = mesh::natsconf::parse(text, {"fuzz.conf", &around, dialect});
    if (document) {
      require(mesh::natsconf::config_digest(*document).size() == 71);
      (void)mesh::broker::read_view(*document);
    } else {
      require(!document.error().message.empty());
    }
  }
  read_quoted_back(text);
  return 0;
}
