// Devices of apps, by the ids that the apps choose.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { appNamed } from "../../../src/http/apps.ts";
import { revokeApp } from "../../../src/services/accounts/apps.ts";
import { issueToken, revokeToken } from "../../../src/services/accounts/tokens.ts";
import { deleteUser } from "../../../src/services/accounts/user-deletion.ts";
import { actAsAdmin, actAsUser } from "../../../src/services/actor.ts";
import { identifyClient, pruneClients } from "../../../src/services/devices/clients.ts";
import { listDeviceFeeds, readFeedChanges } from "../../../src/services/devices/device-list.ts";
import { uploadFeedChanges, uploadFeedList } from "../../../src/services/devices/device-uploads.ts";
import {
  type DeviceType,
  forgetDevice,
  isDeviceId,
  listDevices,
  noteSync,
  renameDevice,
  saveDevice,
} from "../../../src/services/devices/devices.ts";
import { uploadActions } from "../../../src/services/listening/episode-uploads.ts";
import { openTestApp, START, type TestApp, type TestUser } from "../../support/app.ts";
import { basicAuth } from "../../support/basic-auth.ts";
import { beforeWrites } from "../../support/before-writes.ts";
import { mostReadByWrites } from "../../support/count-reads.ts";
import { ON_SQLITE } from "../../support/database.ts";
import { rejectionOf } from "../../support/rejection.ts";

let podkeep: TestApp;
let ann: TestUser;

beforeEach(async () => {
  podkeep = await openTestApp();
  ann = await podkeep.user("ann");
});
afterEach(() => podkeep.close());

const list = (user = ann) => listDevices(podkeep.app, actAsUser(user.id));
const save = (id: string, caption?: string, type?: DeviceType) =>
  saveDevice(podkeep.app, actAsUser(ann.id), { id, caption, type });

test("a device keeps what an app does not say again", async () => {
  await save("phone", "My phone", "mobile");
  podkeep.clock.advance(1000);
  await save("phone", undefined, "other");
  await save("phone", "New\nname\u202e");
  await save("laptop");
  expect(await list()).toEqual([
    {
      id: "laptop",
      caption: "laptop",
      type: "other",
      token_id: null,
      created_at: START + 1000,
      last_sync_at: null,
      usual_pause: null,
    },
    {
      id: "phone",
      caption: "New name",
      type: "other",
      token_id: null,
      created_at: START,
      last_sync_at: null,
      usual_pause: null,
    },
  ]);
});

test("a sync creates an unknown device; each has the token that it synced with last", async () => {
  await save("phone", "My phone", "mobile");
  const token = { ...actAsUser(ann.id), kind: "token" as const, id: "abc" };
  for (const id of ["phone", "tablet"]) await podkeep.app.database.write((tx) => noteSync(tx, token, id, START + 5));
  await save("phone", undefined, "laptop");
  expect(await list()).toMatchObject([
    { id: "phone", caption: "My phone", type: "laptop", token_id: "abc", last_sync_at: START + 5 },
    { id: "tablet", caption: "tablet", token_id: "abc", created_at: START + 5, last_sync_at: START + 5 },
  ]);
});

test("uploads count as syncs, and a clock that was ahead is corrected by the next one", async () => {
  const actor = actAsUser(ann.id, null, "phone");
  const client = identifyClient(actor, appNamed("AntennaPod", "gpodder"));
  const lastSync = async () => (await list())[0]?.last_sync_at;
  const upload = (urls: string[]) => uploadFeedChanges(podkeep.app, actor, client, { add: urls, remove: [] });
  const YEAR = 365 * 24 * 60 * 60 * 1000;
  await readFeedChanges(podkeep.app, actor, client, { since: 0 });
  podkeep.clock.advance(90_000);
  await upload(["https://a.example/"]);
  expect(await lastSync()).toBe(START + 90_000);
  podkeep.clock.advance(90_000);
  await uploadActions(podkeep.app, actor, client, [
    {
      feed_url: "https://a.example/",
      episode_url: "https://a.example/1",
      guid: null,
      kind: "play",
      sent_at: START + 100_000,
      started: 0,
      position: 10,
      total: 100,
      device: "phone",
    },
  ]);
  expect(await lastSync()).toBe(START + 180_000);
  podkeep.clock.set(START + 10 * YEAR);
  await upload(["https://b.example/"]);
  podkeep.clock.set(START + 200_000);
  await upload(["https://b.example/"]);
  expect(await lastSync()).toBe(START + 200_000);
});

