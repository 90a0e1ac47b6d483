#include "oci/manifest.h"

#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/base64.h"

namespace mesh::oci {
namespace {

using nlohmann::json;

const std::string kA = digest_of("a").text();
const std::string kB = digest_of("b").text();

json described(std::string_view type, const std::string& digest = kA, std::int64_t size = 1) {
  return {{"mediaType", type}, {"digest", digest}, {"size", size}};
}

json image() {
  return {{"schemaVersion", 2},
          {"mediaType", kOciManifest},
          {"config", described(kOciConfig)},
          {"layers", {described("application/vnd.oci.image.layer.v1.tar+gzip", kB, 7)}}};
}

/// `children` is a list, or one child.
json index_of(const json& children) {
  return {{"schemaVersion", 2},
          {"mediaType", kOciIndex},
          {"manifests", children.is_object() ? json::array({children}) : children}};
}

Result<Manifest> read(const json& value, const std::string& content_type = "") {
  return read_manifest(value.dump(), {content_type});
}

json with(json value, const std::string& pointer, const json& changed) {
  value[json::json_pointer(pointer)] = changed;
  return value;
}

json without(json value, const std::string& key) {
  value.erase(key);
  return value;
}

TEST(ManifestTest, ReadsAnImage) {
  const Manifest manifest = read(image()).value();
  EXPECT_EQ(manifest.kind, MediaKind::Manifest);
  EXPECT_EQ(manifest.media_type, kOciManifest);
  EXPECT_EQ(manifest.config->digest.text(), kA);
  ASSERT_EQ(manifest.layers.size(), 1U);
  EXPECT_EQ(manifest.layers[0].digest.text(), kB);
  EXPECT_EQ(manifest.layers[0].size, 7U);
  EXPECT_EQ(manifest.layers[0].kind(), MediaKind::Layer);
  EXPECT_FALSE(manifest.subject.has_value());
}

TEST(ManifestTest, ReadsAnIndexWithAllThatAChildMayHave) {
  json child = described(kOciManifest, kA, 500);
  child["platform"] = {{"os", "linux"},
                       {"architecture", "arm"},
                       {"variant", "v7"},
                       {"os.version", "10.0.1"},
                       {"os.features", {"win32k"}}};
  child["annotations"] = {{"key", "value"}};
  child["artifactType"] = "application/x";
  child["urls"] = {"https://a.example/b"};
  json value = index_of({child, described(kOciIndex, kB, 3)});
  value["annotations"] = {{"a", "b"}};
  value["subject"] = described(kOciManifest, kB, 2);
  value["artifactType"] = "application/y";
  const Manifest manifest = read(value).value();
  EXPECT_EQ(manifest.kind, MediaKind::Index);
  EXPECT_EQ(manifest.subject->digest.text(), kB);
  EXPECT_EQ(manifest.annotations.at("a"), "b");
  EXPECT_EQ(manifest.artifact_type, "application/y");
  ASSERT_EQ(manifest.children.size(), 2U);
  const Descriptor& first = manifest.children[0];
  EXPECT_EQ(first.platform->text(), "linux/arm/v7");
  EXPECT_EQ(first.platform->os_version, "10.0.1");
  EXPECT_EQ(first.platform->os_features, std::vector<std::string>{"win32k"});
  EXPECT_EQ(first.annotations.at("key"), "value");
  EXPECT_EQ(first.artifact_type, "application/x");
  EXPECT_EQ(first.urls, std::vector<std::string>{"https://a.example/b"});
  EXPECT_EQ(manifest.children[1].kind(), MediaKind::Index);
  EXPECT_FALSE(manifest.children[1].platform.has_value());
}

TEST(ManifestTest, TakesWhatRegistriesTake) {
  // Measured on the distribution registry 2.8.2: each of these is answered with 201.
  EXPECT_TRUE(read(index_of(json::array({described(kOciManifest)}))).has_value());
  EXPECT_EQ(read(with(image(), "/layers", json::array())).value().layers.size(), 0U);
  const json layer = described("application/vnd.oci.image.layer.v1.tar");
  EXPECT_EQ(read(with(image(), "/layers", {layer, layer})).value().layers.size(), 2U);
  EXPECT_EQ(read(with(image(), "/config/size", 0)).value().config->size, 0U);
  EXPECT_EQ(read(index_of(json::array())).value().children.size(), 0U);
  // Go writes empty lists as null.
  EXPECT_EQ(read(with(image(), "/layers", nullptr)).value().layers.size(), 0U);
  EXPECT_EQ(read(index_of(nullptr)).value().children.size(), 0U);
  EXPECT_TRUE(read(with(image(), "/annotations", nullptr)).has_value());
  // Types that are not known are copied.
  EXPECT_TRUE(read(with(image(), "/config/mediaType", "application/vnd.example+json")).has_value());
  EXPECT_TRUE(read(with(image(), "/layers/0/mediaType", "text/x-anything")).has_value());
  EXPECT_TRUE(read(with(image(), "/config/mediaType", kOciEmpty)).has_value());
  // sha512.
  const std::string other = digest_of("a", Algorithm::Sha512).text();
  EXPECT_EQ(read(with(image(), "/layers/0/digest", other)).value().layers[0].digest.text(), other);
}

TEST(ManifestTest, TellsTheTypeWhereTheFieldIsMissing) {
  const json bare = without(image(), "mediaType");
  EXPECT_EQ(read(bare).value().media_type, kOciManifest);
  EXPECT_EQ(read(bare, std::string(kDockerManifest)).value().media_type, kDockerManifest);
  EXPECT_EQ(read(bare, std::string(kDockerManifest) + "; charset=utf-8").value().media_type,
            kDockerManifest);
  EXPECT_EQ(read(bare, "application/octet-stream").value().media_type, kOciManifest);
  const json bare_index = without(index_of({described(kOciManifest)}), "mediaType");
  EXPECT_EQ(read(bare_index).value().media_type, kOciIndex);
  EXPECT_EQ(read(bare_index, std::string(kDockerList)).value().kind, MediaKind::Index);
  EXPECT_EQ(read(without(bare, "schemaVersion")).value().media_type, kOciManifest);
  EXPECT_EQ(read(image(), "application/json; charset=utf-8").value().media_type, kOciManifest);
}

struct Damaged {
  json value;
  std::string content_type;
  Code code;
  std::string why;
};

TEST(ManifestTest, RefusesByName) {
  const json foreign =
      described("application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", kB, 7);
  json foreign_with_url = foreign;
  foreign_with_url["urls"] = {"https://vendor.example/layer"};
  json both = image();
  both["manifests"] = {described(kOciManifest)};
  const Damaged cases[] = {
      {image(), std::string(kDockerManifest), Code::Corrupt,
       "the Content-Type that came with it is application/vnd.docker"},
      {image(), std::string(kOciIndex), Code::Corrupt, "the Content-Type that came with it is"},
      {image(), "text/html; charset=utf-8", Code::Corrupt, "an HTML page"},
      {image(), "nonsense", Code::Corrupt, "Content-Type"},
      {both, "", Code::Corrupt, "has \"manifests\""},
      {without(both, "mediaType"), "", Code::Corrupt, "has \"layers\""},
      {with(index_of({described(kOciManifest)}), "/config", described(kOciConfig)), "",
       Code::Corrupt, "has \"config\""},
      {without(image(), "config"), "", Code::Corrupt, "has no \"config\""},
      {with(image(), "/config", nullptr), "", Code::Corrupt, "has no \"config\""},
      {without(index_of(json::array()), "manifests"), "", Code::Corrupt, "has no \"manifests\""},
      {with(image(), "/schemaVersion", 3), "", Code::Corrupt, "schemaVersion"},
      {with(image(), "/schemaVersion", "2"), "", Code::Corrupt, "schemaVersion"},
      {json{{"schemaVersion", 2}}, "", Code::Corrupt, "neither a media type"},
      {json::array(), "", Code::Corrupt, "not a JSON object"},
      {with(image(), "/mediaType", 5), "", Code::Corrupt, "mediaType: it is not a text"},
      {with(image(), "/mediaType", "nonsense"), "", Code::Corrupt, "mediaType"},
      {with(image(), "/mediaType", "application/vnd.oci.artifact.manifest.v1+json"), "",
       Code::Unsupported, "application/vnd.oci.artifact.manifest.v1+json"},
      {with(image(), "/layers", json::object()), "", Code::Corrupt, "layers: it is not a list"},
      {with(image(), "/layers/0", 5), "", Code::Corrupt, "layers[0]: it is not an object"},
      {with(image(), "/layers/0/size", -1), "", Code::Corrupt, "layers[0]: size: it is negative"},
      {with(image(), "/layers/0/size", std::uint64_t{1} << 60U), "", Code::Corrupt,
       "more than any registry holds"},
      {with(image(), "/layers/0/size", 1.5), "", Code::Corrupt, "not a whole number"},
      {with(image(), "/layers/0/size", "7"), "", Code::Corrupt, "not a whole number"},
      {with(image(), "/layers/0", without(image()["layers"][0], "size")), "", Code::Corrupt,
       "size: it is missing"},
      {with(image(), "/layers/0/digest", "sha256:abc"), "", Code::Corrupt, "layers[0]: digest"},
      {with(image(), "/layers/0/digest", "md5:d41d8cd98f00b204e9800998ecf8427e"), "",
       Code::Unsupported, "md5"},
      {with(image(), "/config/digest", 5), "", Code::Corrupt, "config: digest"},
      {with(image(), "/layers/0/urls", "x"), "", Code::Corrupt, "urls: it is not a list"},
      {with(image(), "/layers/0/urls", {5}), "", Code::Corrupt, "urls[0]"},
      {with(image(), "/layers/0/annotations", {{"a", 5}}), "", Code::Corrupt,
       "\"a\" is not a text"},
      {with(image(), "/subject", 5), "", Code::Corrupt, "subject: it is not an object"},
      {with(image(), "/Layers", json::array()), "", Code::Corrupt,
       "the field is written \"layers\""},
      {with(image(), "/layer\u017F", json::array()), "", Code::Corrupt,
       "the field is written \"layers\""},
      {with(image(), "/config/DIGEST", kB), "", Code::Corrupt, "the field is written \"digest\""},
      {index_of({described(kOciManifest, kA, 5 << 20)}), "", Code::Corrupt,
       "a manifest of 5242880 bytes"},
      {with(index_of({described(kOciManifest)}), "/manifests/0/platform", "linux/amd64"), "",
       Code::Corrupt, "platform"},
      {with(image(), "/layers/0", foreign), "", Code::Unsupported, kB + " is a foreign layer"},
      {with(image(), "/layers/0", foreign_with_url), "", Code::Unsupported, "is a foreign layer"},
      {json{{"schemaVersion", 1}, {"fsLayers", json::array()}}, "", Code::Unsupported, "schema 1"},
      {json{{"schemaVersion", 1}}, "application/json", Code::Unsupported, "schema 1"},
      {without(image(), "mediaType"), std::string(kDockerSchema1Signed), Code::Unsupported,
       "schema 1"},
  };
  for (const auto& one : cases) {
    const auto manifest = read(one.value, one.content_type);
    ASSERT_FALSE(manifest.has_value()) << one.value.dump();
    EXPECT_EQ(manifest.error().code, one.code) << one.value.dump() << manifest.error().message;
    EXPECT_NE(manifest.error().message.find(one.why), std::string::npos)
        << manifest.error().message;
  }
}

TEST(ManifestTest, RefusesTextsThatAreNone) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "not JSON"},
      {"{", "not JSON"},
      {"<!DOCTYPE html><html><body>Log in</body></html>", "HTML page"},
      {"\n  <html>", "HTML page"},
      {R"({"schemaVersion":2,"schemaVersion":2})", "\"schemaVersion\" stands twice"},
      {R"({"config":{"digest":"a","digest":"b"}})", "\"digest\" stands twice"},
      {"{\"a\":\"\xff\"}", "not JSON"},
      {image().dump() + "x", "not JSON"},
      {std::string(100'000, '['), "not JSON"},
      {R"({"a":)" + std::string(40, '[') + std::string(40, ']') + "}", "nested deeper"},
      {std::string(kMostManifestBytes + 1, ' '), "the most are 4194304"}};
  for (const auto& [text, why] : cases) {
    const auto manifest = read_manifest(text);
    ASSERT_FALSE(manifest.has_value()) << text.substr(0, 80);
    EXPECT_EQ(manifest.error().code, Code::Corrupt);
    EXPECT_NE(manifest.error().message.find(why), std::string::npos) << manifest.error().message;
  }
}

TEST(ManifestTest, ForeignLayersPassWhereAskedFor) {
  json layer = described("application/vnd.oci.image.layer.nondistributable.v1.tar+gzip", kB, 7);
  layer["urls"] = {"https://vendor.example/layer"};
  const std::string bytes = with(image(), "/layers/0", layer).dump();
  EXPECT_NE(read_manifest(bytes).error().hint.find("https://vendor.example/layer"),
            std::string::npos);
  const Manifest manifest = read_manifest(bytes, {"", false, true}).value();
  EXPECT_EQ(manifest.layers[0].kind(), MediaKind::ForeignLayer);
  EXPECT_EQ(manifest.layers[0].urls.front(), "https://vendor.example/layer");
}

TEST(ManifestTest, EmbeddedDataIsVerified) {
  json config = {
      {"mediaType", kOciEmpty}, {"digest", digest_of("{}").text()}, {"size", 2}, {"data", "e30="}};
  EXPECT_EQ(read(with(image(), "/config", config)).value().config->data, "{}");
  config["digest"] = digest_of("{}", Algorithm::Sha512).text();
  EXPECT_EQ(read(with(image(), "/config", config)).value().config->data, "{}");
  for (const auto& [key, value] : std::map<std::string, json>{
           {"data", base64("[]")}, {"size", 3}, {"digest", kA}, {"data", "!"}, {"data", 5}}) {
    json damaged = config;
    damaged[key] = value;
    EXPECT_EQ(read(with(image(), "/config", damaged)).error().code, Code::Corrupt)
        << damaged.dump();
  }
}

/// A signed manifest of schema 1: the signatures are put in before the last brace.
std::pair<std::string, std::string> signed_schema1(std::size_t signatures = 1) {
  const std::string payload =
      R"({"schemaVersion":1,"name":"a","tag":"b","fsLayers":[{"blobSum":")" + kA +
      R"("},{"blobSum":")" + kB + R"("}]})";
  const std::size_t length = payload.size() - 1;
  const std::string header = fmt::format(R"({{"formatLength":{},"formatTail":"fQ"}})", length);
  std::string list;
  for (std::size_t i = 0; i < signatures; ++i) {
    list +=
        fmt::format(R"({}{{"signature":"x","protected":"{}"}})", i == 0 ? "" : ",", base64(header));
  }
  return {payload, payload.substr(0, length) + ",\"signatures\":[" + list + "]}"};
}

