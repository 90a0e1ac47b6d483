#include "oci/media_type.h"

#include <gtest/gtest.h>

#include <string>

#include "oci/platform.h"

namespace mesh::oci {
namespace {

TEST(MediaTypeTest, IsTheTypeAlone) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"  ", ""},
      {"application/json", "application/json"},
      {"application/json; charset=utf-8", "application/json"},
      {"application/json;charset=utf-8", "application/json"},
      {" Application/JSON ; charset=\"utf-8\"; x=y", "application/json"},
      {"text/plain; charset=utf-8", "text/plain"},
      {"application/vnd.oci.image.index.v1+json;charset=UTF-8",
       "application/vnd.oci.image.index.v1+json"}};
  for (const auto& [text, type] : cases) {
    EXPECT_EQ(parse_media_type(text).value(), type) << text;
  }
  for (const char* text : {"json", "/json", "application/", "a b/c", "a/b c", "; charset=utf-8",
                           "a/b/c", "application/json, text/plain", "<html>"}) {
    EXPECT_EQ(parse_media_type(text).error().code, Code::InvalidArgument) << text;
  }
}

TEST(MediaTypeTest, KnowsOciAndDocker) {
  const std::pair<const char*, MediaKind> cases[] = {
      {"application/vnd.oci.image.index.v1+json", MediaKind::Index},
      {"application/vnd.docker.distribution.manifest.list.v2+json", MediaKind::Index},
      {"application/vnd.oci.image.manifest.v1+json", MediaKind::Manifest},
      {"application/vnd.docker.distribution.manifest.v2+json", MediaKind::Manifest},
      {"application/vnd.oci.image.config.v1+json", MediaKind::Config},
      {"application/vnd.docker.container.image.v1+json", MediaKind::Config},
      {"application/vnd.oci.image.layer.v1.tar", MediaKind::Layer},
      {"application/vnd.oci.image.layer.v1.tar+gzip", MediaKind::Layer},
      {"application/vnd.oci.image.layer.v1.tar+zstd", MediaKind::Layer},
      {"application/vnd.docker.image.rootfs.diff.tar", MediaKind::Layer},
      {"application/vnd.docker.image.rootfs.diff.tar.gzip", MediaKind::Layer},
      {"application/vnd.docker.image.rootfs.diff.tar.zstd", MediaKind::Layer},
      {"application/vnd.oci.image.layer.nondistributable.v1.tar", MediaKind::ForeignLayer},
      {"application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", MediaKind::ForeignLayer},
      {"application/vnd.oci.image.layer.nondistributable.v1.tar+zstd", MediaKind::ForeignLayer},
      {"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", MediaKind::ForeignLayer},
      {"application/vnd.docker.distribution.manifest.v1+json", MediaKind::Schema1},
      {"application/vnd.docker.distribution.manifest.v1+prettyjws", MediaKind::Schema1},
      {"application/vnd.oci.empty.v1+json", MediaKind::Other},
      {"application/vnd.oci.artifact.manifest.v1+json", MediaKind::Other},
      {"application/vnd.in-toto+json", MediaKind::Other},
      {"", MediaKind::Other}};
  for (const auto& [type, kind] : cases) {
    EXPECT_EQ(media_kind(type), kind) << type;
  }
}

TEST(MediaTypeTest, AsksForAllFourAlways) {
  const std::string accept(manifest_accept());
  for (const std::string_view type : {kOciIndex, kOciManifest, kDockerList, kDockerManifest}) {
    EXPECT_NE(accept.find(type), std::string::npos) << type;
  }
  EXPECT_EQ(std::count(accept.begin(), accept.end(), ','), 3);
  EXPECT_EQ(accept.find("manifest.v1+json, application/vnd.docker.distribution.manifest.v1"),
            std::string::npos);
}

TEST(PlatformTest, HasOneNameForEach) {
  const std::pair<const char*, const char*> cases[] = {
      {"linux/amd64", "linux/amd64"},       {"Linux/AMD64", "linux/amd64"},
      {"linux/x86_64", "linux/amd64"},      {"linux/amd64/v1", "linux/amd64"},
      {"linux/amd64/v3", "linux/amd64/v3"}, {"linux/aarch64", "linux/arm64"},
      {"linux/arm64/v8", "linux/arm64"},    {"linux/arm64/8", "linux/arm64"},
      {"linux/arm64/v9", "linux/arm64/v9"}, {"linux/arm", "linux/arm/v7"},
      {"linux/arm/7", "linux/arm/v7"},      {"linux/armhf", "linux/arm/v7"},
      {"linux/armel", "linux/arm/v6"},      {"linux/i386", "linux/386"},
      {"linux/riscv64", "linux/riscv64"},   {"windows/amd64", "windows/amd64"}};
  for (const auto& [text, shown] : cases) {
    const auto parsed = parse_platform(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    EXPECT_EQ(parsed->text(), shown) << text;
    EXPECT_EQ(parse_platform(shown).value(), *parsed) << text;
  }
  for (const char* text :
       {"", "linux", "linux/", "/amd64", "linux/amd64/v1/x", "linux/am d64", "linux//v7"}) {
    EXPECT_EQ(parse_platform(text).error().code, Code::InvalidArgument) << text;
  }
}

TEST(PlatformTest, RunsOnMachinesOfAtLeastItsVariant) {
  const auto runs = [](const char* image, const char* machine) {
    return runs_on(parse_platform(image).value(), parse_platform(machine).value());
  };
  EXPECT_TRUE(runs("linux/amd64", "linux/amd64"));
  EXPECT_TRUE(runs("linux/amd64", "linux/amd64/v3"));
  EXPECT_FALSE(runs("linux/amd64/v3", "linux/amd64"));
  EXPECT_TRUE(runs("linux/arm/v6", "linux/arm/v7"));
  EXPECT_FALSE(runs("linux/arm/v7", "linux/arm/v6"));
  EXPECT_TRUE(runs("linux/arm64/v8", "linux/arm64"));
  EXPECT_FALSE(runs("linux/arm64", "linux/amd64"));
  EXPECT_FALSE(runs("windows/amd64", "linux/amd64"));
  EXPECT_FALSE(runs("linux/arm/odd", "linux/arm/v7"));
  EXPECT_TRUE(runs("linux/arm/odd", "linux/arm/odd"));
}

}  // namespace
}  // namespace mesh::oci