test("a sync without news counts too, if the last one that counted was an hour ago", async () => {
  const actor = actAsUser(ann.id, null, "phone");
  const client = identifyClient(actor, appNamed("Kasts", "gpodder"));
  const lastSync = async () => (await list())[0]?.last_sync_at;
  const { timestamp } = await readFeedChanges(podkeep.app, actor, client, { since: 0 });
  // Kasts adds one.
  const sync = () => readFeedChanges(podkeep.app, actor, client, { since: timestamp + 1 });
  await sync();
  podkeep.clock.advance(59 * 60_000);
  await sync();
  expect(await lastSync()).toBe(START);
  podkeep.clock.advance(60_000);
  await sync();
  expect(await lastSync()).toBe(START + 60 * 60_000);
});

test.each([
  ["in 1970", 5000],
  ["years ahead", START * 2],
])("a sync while the clock is %s does not make its device's pauses long", async (_, wrong) => {
  const HOUR = 60 * 60 * 1000;
  for (const now of [START, START + HOUR, wrong, START + 2 * HOUR]) {
    await podkeep.app.database.write((tx) => noteSync(tx, actAsUser(ann.id), "phone", now));
  }
  expect(await list()).toMatchObject([{ last_sync_at: START + 2 * HOUR, usual_pause: HOUR }]);
});

test("each user has devices of any id, which end with the user", async () => {
  const bob = await podkeep.user("bob");
  await save("phone", "Ann's");
  await saveDevice(podkeep.app, actAsUser(bob.id), { id: "phone", caption: "Bob's" });
  await renameDevice(podkeep.app, actAsUser(bob.id), "phone", "Renamed");
  await forgetDevice(podkeep.app, actAsUser(bob.id), "phone");
  expect([await list(), await list(bob)]).toMatchObject([[{ caption: "Ann's" }], []]);
  expect(await rejectionOf(forgetDevice(podkeep.app, actAsUser(bob.id), "phone"))).toMatchObject({ code: "not_found" });
  await deleteUser(podkeep.app, "ann");
  expect(await podkeep.sql("select id from devices")).toEqual([]);
});

test("a forgotten device starts from the beginning, and no other one does", async () => {
  const { app } = podkeep;
  await ann.add("https://a.example/");
  const open = async (device: string) => {
    const actor = actAsUser(ann.id, null, device);
    const client = identifyClient(actor, appNamed("AntennaPod", "gpodder"));
    const { timestamp } = await readFeedChanges(app, actor, client, { since: 0 });
    return async () => (await readFeedChanges(app, actor, client, { since: timestamp })).add;
  };
  const [phone, tablet] = [await open("phone"), await open("tablet")];
  expect([await phone(), (await list()).map(({ id }) => id)]).toEqual([[], ["phone", "tablet"]]);
  await forgetDevice(app, actAsUser(ann.id), "phone");
  expect([await phone(), await tablet()]).toEqual([["https://a.example/"], []]);
});

test("what is kept of an app's syncs ends three months after its token; the device and other apps stay", async () => {
  const { app } = podkeep;
  const issue = async (expires_at: number | null) => {
    const admin = await actAsAdmin(app, "ann", "test");
    return (await issueToken(app, admin, { label: "app", scope: "write", expires_at })).id;
  };
  const day = START + 86_400_000;
  const year = START + 365 * 86_400_000;
  const [kept, revoked, revokedOnPage, expired] = [
    await issue(year),
    await issue(null),
    await issue(null),
    await issue(day),
  ];
  for (const id of [kept, revoked, revokedOnPage, expired]) {
    const actor = { ...actAsUser(ann.id), kind: "token" as const, id, device: "phone" };
    const client = identifyClient(actor, appNamed("AntennaPod", "gpodder"));
    await uploadFeedChanges(app, actor, client, { add: ["https://a.example/"], remove: [] });
    await readFeedChanges(app, actor, client, { since: 0 });
  }
  const clients = async () =>
    (await podkeep.sql("select token_id from clients")).map(({ token_id }) => token_id).sort();
  expect(await clients()).toHaveLength(4);
  await revokeToken(app, revoked);
  await revokeApp(app, actAsUser(ann.id), revokedOnPage);
  podkeep.clock.set(START + 90 * 86_400_000);
  expect(await pruneClients(app)).toBe(0);
  podkeep.clock.advance(1);
  expect(await pruneClients(app)).toBe(3);
  expect(await clients()).toEqual([kept]);
  expect(await podkeep.sql("select feed from holdings")).toHaveLength(1);
  expect((await list()).map(({ id }) => id)).toEqual(["phone"]);
});

