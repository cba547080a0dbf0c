// Large requests that change a list: others don't wait for the whole, and what is cut off is completed by a repetition.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Database } from "../../src/db/database.ts";
import { nothingFrom } from "../../src/domain/moving-in.ts";
import { DomainError } from "../../src/errors.ts";
import { appNamed } from "../../src/http/apps.ts";
import { issueToken } from "../../src/services/accounts/tokens.ts";
import { deleteUser } from "../../src/services/accounts/user-deletion.ts";
import { type Actor, actAsAdmin, actAsUser } from "../../src/services/actor.ts";
import type { Context } from "../../src/services/context.ts";
import { type Client, identifyClient } from "../../src/services/devices/clients.ts";
import { listDeviceFeeds, readFeedChanges } from "../../src/services/devices/device-list.ts";
import { uploadFeedChanges, uploadFeedList } from "../../src/services/devices/device-uploads.ts";
import { forgetDevice } from "../../src/services/devices/devices.ts";
import { moveIn } from "../../src/services/moving-in.ts";
import { putBack, restoreSubscriptions } from "../../src/services/subscriptions/earlier-lists.ts";
import { exportFeeds, importFeeds } from "../../src/services/subscriptions/imports.ts";
import { listMassRemovals } from "../../src/services/subscriptions/noticed-removals.ts";
import { play } from "../domain/episode-sync.ts";
import { guidOf, openTestApp, START, type TestApp, type TestUser } from "../support/app.ts";
import { beforeWrites } from "../support/before-writes.ts";
import { mostReadByWrites } from "../support/count-reads.ts";
import { ON_SQLITE } from "../support/database.ts";
import { validFeed } from "../support/feed-url.ts";
import { addFeeds } from "../support/feeds.ts";
import { PATIENCE } from "../support/patience.ts";
import { rejectionOf, settle } from "../support/rejection.ts";
import { withMethods } from "../support/with-methods.ts";

setDefaultTimeout(PATIENCE);

/** More than three parts. */
const MANY = 400;

let podkeep: TestApp;
beforeAll(async () => {
  podkeep = await openTestApp();
});
afterAll(() => podkeep.close());

const urls = (name: string, count = MANY) => Array.from({ length: count }, (_, n) => `https://${name}.example/${n}`);

interface Device {
  actor: Actor;
  client: Client;
}

function deviceOf(user: TestUser, device: string, product = "gPodder"): Device {
  const actor = actAsUser(user.id, null, device);
  return { actor, client: identifyClient(actor, appNamed(product, "gpodder")) };
}

const get = ({ actor, client }: Device, since: number) => readFeedChanges(podkeep.app, actor, client, { since });

async function listOf(user: TestUser): Promise<string[]> {
  return (await exportFeeds(podkeep.app, actAsUser(user.id))).map(({ feed_url }) => feed_url).sort();
}

const countHistory = async (user: TestUser) =>
  Number((await podkeep.sql(`select count(*) as count from history where user_id = '${user.id}'`))[0]?.["count"]);

/** The app, whose write of this number fails. */
const failAt = (failing: number) =>
  beforeWrites(podkeep.app, (write) => {
    if (write === failing) throw new DomainError("unavailable", "cut off");
  });

/** Requests with MANY podcasts, after which the list is that of "new". */
const REQUESTS: Record<string, (context: Context, user: TestUser) => Promise<unknown>> = {
  "a POST of new feeds": (context, user) => addFeeds(context, user.id, urls("new")),
  "an import": (context, user) =>
    importFeeds(
      context,
      actAsUser(user.id),
      urls("new").map((feed_url) => ({ feed_url, title: null })),
      { dry_run: false },
    ),
  "an app's additions": (context, user) => {
    const { actor, client } = deviceOf(user, "phone");
    return uploadFeedChanges(context, actor, client, { add: urls("new"), remove: [] });
  },
  "additions of an app that nothing identifies": (context, user) =>
    uploadFeedChanges(context, actAsUser(user.id), null, { add: urls("new"), remove: [] }),
  "an app's list": (context, user) => {
    const { actor, client } = deviceOf(user, "phone");
    return uploadFeedList(context, actor, client, urls("new"));
  },
};

