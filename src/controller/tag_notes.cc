#include "controller/tag_notes.h"

#include <string>
#include <utility>

namespace mesh::controller {
namespace {

std::string tag_note_name(const oci::Reference& source, TagNote by) {
  return (by == TagNote::Mirrored ? "tag " : "base ") + source.name() + ":" + source.target();
}

}  // namespace

Result<std::optional<oci::Digest>> noted_tag(inventory::Inventory& inventory,
                                             const oci::Reference& source, TagNote by) {
  if (source.digest()) {
    return std::optional<oci::Digest>();
  }
  MESH_TRY(const auto note, inventory.note(tag_note_name(source, by)));
  auto digest = oci::Digest::parse(note.value_or(""));
  return digest ? std::optional(*std::move(digest)) : std::nullopt;
}

Status note_tag(inventory::Inventory& inventory, const oci::Reference& source, TagNote by,
                const oci::Digest& digest) {
  MESH_TRY(const auto before, noted_tag(inventory, source, by));
  if (source.digest() || before == digest) {
    return {};
  }
  return inventory.set_note(tag_note_name(source, by), digest.text());
}

}  // namespace mesh::controller