test("a client that holds thousands of feeds is forgotten in parts, and no app takes over a part of them", async () => {
  const { app } = podkeep;
  const user_id = ann.id;
  const on = (token: string) =>
    identifyClient(
      { ...actAsUser(user_id), kind: "token", id: token, device: "phone" },
      appNamed("AntennaPod", "gpodder"),
    );
  const [ended, next] = [on("ended"), on("next")];
  await podkeep.sql(`insert into clients (user_id, id, token_id, device, product, seen_at, began)
    values (${user_id}, '${ended.id}', 'ended', 'phone', 'AntennaPod', 0, 0)`);
  await podkeep.sql(`insert into holdings (user_id, client, feed, feed_url)
    with recursive n(n) as (select 1 union all select n + 1 from n where n < 4500)
    select ${user_id}, '${ended.id}', 'feed' || n, 'https://a.example/' || n from n`);
  const holdings = async () =>
    (await podkeep.sql("select client, count(*) as count from holdings group by client")).map(({ count }) =>
      Number(count),
    );
  const left: number[][] = [];
  const context = beforeWrites(app, async (write) => {
    left.push(await holdings());
    if (write === 3) await uploadFeedChanges(app, actAsUser(user_id), next, { add: [], remove: [] });
  });
  expect(await pruneClients(context)).toBe(1);
  expect(left.flat().length).toBeGreaterThan(5);
  expect(left.every((counts) => counts.length === 1)).toBe(true);
  expect(await holdings()).toEqual([]);
  expect((await podkeep.sql("select id from clients")).map(({ id }) => id)).toEqual([next.id]);
});

// Others get turns after a thousand.
test.each([999, 1000, 1001, 2500])(
  "a new credential takes over %d feeds, all that the old one held, and no other user waits while it looks through them",
  async (count) => {
    const { app } = podkeep;
    const feeds = Array.from({ length: count }, (_, n) => `https://a.example/${n}`);
    const connect = async () => {
      const admin = await actAsAdmin(app, "ann", "test");
      const { id } = await issueToken(app, admin, { label: "app", scope: "write", expires_at: null });
      const actor = { ...actAsUser(ann.id), kind: "token" as const, id, device: "phone" };
      return { actor, client: identifyClient(actor, appNamed("AntennaPod", "gpodder")) };
    };
    const [earlier, next] = [await connect(), await connect()];
    const { timestamp } = await readFeedChanges(app, earlier.actor, earlier.client, { since: 0 });
    await uploadFeedChanges(app, earlier.actor, earlier.client, { add: feeds, remove: [] });
    const most = await mostReadByWrites(app, (context) =>
      readFeedChanges(context, next.actor, next.client, { since: timestamp }),
    );
    // On PostgreSQL it looks again with the user locked, for whom no other waits.
    if (ON_SQLITE) expect(most).toBeLessThan(100);
    const held = (id: string) =>
      podkeep.sql(`select feed, feed_url, reported, decided from holdings where client = '${id}' order by feed`);
    expect(await held(earlier.client.id)).toHaveLength(count);
    expect(await held(next.client.id)).toEqual(await held(earlier.client.id));
  },
);

test.each([
  ["the first one added with the user's password", "password"],
  ["one before the first added with a token that ended", "token"],
])("a second app with the id of a device uploads its list, and removes nothing that %s", async (_, earlier) => {
  const { app } = podkeep;
  const connect = async (kind: string) => {
    const admin = await actAsAdmin(app, "ann", "test");
    const id =
      kind === "token" ? (await issueToken(app, admin, { label: "app", scope: "write", expires_at: null })).id : null;
    const actor = { ...actAsUser(ann.id, null, "phone"), ...(id !== null && { kind: "token" as const, id }) };
    return { id, actor, client: identifyClient(actor, appNamed("gPodder", "gpodder")) };
  };
  const first = await connect(earlier);
  await readFeedChanges(app, first.actor, first.client, { since: 0 });
  await uploadFeedList(app, first.actor, first.client, ["https://a.example/"]);
  if (first.id !== null) {
    await revokeToken(app, first.id);
    const second = await connect("token");
    await readFeedChanges(app, second.actor, second.client, { since: 0 });
  }
  const last = await connect("token");
  await readFeedChanges(app, last.actor, last.client, { since: 0 });
  await uploadFeedList(app, last.actor, last.client, ["https://b.example/"]);
  const listed = (await listDeviceFeeds(app, actAsUser(ann.id), null)).map(({ feed_url }) => feed_url);
  expect(listed).toEqual(["https://a.example/", "https://b.example/"]);
});

test("a client that makes room for a new one goes with all that it held", async () => {
  const { app } = podkeep;
  const on = (device: string) => identifyClient({ ...actAsUser(ann.id), device }, appNamed("AntennaPod", "gpodder"));
  await podkeep.sql(`insert into clients (user_id, id, device, product, seen_at, began)
    with recursive n(n) as (select 1 union all select n + 1 from n where n < 100)
    select ${ann.id}, 'client' || n, 'device' || n, 'AntennaPod', n, 0 from n`);
  await podkeep.sql(`insert into holdings (user_id, client, feed, feed_url)
    with recursive n(n) as (select 1 union all select n + 1 from n where n < 2500)
    select ${ann.id}, 'client1', 'feed' || n, 'https://a.example/' || n from n`);
  await uploadFeedChanges(app, actAsUser(ann.id), on("phone"), { add: [], remove: [] });
  const ids = (await podkeep.sql("select id from clients")).map(({ id }) => id);
  expect([ids.length, ids.includes("client1"), ids.includes("client2")]).toEqual([100, false, true]);
  expect(await podkeep.sql("select feed from holdings")).toEqual([]);
});