test.each(Object.entries(REQUESTS))("%s: another user's change waits for a part of it", async (_, request) => {
  const [ann, bob] = [await podkeep.user(), await podkeep.user()];
  const ended: string[] = [];
  let added: Promise<void> | undefined;
  // On PostgreSQL they have connections of their own, and the other's may have to be opened first.
  const context = ON_SQLITE ? podkeep.app : beforeWrites(podkeep.app, (write) => (write === 3 ? added : undefined));
  const sent = request(context, ann).then(() => ended.push("request"));
  await Bun.sleep(0);
  added = bob.add("https://bob.example/").then(() => void ended.push("other"));
  await Promise.all([sent, added]);
  expect(ended).toEqual(["other", "request"]);
  expect(await listOf(ann)).toEqual(urls("new").sort());
});

test.each(Object.entries(REQUESTS))("%s that is cut off is completed by its repetition", async (_, request) => {
  const user = await podkeep.user();
  const cutOff = beforeWrites(podkeep.app, (write) => {
    if (write === 3) throw new Error("cut off");
  });
  expect(await settle(request(cutOff, user))).toThrow("cut off");
  const stored = (await listOf(user)).length;
  expect(stored).toBeGreaterThan(0);
  expect(stored).toBeLessThan(MANY);
  await request(podkeep.app, user);
  expect(await listOf(user)).toEqual(urls("new").sort());
  expect(await countHistory(user)).toBe(MANY);
  await request(podkeep.app, user);
  expect(await countHistory(user)).toBe(MANY);
});

test("a POST of few feeds with long URLs is large too: no other user waits for the whole", async () => {
  const user = await podkeep.user();
  const long = urls("long", 60).map((url) => `${url}/${"x".repeat(8000)}`);
  expect(await settle(addFeeds(failAt(3), user.id, long))).toThrow("cut off");
  const stored = (await listOf(user)).length;
  expect(stored).toBeGreaterThan(0);
  expect(stored).toBeLessThan(long.length);
});

// Reads take 256 rows at a time.
test.each([255, 256, 257, 512])("a device that asks for a list of %d feeds is sent each once", async (count) => {
  const user = await podkeep.user();
  await addFeeds(podkeep.app, user.id, urls("new", count));
  const phone = deviceOf(user, "phone");
  const { add } = await get(phone, 0);
  expect(add.sort()).toEqual(urls("new", count).sort());
  await uploadFeedList(podkeep.app, phone.actor, phone.client, add);
  await uploadFeedList(podkeep.app, phone.actor, phone.client, ["https://new.example/1"]);
  expect(await listOf(user)).toEqual(["https://new.example/1"]);
});

/** Ways back to a list of which an app removed everything. */
const WAYS_BACK: Record<string, (context: Context, user: TestUser) => Promise<unknown>> = {
  "Put back": async (context, user) => {
    const [removal] = await listMassRemovals(podkeep.app, actAsUser(user.id), 0);
    return removal && putBack(context, actAsUser(user.id), removal);
  },
  "an earlier list": (context, user) => restoreSubscriptions(context, actAsUser(user.id), { before: removedAt }, true),
};
/** A timestamp after all additions. */
let removedAt = 0;