TEST(Schema1Test, IsReadWhereAskedFor) {
  const auto [payload, bytes] = signed_schema1(2);
  EXPECT_EQ(read_manifest(bytes).error().code, Code::Unsupported);
  const Manifest manifest = read_manifest(bytes, {"", true, false}).value();
  EXPECT_EQ(manifest.kind, MediaKind::Schema1);
  EXPECT_EQ(manifest.media_type, kDockerSchema1Signed);
  ASSERT_EQ(manifest.layers.size(), 2U);
  EXPECT_EQ(manifest.layers[0].digest.text(), kB);  // the base first
  EXPECT_FALSE(manifest.layers[0].size.has_value());
  EXPECT_EQ(read_manifest(payload, {"", true, false}).value().media_type, kDockerSchema1);
}

TEST(Schema1Test, TheDigestIsOverThePayload) {
  const auto [payload, bytes] = signed_schema1(2);
  EXPECT_EQ(schema1_payload(bytes).value(), payload);
  EXPECT_EQ(schema1_payload(payload).value(), payload);
  for (const char* text :
       {"", "[]", R"({"signatures":[]})", R"({"signatures":5})", R"({"signatures":[5]})",
        R"({"signatures":[{"protected":"!"}]})", R"({"signatures":[{"protected":"e30"}]})",
        R"({"signatures":[{"protected":"eyJmb3JtYXRMZW5ndGgiOjk5OTk5fQ"}]})"}) {
    EXPECT_EQ(schema1_payload(text).error().code, Code::Corrupt) << text;
  }
}

