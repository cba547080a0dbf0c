// Deleting a user who has much: others don't wait for the whole, and what is cut off is completed by a repetition.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { tables } from "../../../src/db/tables.ts";
import { appNamed } from "../../../src/http/apps.ts";
import { createLogger } from "../../../src/log.ts";
import { connectApp, openConnectLink } from "../../../src/services/accounts/connect-links.ts";
import { approveLoginFlow, claimLoginFlow, startLoginFlow } from "../../../src/services/accounts/login-flow.ts";
import { logIn } from "../../../src/services/accounts/login-tokens.ts";
import { createPasswordLink, usePasswordLink } from "../../../src/services/accounts/password-links.ts";
import { setPassword } from "../../../src/services/accounts/passwords.ts";
import { createSession, signOutEverywhere } from "../../../src/services/accounts/sessions.ts";
import { signIn } from "../../../src/services/accounts/sign-in.ts";
import { issueAppToken } from "../../../src/services/accounts/tokens.ts";
import { deleteUser } from "../../../src/services/accounts/user-deletion.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import type { Context } from "../../../src/services/context.ts";
import { identifyClient } from "../../../src/services/devices/clients.ts";
import { listDeviceFeeds, readFeedChanges } from "../../../src/services/devices/device-list.ts";
import { listEntities } from "../../../src/services/openpodcast-draft/sync-entities.ts";
import { listChanges } from "../../../src/services/subscriptions/change-feed.ts";
import { openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { UNLIMITED } from "../../support/attempts.ts";
import { beforeWrites } from "../../support/before-writes.ts";
import { addMuch, deletePart } from "../../support/deletion-parts.ts";
import { PATIENCE } from "../../support/patience.ts";
import { rejectionOf } from "../../support/rejection.ts";

setDefaultTimeout(PATIENCE);

let podkeep: TestApp;
beforeAll(async () => {
  podkeep = await openTestApp();
});
afterAll(() => podkeep.close());

/** Rows of a user, by table. */
async function rowsOf(id: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [table, { owner }] of Object.entries(tables)) {
    const [row] = owner ? await podkeep.sql(`select count(*) as count from ${table} where ${owner} = ${id}`) : [];
    if (Number(row?.["count"] ?? 0) > 0) counts[table] = Number(row?.["count"]);
  }
  return counts;
}

/** A user who has much. */
async function createLarge(name: string) {
  const user = await podkeep.user(name);
  await addMuch(podkeep.app, user.id);
  return user;
}

test("while a user who has much is deleted, others write between the parts, and the user can't sign in", async () => {
  const [large, other] = [await createLarge("large"), await podkeep.user("other")];
  const statuses: number[] = [];
  const context = beforeWrites(podkeep.app, async (write) => {
    if (write === 1) return;
    await other.add(`https://${write}.example/`);
    statuses.push((await large.request("GET", "/subscriptions")).status);
  });
  await deleteUser(context, large.name);
  expect(statuses.length).toBeGreaterThan(4);
  expect(new Set(statuses)).toEqual(new Set([401]));
  expect(await rowsOf(large.id)).toEqual({});
  expect((await other.changes()).length).toBe(statuses.length);
});

test("no part of a user's deletion deletes more than a thousand rows of a table, nor lookups that another user needs", async () => {
  const [large, other] = [await createLarge("large"), await podkeep.user("follower")];
  await podkeep.sql(
    `insert into feed_followers (feed, user_id) select feed, user_id from feeds where user_id = ${large.id}`,
  );
  await podkeep.sql(`insert into feed_followers (feed, user_id) select max(feed), ${other.id} from feed_followers`);
  await podkeep.sql(
    `insert into feed_lookups (feed, feed_url, next_at, moved_seen, failures)
      select feed, 'https://a.example/', 1, 0, 0 from feed_followers where user_id = ${large.id}`,
  );
  const counts: Record<string, number>[] = [];
  const count = async () => {
    const [row] = await podkeep.sql("select count(*) as count from feed_lookups");
    counts.push({ ...(await rowsOf(large.id)), feed_lookups: Number(row?.["count"]) });
  };
  await deleteUser(beforeWrites(podkeep.app, count), large.name);
  await count();
  const deleted = counts
    .slice(1)
    .flatMap((after, n) => Object.entries(counts[n] ?? {}).map(([table, before]) => before - (after[table] ?? 0)));
  expect(Math.max(...deleted)).toBe(1000);
  expect(counts.at(-1)).toEqual({ feed_lookups: 1 });
});

test("a deletion of a user that is cut off anywhere is completed by the next one, and the user can't sign in until then", async () => {
  const large = await createLarge("large");
  const before = await rowsOf(large.id);
  for (let parts = 1; (await deletePart(podkeep.app, large.name)) === "cut off"; parts++) {
    expect(await rowsOf(large.id)).toMatchObject({ users: 1 });
    expect((await large.request("GET", "/subscriptions")).status).toBe(401);
    if (parts === 1) expect(await rowsOf(large.id)).not.toEqual(before);
  }
  expect(await rowsOf(large.id)).toEqual({});
});