test.each(Object.entries(WAYS_BACK))("%s comes in parts too, and completes what was cut off", async (_, bringBack) => {
  const [ann, bob] = [await podkeep.user(), await podkeep.user()];
  await addFeeds(podkeep.app, ann.id, urls("new"));
  await ann.add("https://kept.example/", guidOf(9999));
  const changes = await ann.changes();
  removedAt = Date.parse(changes.at(-1).subscription_changed) + 1;
  const { actor, client } = deviceOf(ann, "phone");
  await uploadFeedChanges(podkeep.app, { ...actor, kind: "token" }, client, { add: [], remove: urls("new") });
  await ann.remove(guidOf(9999));
  await ann.add("https://later.example/", guidOf(9998));
  await podkeep.drain();
  expect(await rejectionOf(bringBack(failAt(1), ann))).toHaveProperty("extras", {});
  expect(await rejectionOf(bringBack(failAt(3), ann))).toHaveProperty("extras", { in_doubt: true });
  expect((await listOf(ann)).length).toBe(1 + 2 * 128);
  const between = beforeWrites(podkeep.app, (write) => (write === 2 ? bob.add("https://bob.example/") : undefined));
  await bringBack(between, ann);
  expect(await listOf(ann)).toEqual(expect.arrayContaining(urls("new")));
});

test("moving in that is cut off says whether some of it may be done", async () => {
  const actor = actAsUser((await podkeep.user()).id);
  const [feed_url = ""] = urls("new");
  const feeds = [{ feed_url, title: null, guid: null }];
  const moving = { ...nothingFrom("old.example"), feeds, actions: [play(1, { feed_url, sent_at: START - 1000 })] };
  const moveAll = (context: Context) => moveIn(context, actor, moving, { dry_run: false });
  expect(await rejectionOf(moveAll(failAt(1)))).toHaveProperty("extras", {});
  expect(await rejectionOf(moveAll(failAt(2)))).toHaveProperty("extras", { in_doubt: true });
  expect(await rejectionOf(moveAll(failAt(1)))).toHaveProperty("extras", {});
});

test("a POST tells each subscription as it is after all items, in the order given", async () => {
  const user = await podkeep.user();
  const guids = urls("item").map((_, n) => guidOf(n + 1));
  const items = urls("item").map((feed_url, n) => ({ feed_url, guid: guids[n] }));
  // The last ones move the first subscription, and merge the second into the third.
  items.push({ feed_url: "https://moved.example/", guid: guids[0] }, { feed_url: items[1]!.feed_url, guid: guids[2] });
  const { status, body } = await user.request("POST", "/subscriptions", { subscriptions: items });
  expect([status, body.failure, body.success.length]).toEqual([200, [], items.length]);
  for (const [n, item] of body.success.entries()) {
    const { body: now } = await user.request("GET", `/subscriptions/${items[n]?.guid}`);
    const { feed_url, is_subscribed, subscription_changed } = now;
    expect(item).toEqual({ guid: now.new_guid ?? now.guid, feed_url, is_subscribed, subscription_changed });
  }
});

const [from, to] = ["https://from.example/", "https://to.example/"] as const;
test.each([
  ["POST", "one that it had", [{ new_feed_url: to }, { new_feed_url: from }]],
  ["PUT", "one that it had", [{ new_feed_url: to }, { new_feed_url: from }]],
  ["POST", "the one of its guid", [{ new_guid: validFeed(to).computed_guid }]],
  ["PUT", "the one of its guid", [{ new_guid: validFeed(to).computed_guid }]],
])(
  "a large %s in which an app replaces a podcast's URL with %s does not unsubscribe it",
  async (method, _, patches) => {
    const user = await podkeep.user();
    const phone = deviceOf(user, "phone");
    await uploadFeedChanges(podkeep.app, phone.actor, phone.client, { add: [from, ...urls("old")], remove: [] });
    const { timestamp } = await get(phone, 0);
    const [before] = await user.changes("", 500);
    for (const patch of patches) await user.request("PATCH", `/subscriptions/${before.guid}`, patch);
    await get(phone, timestamp);
    const history = await countHistory(user);
    // Both URLs lead to the one subscription.
    if (method === "PUT") await uploadFeedList(podkeep.app, phone.actor, phone.client, [...urls("new"), to]);
    else {
      const upload = { add: [...urls("new"), to], remove: [from, ...urls("old")] };
      await uploadFeedChanges(podkeep.app, phone.actor, phone.client, upload);
    }
    expect(await listOf(user)).toEqual([from, ...urls("new")].sort());
    expect(await countHistory(user)).toBe(history + 2 * MANY);
  },
);