json platform_child(const char* os, const char* architecture, const char* variant,
                    const std::string& digest) {
  json child = described(kOciManifest, digest, 500);
  child["platform"] = {{"os", os}, {"architecture", architecture}, {"variant", variant}};
  return child;
}

TEST(ChooseTest, TakesTheBestImageAndNeverAnAttestation) {
  const auto named = [](const char* text) { return digest_of(text).text(); };
  json statement = platform_child("unknown", "unknown", "", named("statement"));
  json annotated = platform_child("linux", "amd64", "", named("annotated"));
  annotated["annotations"] = {{"vnd.docker.reference.type", "attestation-manifest"}};
  const Manifest index =
      read(index_of({statement, annotated, platform_child("linux", "amd64", "", named("amd64")),
                     platform_child("linux", "amd64", "", named("second")),
                     platform_child("linux", "arm", "v6", named("v6")),
                     platform_child("linux", "arm", "v7", named("v7")),
                     platform_child("linux", "arm64", "v8", named("arm64"))}))
          .value();
  EXPECT_TRUE(is_attestation(index.children[0]));
  EXPECT_TRUE(is_attestation(index.children[1]));
  EXPECT_FALSE(is_attestation(index.children[2]));
  const auto chosen = [&](const char* platform) {
    const Descriptor* child = choose(index, parse_platform(platform).value());
    return child == nullptr ? std::string() : child->digest.text();
  };
  EXPECT_EQ(chosen("linux/amd64"), named("amd64"));
  EXPECT_EQ(chosen("linux/arm/v7"), named("v7"));
  EXPECT_EQ(chosen("linux/arm/v6"), named("v6"));
  EXPECT_EQ(chosen("linux/arm64"), named("arm64"));
  EXPECT_EQ(chosen("linux/s390x"), "");
  EXPECT_EQ(chosen("unknown/unknown"), "");
  const Manifest alone = read(index_of({described(kOciManifest), statement})).value();
  EXPECT_NE(choose(alone, parse_platform("linux/amd64").value()), nullptr);
  const Manifest two =
      read(index_of({described(kOciManifest), described(kOciManifest, kB)})).value();
  EXPECT_EQ(choose(two, parse_platform("linux/amd64").value()), nullptr);
}

}  // namespace
}  // namespace mesh::oci
