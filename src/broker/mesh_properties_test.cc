// What holds of every mesh. The rules of the grants are spelled out here a second time, as text, so
// that neither the code's subjects nor its order of thought are taken over.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "broker/every_mesh.h"
#include "broker/subject_algebra.h"

namespace mesh::broker {
namespace {

std::string stream_of(const std::string& seat) {
  std::string out = "SEAT_";
  for (const char c : seat) {
    out.push_back(c == '-' ? '_' : static_cast<char>(std::toupper(c)));
  }
  return out;
}

bool holds(const model::Module& module, const std::string& seat) {
  return std::ranges::any_of(module.file->holds,
                             [&](const auto& held) { return held.value.text() == seat; });
}

std::string event_of(const model::EventRef& event) {
  const bool seat = event.source == model::EventRef::Source::Seat;
  return fmt::format("mesh.{}.{}.event.{}", seat ? "seat" : "mod", event.owner, event.event);
}

struct Sides {
  Set publish;
  Set subscribe;
};

void expect_seat(Sides& out, const model::Seat& seat) {
  const auto name = seat.name.text();
  const auto stream = stream_of(name);
  out.publish.insert(fmt::format("$JS.API.CONSUMER.INFO.{0}.{0}_worker", stream));
  out.publish.insert(fmt::format("$JS.ACK.{0}.{0}_worker.>", stream));
  out.subscribe.insert(fmt::format("_DELIVER.{}_worker", stream));
  for (const auto& event : seat.emits) {
    out.publish.insert(fmt::format("mesh.seat.{}.event.{}", name, event.value.text()));
  }
  for (const auto& verb : seat.accepts) {
    out.subscribe.insert(fmt::format("mesh.seat.{}.accept.{}", name, verb.value.text()));
  }
}

Sides expected(const model::Mesh& mesh, const model::Module& module, const std::string& node) {
  const auto name = module.name.text();
  Sides out;
  out.publish = {fmt::format("$JS.API.CONSUMER.INFO.EVENTS.{}_{}", node, name),
                 fmt::format("$JS.API.CONSUMER.MSG.NEXT.EVENTS.{}_{}", node, name),
                 fmt::format("$JS.ACK.EVENTS.{}_{}.>", node, name)};
  out.subscribe = {fmt::format("_INBOX.{}.{}.>", node, name),
                   fmt::format("mesh.mod.{}.tool.>", name)};
  for (const auto& event : module.file->emits) {
    out.publish.insert(fmt::format("mesh.mod.{}.event.{}", name, event.value.text()));
  }
  for (const auto& use : module.file->uses) {
    out.publish.insert(
        fmt::format("mesh.seat.{}.accept.{}", use.value.seat.text(), use.value.verb.text()));
  }
  for (const auto& call : module.file->calls) {
    out.publish.insert(
        fmt::format("mesh.mod.{}.tool.{}", call.value.module.text(), call.value.tool.text()));
  }
  for (const auto& consume : module.file->consumes) {
    out.subscribe.insert(event_of(consume.event));
  }
  for (const auto& seat : mesh.seats) {
    if (holds(module, seat.name.text())) {
      expect_seat(out, seat);
    }
  }
  return out;
}

const Account* account(const World& w, const std::string& name) {
  const auto found =
      std::ranges::find_if(w.accounts, [&](const auto& a) { return a.name == name; });
  return found == w.accounts.end() ? nullptr : &*found;
}

TEST(EveryMesh, GrantsWhatIsDeclaredAndNothingElse) {
  for_every_mesh([](const World& w) {
    std::size_t count = 2;
    for (const auto& module : w.mesh.modules) {
      for (const auto& node : module.on) {
        const auto* p = find(w, node.text() + "." + module.name.text());
        ASSERT_NE(p, nullptr);
        const auto want = expected(w.mesh, module, node.text());
        EXPECT_EQ(subjects(p->publish), want.publish) << p->name;
        EXPECT_EQ(subjects(p->subscribe), want.subscribe) << p->name;
        EXPECT_EQ(p->account, module.name.text());
        ++count;
      }
    }
    for (const auto& node : w.mesh.nodes) {
      const auto n = node.name.text();
      const auto* p = find(w, n);
      ASSERT_NE(p, nullptr);
      EXPECT_EQ(subjects(p->publish),
                (Set{"$JS.ACK.NODES." + n + ".>", "$JS.API.CONSUMER.INFO.NODES." + n,
                     "mesh.node." + n + ".report"}));
      EXPECT_EQ(subjects(p->subscribe),
                (Set{"_DELIVER." + n, "_INBOX.node." + n + ".>", "mesh.node." + n + ".declare",
                     "mesh.node." + n + ".ask"}));
      ++count;
    }
    EXPECT_EQ(w.principals.size(), count);
  });
}

TEST(EveryMesh, EachGrantStandsOnceSortedAndHasItsReason) {
  for_every_mesh([](const World& w) {
    EXPECT_TRUE(std::ranges::is_sorted(w.principals, {}, &Principal::name));
    for (const auto& p : w.principals) {
      for (const auto* side : {&p.publish, &p.subscribe}) {
        EXPECT_FALSE(side->empty()) << p.name << ": an empty list means everything";
        EXPECT_TRUE(std::ranges::is_sorted(*side, {}, &Grant::subject)) << p.name;
        EXPECT_EQ(subjects(*side).size(), side->size()) << p.name;
        for (const auto& grant : *side) {
          EXPECT_TRUE(is_subject(grant.subject)) << grant.subject;
          EXPECT_NE(grant.because.text, "");
          EXPECT_NE(grant.because.place.line, 0) << grant.because.text;
        }
      }
    }
  });
}

TEST(EveryMesh, NobodyNamesAnothersConsumerOrInbox) {
  for_every_mesh([](const World& w) {
    for (const auto& p : w.principals) {
      for (const auto& q : w.principals) {
        if (&p == &q || p.name == "controller" || q.kind == Kind::Controller) {
          continue;
        }
        const bool node = q.kind == Kind::Node;
        const auto consumer =
            node ? "NODES." + *q.node : fmt::format("EVENTS.{}_{}", *q.node, *q.module);
        const auto inbox = node ? "_INBOX.node." + *q.node : "_INBOX." + q.name;
        for (const auto& grant : p.publish) {
          EXPECT_FALSE(overlaps(grant.subject, "$JS.ACK." + consumer + ".>")) << grant.subject;
          EXPECT_FALSE(overlaps(grant.subject, "$JS.API.CONSUMER.INFO." + consumer));
          EXPECT_FALSE(overlaps(grant.subject, "$JS.API.CONSUMER.MSG.NEXT." + consumer));
        }
        for (const auto& grant : p.subscribe) {
          EXPECT_FALSE(overlaps(grant.subject, inbox + ".>")) << p.name << ' ' << grant.subject;
        }
      }
    }
  });
}

TEST(EveryMesh, OnlyTheControllerChangesTheBus) {
  const Set kept = {"$JS.API.STREAM.>",
                    "$JS.API.CONSUMER.CREATE.>",
                    "$JS.API.CONSUMER.DELETE.>",
                    "$JS.API.CONSUMER.DURABLE.>",
                    "$JS.API.CONSUMER.LEADER.>",
                    "$JS.API.CONSUMER.LIST.>",
                    "$JS.API.CONSUMER.NAMES.>",
                    "$JS.API.CONSUMER.PAUSE.>",
                    "$JS.API.CONSUMER.UNPIN.>",
                    "$JS.API.CONSUMER.RESET.>",
                    "$JS.API.DIRECT.>",
                    "$JS.API.META.>",
                    "$JS.API.SERVER.>",
                    "$JS.API.ACCOUNT.>",
                    "$JS.API.INFO",
                    "$JS.FC.>",
                    "$SYS.>",
                    "$KV.>",
                    "$O.>",
                    "$SRV.>",
                    "_R_.>",
                    "mesh.retry.>",
                    "mesh.parked.>",
                    "mesh.node.*.declare",
                    "_DELIVER.>",
                    "_INBOX.>"};
  for_every_mesh([&](const World& w) {
    for (const auto& p : w.principals) {
      if (p.name == "controller") {
        continue;
      }
      for (const auto& grant : p.publish) {
        for (const auto& subject : kept) {
          EXPECT_FALSE(overlaps(grant.subject, subject)) << p.name << ' ' << grant.subject;
        }
      }
    }
  });
}

bool granted(const World& w, const Account& a, const Import& import) {
  return std::ranges::any_of(a.users, [&](const std::string& user) {
    const auto* p = find(w, user);
    if (p == nullptr) {
      return false;
    }
    const auto& side = import.share == Share::Service ? p->publish : p->subscribe;
    return std::ranges::any_of(side, [&](const Grant& grant) {
      return a.name == "TOOLS" ? includes(grant.subject, import.subject)
                               : grant.subject == import.subject;
    });
  });
}

bool offered(const World& w, const Import& import) {
  const auto* source = account(w, import.account);
  return source != nullptr && std::ranges::any_of(source->exports, [&](const Export& e) {
           return e.share == import.share && includes(e.subject, import.subject);
         });
}

TEST(EveryMesh, EachImportIsOfferedAndIsAGrantOfAUserOfItsAccount) {
  for_every_mesh([](const World& w) {
    for (const auto& a : w.accounts) {
      EXPECT_EQ(std::ranges::count(w.accounts, a.name, &Account::name), 1);
      bool shadowed = a.name == "MESH" || a.name == "TOOLS" || a.name == "SYS";
      for (const auto& import : a.imports) {
        const auto what = fmt::format("{}: {} of {}", a.name, import.subject, import.account);
        EXPECT_TRUE(offered(w, import)) << what;
        EXPECT_NE(import.account, a.name) << what;
        if (import.subject == "mesh.void") {
          EXPECT_EQ(import.to, "$JS.API.INFO");
          shadowed = true;
        } else {
          EXPECT_TRUE(granted(w, a, import)) << what;
          EXPECT_EQ(import.to, "") << what;
        }
      }
      EXPECT_TRUE(shadowed) << a.name;
    }
  });
}

bool imports(const World& w, const std::string& into, Share share, const std::string& from,
             const std::string& subject) {
  const auto* a = account(w, into);
  return a != nullptr && std::ranges::any_of(a->imports, [&](const Import& i) {
           return i.share == share && i.account == from && i.subject == subject;
         });
}

bool hears(const model::Module& module, const std::string& subject) {
  return std::ranges::any_of(module.file->consumes, [&](const auto& consume) {
    return event_of(consume.event) == subject;
  });
}

void expect_live(const World& w, const model::Module& hearer, const model::EventRef& event) {
  const auto me = hearer.name.text();
  const auto subject = event_of(event);
  for (const auto& other : w.mesh.modules) {
    const auto name = other.name.text();
    const bool seat = event.source == model::EventRef::Source::Seat;
    const bool emits = seat ? holds(other, event.owner) : name == event.owner;
    const bool circle = seat && holds(hearer, event.owner) && hears(other, subject);
    EXPECT_EQ(imports(w, me, Share::Stream, name, subject), emits && name != me && !circle)
        << me << " hears " << subject << " of " << name;
  }
}

TEST(EveryMesh, EveryDeclaredFlowCrossesTheAccounts) {
  for_every_mesh([](const World& w) {
    for (const auto& p : w.principals) {
      if (p.kind == Kind::Controller) {
        continue;
      }
      for (const auto& grant : p.publish) {
        const bool call = includes("mesh.mod.*.tool.>", grant.subject);
        const auto rest = grant.subject.substr(std::string("mesh.mod.").size());
        const auto source = call ? rest.substr(0, rest.find('.')) : "MESH";
        EXPECT_TRUE(imports(w, p.account, Share::Service, source, grant.subject))
            << p.name << ' ' << grant.subject;
      }
    }
    for (const auto& module : w.mesh.modules) {
      EXPECT_TRUE(imports(w, "TOOLS", Share::Service, module.name.text(),
                          "mesh.mod." + module.name.text() + ".tool.>"));
      for (const auto& consume : module.file->consumes) {
        expect_live(w, module, consume.event);
      }
    }
  });
}

// What nats-server's search for circles accepts whatever its order: who is taken from by somebody
// who is taken from takes from nobody. (A shape that it refuses: accounts_test.cc.)
TEST(EveryMesh, HasNoCircleOfLiveEvents) {
  for_every_mesh([](const World& w) {
    const auto takes = [&](const std::string& name, const std::string& subject) {
      Set out;
      for (const auto& i : account(w, name)->imports) {
        if (i.share == Share::Stream && i.account != "MESH" && i.subject == subject) {
          out.insert(i.account);
        }
      }
      return out;
    };
    for (const auto& a : w.accounts) {
      for (const auto& i : a.imports) {
        for (const auto& second : takes(i.account, i.subject)) {
          EXPECT_TRUE(takes(second, i.subject).empty()) << a.name << ' ' << i.subject;
        }
      }
    }
  });
}

}  // namespace
}  // namespace mesh::broker