test("a device that syncs between all parts of another one's uploads ends with the same list", async () => {
  const user = await podkeep.user();
  const [phone, tablet] = [deviceOf(user, "phone"), deviceOf(user, "tablet", "AntennaPod")];
  const shown = new Set<string>();
  let since = 0;
  const sync = async () => {
    const { add, remove, timestamp } = await get(tablet, since);
    for (const url of add) shown.add(url);
    for (const url of remove) shown.delete(url);
    since = timestamp;
  };
  const watched = beforeWrites(podkeep.app, sync);
  const { actor, client } = phone;
  await get(phone, 0);
  await uploadFeedChanges(watched, actor, client, { add: urls("a"), remove: [] });
  await uploadFeedChanges(watched, actor, client, { add: urls("b"), remove: urls("a") });
  await uploadFeedList(watched, actor, client, urls("c"));
  await sync();
  expect([...shown].sort()).toEqual(urls("c").sort());
  expect(await listOf(user)).toEqual(urls("c").sort());
});

test("uploads of two devices at once are each done, and a change between parts stays", async () => {
  const user = await podkeep.user();
  const [phone, laptop] = [deviceOf(user, "phone"), deviceOf(user, "laptop")];
  for (const device of [phone, laptop]) await get(device, 0);
  const between = beforeWrites(podkeep.app, async (write) => {
    if (write === 4) await addFeeds(podkeep.app, user.id, ["https://between.example/"]);
  });
  await Promise.all([
    uploadFeedChanges(between, phone.actor, phone.client, { add: urls("phone"), remove: [] }),
    uploadFeedChanges(podkeep.app, phone.actor, phone.client, { add: urls("phone"), remove: [] }),
    uploadFeedChanges(podkeep.app, laptop.actor, laptop.client, { add: urls("laptop"), remove: [] }),
    addFeeds(podkeep.app, user.id, urls("api")),
  ]);
  const all = [...urls("phone"), ...urls("laptop"), ...urls("api"), "https://between.example/"].sort();
  expect(await listOf(user)).toEqual(all);
  expect(await countHistory(user)).toBe(all.length);
});

test("what an app removes while it has no response to a large upload stays removed", async () => {
  const user = await podkeep.user();
  const { actor, client } = deviceOf(user, "phone");
  const [last = ""] = urls("new").slice(-1);
  let removed: Promise<unknown> | undefined;
  const givesUp = beforeWrites(podkeep.app, (write) => {
    if (write === 2) removed = uploadFeedChanges(podkeep.app, actor, client, { add: [], remove: [last] });
  });
  await uploadFeedChanges(givesUp, actor, client, { add: urls("new"), remove: [] });
  await removed;
  expect(await listOf(user)).toEqual(urls("new").slice(0, -1).sort());
});

test("a large list that an app uploads while the one before is on its way lacks what its user removed since", async () => {
  const user = await podkeep.user();
  const { actor, client } = deviceOf(user, "phone");
  let later: Promise<unknown> | undefined;
  const givesUp = beforeWrites(podkeep.app, (write) => {
    if (write === 2) later = uploadFeedList(podkeep.app, actor, client, urls("new").slice(0, -1));
  });
  await uploadFeedList(givesUp, actor, client, urls("new"));
  await later;
  expect(await listOf(user)).toEqual(urls("new").slice(0, -1).sort());
});

test("a device's upload does not wait for all of another user's large one", async () => {
  const [phone, other] = [deviceOf(await podkeep.user(), "phone"), deviceOf(await podkeep.user(), "phone")];
  const done: string[] = [];
  const upload = async ({ actor, client }: Device, add: string[], context: Context, what: string) => {
    await uploadFeedChanges(context, actor, client, { add, remove: [] });
    done.push(what);
  };
  let small: Promise<unknown> | undefined;
  const between = beforeWrites(podkeep.app, async (write) => {
    if (write === 2) small = upload(other, urls("other", 1), podkeep.app, "small");
    // It would never end if it waited for the whole.
    if (write === 3) await small;
  });
  await upload(phone, urls("new"), between, "large");
  expect(done).toEqual(["small", "large"]);
});

