#include "broker/config_view.h"

#include <algorithm>
#include <set>

#include "broker/config_reader.h"

namespace mesh::broker {
namespace {

std::vector<std::string> allowed(const std::optional<PermissionsView>& permissions,
                                 std::optional<SideView> PermissionsView::* side) {
  std::vector<std::string> out;
  if (permissions && (*permissions).*side) {
    const SideView& view = *((*permissions).*side);
    for (const SubjectOnLine& subject : view.allow.value_or(std::vector<SubjectOnLine>{})) {
      out.push_back(subject.value);
    }
  }
  std::ranges::sort(out);
  const auto rest = std::ranges::unique(out);
  out.erase(rest.begin(), rest.end());
  return out;
}

}  // namespace

std::vector<std::string> UserView::publish() const {
  return allowed(permissions, &PermissionsView::publish);
}

std::vector<std::string> UserView::subscribe() const {
  return allowed(permissions, &PermissionsView::subscribe);
}

const AccountView* ConfigView::account(std::string_view name) const {
  const auto found = std::ranges::find(accounts, name, &AccountView::name);
  return found == accounts.end() ? nullptr : &*found;
}

const UserView* ConfigView::user(std::string_view name) const {
  for (const AccountView& one : accounts) {
    const auto found = std::ranges::find(one.users, name, &UserView::name);
    if (found != one.users.end()) {
      return &*found;
    }
  }
  return nullptr;
}

std::string ConfigView::setting(const std::string& path) const {
  const auto found = settings.find(path);
  return found == settings.end() ? std::string{} : found->second.value;
}

ConfigView read_view(const natsconf::Document& document) {
  ConfigView view;
  ConfigReader(view).read(document.root());
  return view;
}

Result<ConfigView> read_view(std::string_view text) {
  MESH_TRY(const natsconf::Document document, natsconf::parse(std::string(text)));
  return read_view(document);
}

}  // namespace mesh::broker
