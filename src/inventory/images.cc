#include "inventory/parts.h"

namespace mesh::inventory {
namespace {

Status insert_members(Database& database, const ImageRecord& image) {
  MESH_TRY(Statement insert,
           database.prepare("INSERT INTO image_member (image, position, digest, size, kind) "
                            "VALUES (?1, ?2, ?3, ?4, ?5)"));
  std::int64_t position = 0;
  for (const ImageMember& member : image.members) {
    MESH_CHECK(insert.bind(1, image.digest)
                   .bind(2, position++)
                   .bind(3, member.digest)
                   .bind(4, static_cast<std::int64_t>(member.size))
                   .bind(5, member.manifest ? "manifest" : "blob")
                   .run());
  }
  return {};
}

// What a digest consists of never changes, so one that is known is left as it is.
Status insert_image(Database& database, const ImageRecord& image) {
  MESH_TRY(Statement insert, database.prepare("INSERT INTO image (digest, media_type) "
                                              "VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING"));
  MESH_CHECK(insert.bind(1, image.digest).bind(2, image.media_type).run());
  return database.changes() > 0 ? insert_members(database, image) : Status();
}

Status insert_holding(Database& database, const std::string& registry, const NewHolding& holding,
                      const std::string& now) {
  MESH_TRY(Statement insert,
           database.prepare("INSERT INTO holding (registry, repository, image, verified) "
                            "VALUES (?1, ?2, ?3, ?4) ON CONFLICT (registry, repository, image) "
                            "DO UPDATE SET verified = excluded.verified"));
  return insert.bind(1, registry)
      .bind(2, holding.repository)
      .bind(3, holding.image.digest)
      .bind(4, now)
      .run();
}

}  // namespace

Result<std::optional<ImageRecord>> Inventory::image(const std::string& registry,
                                                    const std::string& digest) {
  MESH_TRY(Statement select,
           parts_->database.prepare("SELECT media_type FROM image WHERE digest = ?1 AND EXISTS "
                                    "(SELECT 1 FROM holding WHERE image = ?1 AND registry = ?2)"));
  MESH_TRY(const bool found, select.bind(1, digest).bind(2, registry).step());
  if (!found) {
    return std::optional<ImageRecord>();
  }
  ImageRecord image{digest, select.text(0), {}};
  MESH_TRY(Statement members,
           parts_->database.prepare("SELECT digest, size, kind FROM image_member "
                                    "WHERE image = ?1 ORDER BY position"));
  members.bind(1, digest);
  for (;;) {
    MESH_TRY(const bool row, members.step());
    if (!row) {
      return image;
    }
    image.members.push_back({members.text(0), static_cast<std::uint64_t>(members.integer(1)),
                             members.text(2) == "manifest"});
  }
}

Result<std::vector<HoldingRecord>> Inventory::holdings(const std::string& registry,
                                                       const std::optional<std::string>& image) {
  MESH_TRY(Statement select,
           parts_->database.prepare("SELECT registry, repository, image, verified FROM holding "
                                    "WHERE registry = ?1 AND (?2 IS NULL OR image = ?2) "
                                    "ORDER BY verified DESC, repository, image"));
  select.bind(1, registry);
  if (image) {
    select.bind(2, *image);
  } else {
    select.bind_null(2);
  }
  std::vector<HoldingRecord> out;
  for (;;) {
    MESH_TRY(const bool row, select.step());
    if (!row) {
      return out;
    }
    out.push_back({select.text(0), select.text(1), select.text(2), select.text(3)});
  }
}

Result<std::optional<std::string>> Inventory::home_of(const std::string& registry,
                                                      const std::string& member) {
  MESH_TRY(Statement select,
           parts_->database.prepare(
               "SELECT holding.repository FROM image_member JOIN holding "
               "ON holding.image = image_member.image WHERE image_member.digest = ?1 "
               "AND holding.registry = ?2 ORDER BY holding.verified DESC LIMIT 1"));
  MESH_TRY(const bool row, select.bind(1, member).bind(2, registry).step());
  return row ? std::optional(select.text(0)) : std::nullopt;
}

Result<std::optional<ManifestRecord>> Inventory::manifest(const std::string& digest) {
  MESH_TRY(Statement select,
           parts_->database.prepare("SELECT media_type, bytes FROM manifest WHERE digest = ?1"));
  MESH_TRY(const bool row, select.bind(1, digest).step());
  return row ? std::optional(ManifestRecord{digest, select.text(0), std::string(select.blob(1))})
             : std::nullopt;
}

Status Inventory::keep_manifests(std::span<const ManifestRecord> manifests) {
  return parts_->database.transaction([&]() -> Status {
    MESH_TRY(Statement insert,
             parts_->database.prepare("INSERT INTO manifest (digest, media_type, bytes) "
                                      "VALUES (?1, ?2, ?3) ON CONFLICT (digest) DO NOTHING"));
    for (const ManifestRecord& one : manifests) {
      MESH_CHECK(insert.bind(1, one.digest).bind(2, one.media_type).bind_blob(3, one.bytes).run());
    }
    return {};
  });
}

Status Inventory::record_holdings(const std::string& registry,
                                  std::span<const NewHolding> holdings) {
  const std::string now = parts_->now();
  return parts_->database.transaction([&]() -> Status {
    for (const NewHolding& holding : holdings) {
      MESH_CHECK(insert_image(parts_->database, holding.image));
      MESH_CHECK(insert_holding(parts_->database, registry, holding, now));
    }
    return {};
  });
}

Status Inventory::forget_holding(const std::string& registry, const std::string& repository,
                                 const std::string& image) {
  MESH_TRY(Statement remove,
           parts_->database.prepare("DELETE FROM holding WHERE registry = ?1 AND repository = ?2 "
                                    "AND image = ?3"));
  return remove.bind(1, registry).bind(2, repository).bind(3, image).run();
}

}  // namespace mesh::inventory