/** Uploads of a user wait for each other on one server only. */
const secondServer = (): Promise<typeof import("../../src/services/devices/device-uploads.ts")> =>
  import(`../../src/services/devices/device-uploads.ts${"?server=2"}`);

const READ = 2;
const BEGUN = 3;
/** Two parts, without a transaction before the first one. */
const TWO = urls("new", 200);
test.each([
  ["a large upload", urls("new"), [], BEGUN],
  ["a large upload that is only read", urls("new"), [], READ],
  ["one of what is there already", urls("new"), urls("new"), BEGUN],
  ["one of what is there already, and only read,", urls("new"), urls("new"), READ],
  ["one in two parts of what is there already", TWO, TWO, READ],
])("what an app removes on another server, while it has no response to %s, stays removed", async (_, add, had, at) => {
  const second = await secondServer();
  const user = await podkeep.user();
  const { actor, client } = deviceOf(user, "phone");
  await uploadFeedChanges(podkeep.app, actor, client, { add: had, remove: [] });
  const [last = ""] = add.slice(-1);
  const givesUp = beforeWrites(podkeep.app, async (write) => {
    if (write === at) await second.uploadFeedChanges(podkeep.app, actor, client, { add: [], remove: [last] });
  });
  await uploadFeedChanges(givesUp, actor, client, { add, remove: [] });
  expect(await listOf(user)).toEqual(add.slice(0, -1).sort());
});

const upload = (context: Context, { actor, client }: Device, add: string[], remove: string[]) =>
  uploadFeedChanges(context, actor, client, { add, remove });

/** A context that calls `note` at each read outside of writes. */
function noteReads(note: () => void): Context {
  const { database } = podkeep.app;
  const read: Database["read"] = (work, isCurrent) => {
    note();
    return database.read(work, isCurrent);
  };
  return { ...podkeep.app, database: withMethods(database, { read }) };
}

test("what an app removes on another server, while a small upload is compared with much, stays removed", async () => {
  const second = await secondServer();
  const user = await podkeep.user();
  const [phone, laptop] = [deviceOf(user, "phone"), deviceOf(user, "laptop")];
  const { timestamp } = await get(phone, 0);
  await get(phone, timestamp);
  const one = "https://one.example/";
  await upload(podkeep.app, laptop, [...urls("new"), one], []);
  await upload(podkeep.app, laptop, [], [one]);
  let isRead = false;
  const reads = noteReads(() => {
    isRead = true;
  });
  const givesUp = beforeWrites(reads, async () => {
    if (!isRead) return;
    isRead = false;
    await second.uploadFeedChanges(podkeep.app, phone.actor, phone.client, { add: [], remove: [one] });
  });
  await upload(givesUp, phone, [one], []);
  expect(await listOf(user)).toEqual(urls("new").sort());
});

const few: string[] = [];
const asks = (device: Device, since: number) => get(device, since);
const readsList = ({ actor, client }: Device) => listDeviceFeeds(podkeep.app, actor, client);

test.each([
  ["asks again", "a small upload that is compared with much", few, asks],
  ["asks again", "a large upload", urls("new"), asks],
  ["reads the list", "a small upload that is compared with much", few, readsList],
  ["reads the list", "a large upload", urls("new"), readsList],
])("what an app repeats stays removed, although it %s before %s is applied", async (_, __, more, act) => {
  const user = await podkeep.user();
  const [phone, laptop] = [deviceOf(user, "phone"), deviceOf(user, "laptop")];
  const one = "https://one.example/";
  const first = await get(phone, 0);
  const { timestamp } = await get(phone, first.timestamp);
  await upload(podkeep.app, phone, [one], []);
  await upload(podkeep.app, laptop, urls("new"), [one]);
  const { timestamp: since } = await get(phone, timestamp);
  let isBegun = false;
  const reads = noteReads(() => {
    isBegun = true;
  });
  let acts = 0;
  const beside = beforeWrites(reads, async () => {
    if (isBegun && acts++ === 0) await act(phone, since);
  });
  await upload(beside, phone, [one, ...more], []);
  expect(acts).toBeGreaterThan(0);
  expect(await listOf(user)).toEqual(urls("new").sort());
});