/** Deletes a part of what a user has, some podcasts too, and is cut off. */
async function deleteSome({ id, name }: TestUser): Promise<void> {
  const left = async () => (await rowsOf(id))["subscriptions"] ?? 0;
  const all = await left();
  while ((await left()) === all) expect(await deletePart(podkeep.app, name)).toBe("cut off");
}

const PASSWORD = "correct horse battery staple";
const phone = ({ id }: TestUser) => actAsUser(id, null, "phone");

test.each<[what: string, (context: Context, user: TestUser) => Promise<unknown>]>([
  [
    "reads the whole list",
    (context, user) => {
      const client = identifyClient(phone(user), appNamed("gPodder", "gpodder"));
      return readFeedChanges(context, phone(user), client, { since: 0 });
    },
  ],
  ["gets a token", (context, user) => issueAppToken(context, phone(user), { name: "app", password_hash: null })],
  ["signs in", (context, user) => createSession(context, phone(user), "app")],
  ["signs in to the page", (context, user) => createSession(context, phone(user), "page")],
  ["sets a password", (context, user) => setPassword(context, phone(user), PASSWORD)],
  ["signs out everywhere", (context, user) => signOutEverywhere(context, phone(user))],
  ["logs in", (context, { name }) => logIn(context, { name, password: PASSWORD, app: null }, UNLIMITED)],
])(
  "an app that %s while its user is deleted is not authorized, also if the deletion is cut off",
  async (what, request) => {
    const user = await createLarge(what.replaceAll(" ", "-"));
    await user.setPassword(PASSWORD);
    const context = beforeWrites(podkeep.app, async (write) => {
      if (write === 1) await deleteSome(user);
    });
    expect(await rejectionOf(request(context, user))).toMatchObject({ code: "unauthorized" });
    await deleteUser(podkeep.app, user.name);
    expect(await rowsOf(user.id)).toEqual({});
  },
);

test("after a deletion that is cut off, no worker tries what the user's apps had asked for", async () => {
  const lines: string[] = [];
  const server = await openTestApp({}, { log: createLogger("error", ({ msg = "" }) => void lines.push(msg)) });
  try {
    const user = await server.user();
    await user.remove((await user.add("https://a.example/")).guid);
    await server.sql(
      `insert into episode_moves (user_id, batch, podcast, feed, target, feed_url, until, last_episode)
        values (${user.id}, 1, 1, '', 1, 'https://a.example/', 1, 1)`,
    );
    await addMuch(server.app, user.id);
    expect(await deletePart(server.app, user.name)).toBe("cut off");
    await server.drain();
    expect(lines).toEqual([]);
  } finally {
    await server.close();
  }
});

test("after a deletion that is cut off, no password, token, link or allowed app of the user signs in", async () => {
  const user = await createLarge("linked");
  await user.setPassword(PASSWORD);
  const { app } = podkeep;
  const link = await createPasswordLink(app, actAsUser(user.id));
  const shown = { label: "App", kind: "other", server: "https://podkeep.test", user: user.name };
  const connecting = await connectApp(app, actAsUser(user.id), "nonce", shown);
  const flow = await startLoginFlow(app, { label: "App", address: "192.0.2.1" });
  await approveLoginFlow(app, actAsUser(user.id), flow.page);
  await deleteSome(user);
  for (const password of [PASSWORD, user.token]) {
    const credentials = { name: user.name, password, app: null };
    expect(await rejectionOf(signIn(app, credentials, UNLIMITED))).toMatchObject({ code: "unauthorized" });
  }
  expect(await rejectionOf(usePasswordLink(app, link.secret, PASSWORD))).toMatchObject({ code: "gone" });
  expect(await openConnectLink(app, connecting.secret)).toBeNull();
  expect(await claimLoginFlow(app, flow.poll)).toBeNull();
  await deleteUser(app, user.name);
});

test.each<[what: string, (context: Context, user: TestUser) => Promise<unknown>]>([
  ["its list", (context, user) => listDeviceFeeds(context, phone(user), null)],
  [
    "its list as it spells it",
    (context, user) => {
      const client = identifyClient(phone(user), appNamed("gPodder", "gpodder"));
      return listDeviceFeeds(context, phone(user), client, { peek: true });
    },
  ],
  ["a page of the draft", (context, user) => listEntities(context, phone(user), { after: 0, limit: 5000, all: true })],
  ["all changes", (context, user) => readFeedChanges(context, phone(user), null, { since: 0 })],
  [
    "a page of changes",
    (context, user) => listChanges(context, phone(user), { since: null, page: 1, per_page: 5000, after: null }),
  ],
])("an app that is signed in when a deletion begins does not take what is left for %s", async (what, read) => {
  const user = await createLarge(what.replaceAll(" ", "-"));
  await read(podkeep.app, user);
  await deleteSome(user);
  expect(await rejectionOf(read(podkeep.app, user))).toMatchObject({ code: "unauthorized" });
  await deleteUser(podkeep.app, user.name);
  expect(await rejectionOf(read(podkeep.app, user))).toMatchObject({ code: "unauthorized" });
});