test("a name that is too long ends with a whole emoji, or before it", async () => {
  for (const [units, end] of [
    [198, "🎧"],
    [199, ""],
  ] as const) {
    await save("phone", `${"x".repeat(units)}🎧🎧`);
    expect(await list()).toMatchObject([{ caption: `${"x".repeat(units)}${end}` }]);
  }
});

test("a token that may only read changes none", async () => {
  const reader = { ...actAsUser(ann.id), kind: "token" as const, scope: "read" as const };
  await save("phone");
  for (const work of [
    () => saveDevice(podkeep.app, reader, { id: "phone" }),
    () => renameDevice(podkeep.app, reader, "phone", "x"),
    () => forgetDevice(podkeep.app, reader, "phone"),
  ]) {
    expect(await rejectionOf((async () => work())())).toMatchObject({ code: "unauthorized" });
  }
});

test("ids are those of the gPodder API", () => {
  for (const id of ["a", "my-phone_2.0", "ABC", "...", ".a"]) expect(isDeviceId(id)).toBe(true);
  for (const id of ["", ".", "..", "a b", "ü", "a/b", "a\n", "a".repeat(256)]) expect(isDeviceId(id)).toBe(false);
});

test("a token that may only read creates no device, and displaces no other client", async () => {
  await uploadFeedChanges(
    podkeep.app,
    actAsUser(ann.id, null, "phone"),
    identifyClient(actAsUser(ann.id, null, "phone"), appNamed("AntennaPod", "gpodder")),
    { add: ["https://a.example/"], remove: [] },
  );
  const { token } = await issueToken(podkeep.app, actAsUser(ann.id), { label: "r", scope: "read", expires_at: null });
  const before = await list();
  for (let n = 0; n < 120; n++) {
    const { status } = await podkeep.send("GET", `/api/2/subscriptions/ann/reader${n}.json?since=0`, {
      headers: { ...basicAuth("ann", token), "User-Agent": `Reader${n}/1` },
    });
    expect(status).toBe(200);
  }
  expect(await list()).toEqual(before);
  const clients = await podkeep.sql("select token_id, device from clients order by token_id");
  expect(clients).toHaveLength(2);
  expect(clients).toContainEqual({ token_id: null, device: "phone" });
});

test("a script that only reads the whole list is no device, and displaces no other client", async () => {
  const phone = actAsUser(ann.id, null, "phone");
  const client = identifyClient(phone, appNamed("AntennaPod", "gpodder"));
  await uploadFeedChanges(podkeep.app, phone, client, { add: ["https://a.example/"], remove: [] });
  const before = await list();
  for (let n = 0; n < 120; n++) {
    const { status, body } = await ann.request("GET", `/subscriptions/ann/script${n}.json`, undefined, {
      "User-Agent": "Script/1",
    });
    expect([status, body]).toEqual([200, ["https://a.example/"]]);
  }
  expect(await list()).toEqual(before);
  expect(await podkeep.sql("select device from clients")).toEqual([{ device: "phone" }]);
});

test("a token that may only read misses no change, though its client has no device", async () => {
  const { token } = await issueToken(podkeep.app, actAsUser(ann.id), { label: "r", scope: "read", expires_at: null });
  const read = async (since: number) => {
    const headers = { ...basicAuth("ann", token), "User-Agent": "Reader/1" };
    return (await podkeep.send("GET", `/api/2/subscriptions/ann/reader.json?since=${since}`, { headers })).body;
  };
  const first = await read(0);
  for (const feed of ["https://a.example/", "https://b.example/"]) await ann.add(feed);
  expect((await read(first.timestamp)).add).toEqual(["https://a.example/", "https://b.example/"]);
});

test("a user has 200 devices; another one ends the one that was not seen for longest", async () => {
  for (let n = 0; n < 200; n++) {
    podkeep.clock.advance(1000);
    await save(`d${n}`);
  }
  await podkeep.app.database.write((tx) => noteSync(tx, actAsUser(ann.id), "d0", podkeep.clock.now() + 500));
  podkeep.clock.advance(1000);
  await save("d200");
  const ids = (await list()).map(({ id }) => id);
  expect(ids).toHaveLength(200);
  expect(ids).toContain("d0");
  expect(ids).not.toContain("d1");
});