test("a large list that an app uploads with a new token lacks what its user removed since the one with the old", async () => {
  const user = await podkeep.user();
  const upload = (token: string, list: string[]) => {
    const actor: Actor = { ...actAsUser(user.id, null, "laptop"), kind: "token", id: token };
    return uploadFeedList(podkeep.app, actor, identifyClient(actor, appNamed("gPodder", "gpodder")), list);
  };
  await upload("old", urls("new"));
  await upload("new", urls("new").slice(1));
  expect(await listOf(user)).toEqual(urls("new").slice(1).sort());
});

test.each<[string, (user: TestUser, phone: Device) => Promise<unknown>]>([
  ["is forgotten", (_, { actor }) => forgetDevice(podkeep.app, actor, "phone")],
  [
    "gives way to a hundred others",
    async (user) => {
      podkeep.clock.advance(1);
      for (let n = 0; n < 100; n++) await get(deviceOf(user, `other${n}`), 0);
    },
  ],
])("a device that %s between parts of its upload is known again", async (_, forget) => {
  const user = await podkeep.user();
  const phone = deviceOf(user, "phone");
  await get(phone, 0);
  const forgets = beforeWrites(podkeep.app, async (write) => {
    if (write === 3) await forget(user, phone);
  });
  await uploadFeedChanges(forgets, phone.actor, phone.client, { add: urls("new"), remove: [] });
  expect(await listOf(user)).toEqual(urls("new").sort());
  const known = await podkeep.sql(`select id from clients where user_id = '${user.id}' and device = 'phone'`);
  expect(known).toEqual([{ id: phone.client.id }]);
});

test("of a user who is deleted between parts, nothing is left", async () => {
  for (const [what, request] of Object.entries(REQUESTS)) {
    const user = await podkeep.user();
    const deletes = beforeWrites(podkeep.app, async (write) => {
      if (write === 3) await deleteUser(podkeep.app, user.name);
    });
    const sent = request(deletes, user).then(
      () => "done",
      ({ code }) => code,
    );
    expect([what, await sent]).toEqual([what, "unauthorized"]);
    for (const table of ["users", "subscriptions", "feeds", "history", "clients", "holdings"]) {
      const owner = table === "users" ? "id" : "user_id";
      expect(await podkeep.sql(`select 1 as found from ${table} where ${owner} = '${user.id}'`)).toEqual([]);
    }
  }
});

test("a large upload brings nothing back that another app removed while it was on its way, in no part of it", async () => {
  const user = await podkeep.user();
  const [phone, laptop] = [deviceOf(user, "phone", "AntennaPod"), deviceOf(user, "laptop")];
  await addFeeds(podkeep.app, user.id, urls("new"));
  const { timestamp } = await get(phone, 0);
  podkeep.clock.advance(5000);
  await get(phone, timestamp);
  podkeep.clock.advance(5000);
  await uploadFeedChanges(podkeep.app, laptop.actor, laptop.client, { add: [], remove: urls("new").slice(1) });
  const [left] = (await user.changes("", 500)).filter((item) => item.is_subscribed);
  const between = beforeWrites(podkeep.app, async (write) => {
    if (write === 3) await user.request("PATCH", `/subscriptions/${left.guid}`, { is_subscribed: false });
  });
  // AntennaPod echoes what it received.
  await uploadFeedChanges(between, phone.actor, phone.client, { add: urls("new").toReversed(), remove: [] });
  expect(await listOf(user)).toEqual([]);
});

test.each([1, MANY])(
  "an app that echoes %d podcasts after thousands of changes brings none back, and no other user waits for all of them",
  async (count) => {
    const user = await podkeep.user();
    const [phone, laptop] = [deviceOf(user, "phone", "AntennaPod"), deviceOf(user, "laptop", "mygpoclient")];
    await addFeeds(podkeep.app, user.id, urls("new"));
    const { timestamp } = await get(phone, 0);
    podkeep.clock.advance(5000);
    await get(phone, timestamp);
    podkeep.clock.advance(5000);
    for (const list of [[], urls("new"), [], urls("new"), []]) {
      const remove = list.length === 0 ? urls("new") : [];
      await uploadFeedChanges(podkeep.app, laptop.actor, laptop.client, { add: list, remove });
    }
    const echoed = { add: urls("new").slice(0, count), remove: [] };
    const most = await mostReadByWrites(podkeep.app, (context) =>
      uploadFeedChanges(context, phone.actor, phone.client, echoed),
    );
    expect(most).toBeLessThan(1000);
    expect(await listOf(user)).toEqual([]);
  },
);

test.each(["the same", "a new"])(
  "a short list after a long one removes the rest, and no other user waits meanwhile, also with %s credential",
  async (credential) => {
    const user = await podkeep.user();
    const upload = (context: Context, token: string, list: string[]) => {
      const actor: Actor = { ...actAsUser(user.id, null, "laptop"), kind: "token", id: token };
      return uploadFeedList(context, actor, identifyClient(actor, appNamed("gPodder", "gpodder")), list);
    };
    const token = await issueToken(podkeep.app, await actAsAdmin(podkeep.app, user.name, "test"), {
      label: "laptop",
      scope: "write",
      expires_at: null,
    });
    await upload(podkeep.app, token.id, urls("new", 2500));
    const most = await mostReadByWrites(podkeep.app, (context) =>
      upload(context, credential === "a new" ? "another" : token.id, urls("new", 1)),
    );
    expect(most).toBeLessThan(1500);
    expect(await listOf(user)).toEqual(urls("new", 1));
  },
);

test.each([200, MANY])(
  "what AntennaPod has received and its user removes goes, though it removes %d podcasts before that in one upload",
  async (count) => {
    const user = await podkeep.user();
    const phone = deviceOf(user, "phone", "AntennaPod");
    await addFeeds(podkeep.app, user.id, urls("old", count));
    const { timestamp } = await get(phone, 0);
    podkeep.clock.advance(5000);
    await addFeeds(podkeep.app, user.id, ["https://received.example/"]);
    expect((await get(phone, timestamp)).add).toEqual(["https://received.example/"]);
    podkeep.clock.advance(5000);
    const remove = [...urls("old", count), "https://received.example/"];
    await uploadFeedChanges(podkeep.app, phone.actor, phone.client, { add: [], remove });
    expect(await listOf(user)).toEqual([]);
  },
);

test("podcasts that one upload removes in two parts are noticed, and come back by a moment of days after the change before", async () => {
  const user = await podkeep.user();
  const phone = deviceOf(user, "phone");
  const gone = urls("gone", 150);
  const { timestamp } = await get(phone, 0);
  await uploadFeedChanges(podkeep.app, phone.actor, phone.client, { add: gone, remove: [] });
  await get(phone, timestamp);
  podkeep.clock.advance(24 * 60 * 60_000);
  const as_of = podkeep.clock.now();
  podkeep.clock.advance(24 * 60 * 60_000);
  await uploadFeedChanges(podkeep.app, phone.actor, phone.client, { add: [], remove: gone });
  expect(await listMassRemovals(podkeep.app, phone.actor, as_of)).toMatchObject([{ removed: 150, missing: 150 }]);
  await restoreSubscriptions(podkeep.app, phone.actor, { as_of }, false);
  expect(await listOf(user)).toEqual(gone.sort());
});
