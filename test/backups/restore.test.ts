// Restoring backups.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readdirSync, renameSync, rmdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openApp } from "../../src/app.ts";
import { verifyBackup } from "../../src/backups/backups.ts";
import { restoreBackup } from "../../src/backups/restore.ts";
import { readConfig } from "../../src/config/settings.ts";
import { MIGRATION_TABLE } from "../../src/db/migrations/migrate.ts";
import { lockDirectory } from "../../src/db/sqlite/directory-lock.ts";
import { findLoginFlow, startLoginFlow } from "../../src/services/accounts/login-flow.ts";
import { setPassword } from "../../src/services/accounts/passwords.ts";
import { createSession, listSessions, readSession } from "../../src/services/accounts/sessions.ts";
import { signIn } from "../../src/services/accounts/sign-in.ts";
import { issueToken, listTokens, revokeToken } from "../../src/services/accounts/tokens.ts";
import { deleteUser } from "../../src/services/accounts/user-deletion.ts";
import { createUser, listUsers, renameUser } from "../../src/services/accounts/users.ts";
import { actAsAdmin, actAsUser } from "../../src/services/actor.ts";
import {
  listSubscribedAt,
  readHistorySince,
  restoreSubscriptions,
} from "../../src/services/subscriptions/earlier-lists.ts";
import { listHistory } from "../../src/services/subscriptions/history.ts";
import { listMassRemovals } from "../../src/services/subscriptions/noticed-removals.ts";
import { draftClient } from "../http/openpodcast-draft/client.ts";
import type { Item } from "../model/answers.ts";
import { openTestApp, START, type TestApp, type TestUser } from "../support/app.ts";
import { UNLIMITED } from "../support/attempts.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { addMuch, deletePart } from "../support/deletion-parts.ts";
import { rejectionOf, settle } from "../support/rejection.ts";
import { backupsOf, change, mode } from "./backups.ts";

let podkeep: TestApp;
let ann: TestUser;

beforeEach(async () => {
  podkeep = await openTestApp();
  ann = await podkeep.user("ann");
});
afterEach(() => podkeep.close());

const { backup, inDirectory, restore, add, list } = backupsOf(() => ({ podkeep, ann }));

/** The feed URLs of the list. */
const subscribed = async () =>
  (await list()).flatMap((item) => (item.is_subscribed && !item.new_guid ? item.feed_url : [])).sort();

/** The id in a token. */
const idOf = ({ token }: TestUser) => token.split("_")[1] ?? "";

/** What the server answers to users' tokens. */
const statusesOf = async (...users: TestUser[]): Promise<number[]> => {
  const answers: number[] = [];
  for (const user of users) answers.push((await user.request("GET", "/subscriptions")).status);
  return answers;
};

const latest = (items: Item[]) =>
  items
    .flatMap((item) => [item.subscription_changed, item.guid_changed ?? "", item.deleted ?? ""])
    .sort()
    .at(-1) ?? "";

describe("restoring a backup", () => {
  test("podcasts that were merged before and the other way round after can be removed and put back", async () => {
    const guids = await add(...Array.from({ length: 12 }, (_, n) => `p${n}`));
    const merge = (guid: string | undefined, into: string) =>
      ann.request("PATCH", `/subscriptions/${guid}`, { new_feed_url: `https://${into}.test/rss` });
    const { file } = await backup();
    podkeep.clock.advance(60_000);
    await merge(guids[0], "p1");
    await restore(file);
    podkeep.clock.advance(60_000);
    await merge(guids[1], "p0");
    for (const guid of guids) await ann.request("PATCH", `/subscriptions/${guid}`, { is_subscribed: false });
    expect(await subscribed()).toEqual([]);
    expect(await listMassRemovals(podkeep.app, actAsUser(ann.id), START)).toMatchObject([{ removed: 11, missing: 11 }]);
  });

  test("an app that is ahead of the backup gets everything again", async () => {
    const [a = "", b = "", c = ""] = await add("a", "b", "c");
    await ann.request("DELETE", `/subscriptions/${c}`);
    await podkeep.drain();
    const { file } = await backup();
    podkeep.clock.advance(3_600_000);
    await ann.request("PATCH", `/subscriptions/${a}`, { is_subscribed: false });
    await ann.request("DELETE", `/subscriptions/${b}`);
    await podkeep.drain();
    const since = latest(await list());

    await restore(file);
    const news = await list(since);
    expect(news).toEqual(await list());
    expect(
      news.map(({ feed_url, is_subscribed, deleted }) => [feed_url, is_subscribed, deleted !== undefined]),
    ).toEqual([
      ["https://a.test/rss", true, false],
      ["https://b.test/rss", true, false],
      ["https://c.test/rss", false, true],
    ]);
    expect(await list(latest(news))).toEqual([]);
  });

  test.each([true, false])(
    "what gPodder's user changed back and forth and had still to upload is done (added: %p)",
    async (added) => {
      const url = "https://a.test/rss";
      const path = "/api/2/subscriptions/ann/laptop.json";
      const send = async (method: string, path: string, body?: unknown) => {
        const answer = await ann.request(method, path, body, {
          ...basicAuth("ann", ann.token),
          "User-Agent": "gPodder/3.11",
        });
        expect(answer.status).toBe(200);
        return answer.body;
      };
      let since = 0;
      const change = async (subscribed: boolean) => {
        podkeep.clock.advance(60_000);
        since = (await send("GET", `${path}?since=${since}`)).timestamp;
        await send("POST", path, { add: subscribed ? [url] : [], remove: subscribed ? [] : [url] });
      };
      await change(true);
      await change(false);
      await change(true);
      if (added) await change(false);
      const { file } = await backup();
      await restore(file);
      await change(added);
      expect(await subscribed()).toEqual(added ? [url] : []);
    },
  );

  test("what was removed while the draft was off stays removed, though a client had added it before and says so later", async () => {
    const { config } = podkeep.app;
    config.open_podcast_draft = "on";
    await podkeep.reopen();
    const phone = draftClient(podkeep, ann);
    const { data } = await phone.subscribe("https://a.test/rss");
    podkeep.clock.advance(60_000);
    const offline = podkeep.clock.now();
    config.open_podcast_draft = "off";
    podkeep.clock.advance(60_000);
    const removed = new Date(podkeep.clock.now()).toISOString();
    await ann.request("PATCH", `/subscriptions/${data.guid}`, { is_subscribed: false });
    const { file } = await backup();
    config.open_podcast_draft = "on";
    podkeep.clock.advance(60_000);
    await restore(file);
    expect(await phone.subscribe("https://a.test/rss", offline)).toMatchObject({
      status: "ignored",
      data: { ...data, unsubscribed_at: removed },
    });
    expect(await subscribed()).toEqual([]);
  });

  test("clients of the draft have each podcast once: it keeps the sync_id that it got since the backup", async () => {
    const [guid] = await add("a");
    const { file } = await backup();
    podkeep.app.config.open_podcast_draft = "on";
    await podkeep.reopen();
    const phone = draftClient(podkeep, ann);
    const [{ last_updated, data }] = await phone.changes();
    expect(data.guid).toBe(guid);
    await restore(file);
    expect((await phone.changes(last_updated)).map((item) => item.data)).toEqual([data]);
    podkeep.clock.advance(60_000);
    expect(await phone.unsubscribe(data.sync_id)).toMatchObject({ status: "applied" });
    expect(await subscribed()).toEqual([]);
  });

  test("clients of the draft read when a podcast was subscribed, if they had not read it before the restore", async () => {
    const subscribed_at = new Date(podkeep.clock.now()).toISOString();
    await add("a");
    podkeep.app.config.open_podcast_draft = "on";
    await podkeep.reopen();
    podkeep.clock.advance(60_000);
    const { file } = await backup();
    await restore(file);
    expect((await draftClient(podkeep, ann).changes()).map(({ data }) => data)).toMatchObject([{ subscribed_at }]);
  });

  test("an app that follows a guid change since the backup gets the guid that is valid now", async () => {
    const [old = ""] = await add("a");
    const fresh = crypto.randomUUID();
    await ann.request("PATCH", `/subscriptions/${old}`, { new_guid: fresh });
    const { file } = await backup();
    await ann.request("PATCH", `/subscriptions/${fresh}`, { new_guid: old });
    const since = latest(await list());

    await restore(file);
    expect(await list(since)).toMatchObject([{ guid: old, new_guid: fresh }]);
  });

  test("every subscription gets its own timestamp, in the old order, and later changes come after", async () => {
    await add(...Array.from({ length: 30 }, (_, index) => `feed${index}`));
    const { file } = await backup();
    const before = (await list()).map(({ feed_url }) => feed_url);
    await restore(file);
    const after = await list();
    expect(after.map(({ feed_url }) => feed_url)).toEqual(before);
    expect(new Set(after.map((item) => item.subscription_changed)).size).toBe(30);
    await add("late");
    expect(await list(latest(after))).toMatchObject([{ feed_url: "https://late.test/rss" }]);
  });

  test("timestamps continue past those of a server whose clock was ahead", async () => {
    const { file } = await backup();
    podkeep.clock.advance(30 * 86_400_000);
    await add("a");
    const since = latest(await list());
    const { file: later } = await backup();
    podkeep.clock.set(START);
    // The data tells what apps may have seen.
    expect(await restore(later)).toMatchObject({ ahead: null });
    podkeep.clock.advance(1000);
    await restore(file);
    await add("b");
    expect(await list(since)).toMatchObject([{ feed_url: "https://b.test/rss" }]);
  });

  test("timestamps continue past those of a backup from a server whose clock was ahead, also on another machine", async () => {
    podkeep.clock.advance(30 * 86_400_000);
    await add("a");
    const since = latest(await list());
    const { file } = await backup();
    podkeep.clock.set(START);
    await podkeep.app.close();
    await Bun.file(inDirectory("podkeep.db")).delete();
    await restoreBackup(podkeep.app.config, podkeep.clock, file);
    await podkeep.open();
    expect(await list(since)).toMatchObject([{ feed_url: "https://a.test/rss" }]);
  });

  test("a poll that got 304 before gets everything after", async () => {
    await add("a");
    const { file } = await backup();
    const { headers } = await ann.request("GET", "/subscriptions");
    const poll = () => ann.request("GET", "/subscriptions", undefined, { "If-None-Match": headers.get("etag") ?? "" });
    expect((await poll()).status).toBe(304);
    await restore(file);
    expect((await poll()).status).toBe(200);
  });

  test("a deletion id that was given out since is not used again", async () => {
    const [a = "", b = ""] = await add("a", "b");
    const { file } = await backup();
    const lost = (await ann.request("DELETE", `/subscriptions/${a}`)).body.deletion_id;
    await restore(file);
    expect((await ann.request("DELETE", `/subscriptions/${b}`)).body.deletion_id).not.toBe(lost);
    expect((await ann.request("GET", `/deletions/${lost}`)).status).toBe(404);
  });

  test("the history goes on: changes since the backup, the restore, and what it changed", async () => {
    const [a = "", b = ""] = await add("a", "b");
    const { file } = await backup();
    const times: number[] = [];
    const lists: string[][] = [];
    const mark = async () => {
      times.push(podkeep.clock.now());
      lists.push(await subscribed());
      podkeep.clock.advance(3_600_000);
    };
    const phone = await ann.another();
    await mark();
    await phone.request("PATCH", `/subscriptions/${a}`, { is_subscribed: false });
    await mark();
    const [c = ""] = await add("c");
    await ann.request("PATCH", `/subscriptions/${b}`, { new_feed_url: "https://b2.test/rss" });
    await mark();
    await restore(file);
    const entries = () => listHistory(podkeep.app, actAsUser(ann.id), { limit: 20 });
    const token = { kind: "token" };
    const by = { kind: "admin", label: "backup restore" };
    const { at } = (await entries())[0] ?? {};
    expect(await entries()).toMatchObject([
      { what: "moved", feed_url: "https://b.test/rss", before: "https://b2.test/rss", at, by },
      { what: "subscribed", feed_url: "https://a.test/rss", before: "unsubscribed", at, by },
      { what: "lost", feed_url: "https://c.test/rss", before: "subscribed", at, by },
      { what: "restored", subscription: null, at: podkeep.clock.now(), by },
      { what: "moved", feed_url: "https://b2.test/rss", by: token },
      { what: "added", feed_url: "https://c.test/rss", by: token },
      { what: "unsubscribed", feed_url: "https://a.test/rss", by: token },
      { what: "added", feed_url: "https://b.test/rss" },
      { what: "added", feed_url: "https://a.test/rss" },
    ]);
    await mark();
    const [d = ""] = await add("d");
    await mark();
    for (const [index, as_of] of times.entries()) {
      const then = await listSubscribedAt(podkeep.app, actAsUser(ann.id), { as_of });
      expect(then.map(({ feed_url }) => feed_url).sort()).toEqual(lists[index] ?? []);
    }
    await restoreSubscriptions(podkeep.app, actAsUser(ann.id), { as_of: times[2] ?? 0 }, true);
    expect(await subscribed()).toEqual(["https://b2.test/rss", "https://c.test/rss"]);
    // The history takes the new podcast for none that was lost.
    expect((await list()).filter(({ guid }) => guid === c || guid === d)).toMatchObject([
      { guid: d, feed_url: "https://d.test/rss", is_subscribed: false },
      { guid: c, feed_url: "https://c.test/rss", is_subscribed: true },
    ]);
  });

  test("a change in the same millisecond as the backup's last one stays in the history", async () => {
    await add("a");
    const { file } = await backup();
    await add("b");
    await restore(file);
    const entries = await listHistory(podkeep.app, actAsUser(ann.id), { limit: 20 });
    expect(entries.map(({ what }) => what)).toEqual(["lost", "restored", "added", "added"]);
  });

  for (const [whose, backup_since, data_since, begins] of [
    ["the backup's, which the old data continues", 0, 0, START],
    ["the backup's last change, if the backup is from before there was a history", START + 9e9, 0, START + 60_000],
    ["the old data's, if that is later than the backup", 0, START + 120_000, START + 120_000],
  ] as const) {
    test(`the history begins with ${whose}`, async () => {
      podkeep.clock.advance(60_000);
      await add("a");
      const { file } = await backup();
      change(file, `update users set history_since = ${backup_since}`);
      podkeep.clock.advance(60_000);
      await add("b");
      await podkeep.sql(`update users set history_since = ${data_since}`);
      podkeep.clock.advance(60_000);
      await restore(file);
      expect(await readHistorySince(podkeep.app, actAsUser(ann.id))).toBe(begins);
      const then = await listSubscribedAt(podkeep.app, actAsUser(ann.id), { as_of: START + 150_000 });
      expect(then.map(({ feed_url }) => feed_url)).toEqual(["https://a.test/rss", "https://b.test/rss"]);
    });
  }

  test("a backup that is newer than the data brings its own history, without a difference", async () => {
    const { file: early } = await backup();
    await add("a", "b");
    const { file: later } = await backup();
    await podkeep.app.close();
    copyFileSync(early, inDirectory("podkeep.db"));
    await podkeep.open();
    await restore(later);
    const entries = await listHistory(podkeep.app, actAsUser(ann.id), { limit: 20 });
    expect(entries.map(({ what }) => what)).toEqual(["restored", "added", "added"]);
  });

  test("a token that was revoked since stays revoked", async () => {
    const { file } = await backup();
    await revokeToken(podkeep.app, ann.token.split("_")[1] ?? "");
    await restore(file);
    expect((await ann.request("GET", "/subscriptions")).status).toBe(401);
  });

  test("a user who was deleted since comes back without access, one who is new is gone, and the result names both", async () => {
    const bob = await podkeep.user("bob");
    await setPassword(podkeep.app, await actAsAdmin(podkeep.app, "bob", "test"), "old password");
    await bob.add("https://a.test/rss");
    const { id } = await issueToken(podkeep.app, await actAsAdmin(podkeep.app, "bob", "test"), {
      label: "revoked before",
      scope: "write",
      expires_at: null,
    });
    await revokeToken(podkeep.app, id);
    podkeep.clock.advance(1000);
    const { file } = await backup();
    await deleteUser(podkeep.app, "bob");
    const carl = await podkeep.user("carl");
    expect(await restore(file)).toMatchObject({ returned: ["bob"], gone: ["carl"] });
    expect((await ann.request("GET", "/subscriptions")).status).toBe(200);
    expect((await bob.request("GET", "/subscriptions")).status).toBe(401);
    expect((await carl.request("GET", "/subscriptions")).status).toBe(401);
    expect(await podkeep.sql("select name, password_hash from users order by name")).toEqual([
      { name: "ann", password_hash: null },
      { name: "bob", password_hash: null },
    ]);
    const revoked = (await listTokens(podkeep.app, "bob")).map(({ revoked_at }) => Number(revoked_at) - START);
    expect(revoked.toSorted()).toEqual([0, 1000]);
    const again = await issueToken(podkeep.app, await actAsAdmin(podkeep.app, "bob", "test"), {
      label: "new",
      scope: "write",
      expires_at: null,
    });
    const { body } = await podkeep.as(bob, again.token).request("GET", "/subscriptions");
    expect(body.subscriptions).toHaveLength(1);
    podkeep.clock.advance(1000);
    expect((await restore(file)).returned).toEqual([]);
  });

  test("a user who was renamed since has the former name again, and the result has both", async () => {
    await podkeep.user("bob");
    const { file } = await backup();
    await renameUser(podkeep.app, "bob", "carl");
    expect((await restore(file)).renamed).toEqual([{ from: "carl", to: "bob" }]);
    podkeep.clock.advance(1000);
    expect((await restore(file)).renamed).toEqual([]);
  });

  test("triggers and views that somebody added to a backup don't act on the restore, which leaves them out", async () => {
    const { file } = await backup();
    change(
      file,
      "create trigger spy after update on subscriptions begin select raise(abort, 'spied'); end",
      "create view peek as select * from tokens",
    );
    expect((await restore(file)).left_out).toEqual(["trigger spy", "view peek"]);
    podkeep.clock.advance(1000);
    expect((await restore(inDirectory("podkeep.db"))).left_out).toEqual([]);
  });

  test("a backup whose rows contradict each other is called invalid, and the data stays", async () => {
    await add("a");
    const { file } = await backup();
    change(file, "update users set clock = -5");
    expect(await settle(restore(file))).toThrow(`${file} is not a valid podkeep backup (UNIQUE constraint failed`);
    expect((await list()).length).toBe(1);
  });

  test("a backup that is refused leaves an empty directory as it was", async () => {
    writeFileSync(inDirectory("rubbish.db"), "rubbish");
    const { config } = readConfig({ data_dir: inDirectory("elsewhere") }, {});
    expect(await settle(restoreBackup(config, podkeep.clock, inDirectory("rubbish.db")))).toThrow(
      `${inDirectory("rubbish.db")} is not a valid podkeep backup`,
    );
    expect(readdirSync(inDirectory("elsewhere"))).toEqual(["podkeep.lock"]);
  });

  test("a password that was set or removed since stays so, and sessions and login flows end", async () => {
    await podkeep.user("bob");
    const as = (name: string) => actAsAdmin(podkeep.app, name, "test");
    const login = async (name: string, password: string) => {
      return signIn(podkeep.app, { name, password, app: null }, UNLIMITED).catch(({ message }) => message);
    };
    for (const name of ["ann", "bob"]) await setPassword(podkeep.app, await as(name), "old password");
    const { text } = await createSession(podkeep.app, await as("ann"), "app");
    await createSession(podkeep.app, await as("ann"), "page");
    const flow = await startLoginFlow(podkeep.app, { label: "app", address: "192.0.2.1" });
    const { file } = await backup();
    podkeep.clock.advance(1000);
    await setPassword(podkeep.app, await as("ann"), "new password");
    await setPassword(podkeep.app, await as("bob"), null);
    await restore(file);
    expect(await login("ann", "old password")).toBe("The name or the password is wrong");
    expect(await login("ann", "new password")).toMatchObject({ name: "ann" });
    expect(await login("bob", "old password")).toBe("The name or the password is wrong");
    expect(await listSessions(podkeep.app, await as("ann"))).toEqual([]);
    expect(await rejectionOf(readSession(podkeep.app, text, "app"))).toMatchObject({ code: "unauthorized" });
    expect(await rejectionOf(findLoginFlow(podkeep.app, await as("ann"), flow.page))).toMatchObject({
      code: "not_found",
    });
  });

  test("a token that was revoked since stays so, though an older backup that did not have it was restored in between", async () => {
    const { file: early } = await backup();
    podkeep.clock.advance(1000);
    const phone = await ann.another();
    const laptop = await ann.another();
    const { file: later } = await backup();
    await revokeToken(podkeep.app, idOf(phone));
    podkeep.clock.advance(1000);
    await restore(early);
    podkeep.clock.advance(1000);
    await restore(later);
    expect(await statusesOf(phone, laptop, ann)).toEqual([401, 200, 200]);
  });

  test("a token that was revoked since stays so, though a thousand newer ones took its place", async () => {
    const phone = await ann.another();
    const { file: later } = await backup();
    await revokeToken(podkeep.app, idOf(phone));
    for (let n = 0; n < 1000; n++) {
      podkeep.clock.advance(1000);
      await revokeToken(podkeep.app, idOf(await ann.another()));
    }
    expect((await listTokens(podkeep.app)).map(({ id }) => id)).not.toContain(idOf(phone));
    await restore(later);
    expect(await statusesOf(phone, ann)).toEqual([401, 200]);
  });

  test("of a user with a thousand tokens, one that was issued after the data was restored from a backup is valid", async () => {
    for (let n = 0; n < 1000; n++) {
      podkeep.clock.advance(1000);
      await ann.another();
    }
    const { file: early } = await backup();
    podkeep.clock.advance(1000);
    const phone = await ann.another();
    const { file: later } = await backup();
    await restore(early);
    podkeep.clock.advance(1000);
    await restore(later);
    expect(await statusesOf(phone)).toEqual([200]);
  });

  test("a password that was set since stays so, though the clock went back in between", async () => {
    const admin = await actAsAdmin(podkeep.app, "ann", "test");
    await setPassword(podkeep.app, admin, "old password");
    const { file } = await backup();
    podkeep.clock.advance(-3_600_000);
    await setPassword(podkeep.app, admin, "new password");
    const hash = () => podkeep.sql("select password_hash from users");
    const expected = await hash();
    await restore(file);
    expect(await hash()).toEqual(expected);
  });

  test("a password in the backup that was changed later than the data's is restored", async () => {
    await ann.setPassword("early password");
    const { file: early } = await backup();
    podkeep.clock.advance(1000);
    await ann.setPassword("later password");
    const { file: later } = await backup();
    const hash = () => podkeep.sql("select password_hash from users");
    const expected = await hash();
    await restore(early);
    podkeep.clock.advance(1000);
    await podkeep.sql("update users set password_hash = null, password_changed_at = null");
    await restore(early);
    podkeep.clock.advance(1000);
    await restore(later);
    expect(await hash()).toEqual(expected);
  });

  test("the old data is kept as it was, and no other file is left", async () => {
    const { file } = await backup(inDirectory("b.db"));
    await add("later");
    const { replaced } = await restore(file);
    const old = await verifyBackup(join(replaced ?? "", "podkeep.db"));
    expect(old.tables["subscriptions"]).toBe(1);
    expect(readdirSync(podkeep.folder).filter((name) => name.startsWith("re"))).toEqual([
      replaced?.split("/").at(-1) ?? "",
    ]);
    expect([mode(inDirectory("podkeep.db")), mode(replaced ?? "")]).toEqual([0o600, 0o700]);
  });

  test("old data that can't be read is kept too, and the result says so", async () => {
    const { file } = await backup();
    await podkeep.app.close();
    writeFileSync(inDirectory("podkeep.db"), "rubbish");
    const { replaced, unread } = await restoreBackup(podkeep.app.config, podkeep.clock, file);
    await podkeep.open();
    expect(unread).toContain("file is not a database");
    expect(await Bun.file(join(replaced ?? "", "podkeep.db")).text()).toBe("rubbish");
    expect((await ann.request("GET", "/subscriptions")).status).toBe(200);
  });

  test("a time in damaged old data that is none does not keep its backup from being restored", async () => {
    await add("a");
    const { file } = await backup();
    await podkeep.app.close();
    change(inDirectory("podkeep.db"), "update users set clock = 'abc'");
    const { unread } = await restoreBackup(podkeep.app.config, podkeep.clock, file);
    await podkeep.open();
    expect(unread).toContain("users.clock has a value of another type");
    expect(await subscribed()).toEqual(["https://a.test/rss"]);
  });

  test("going back from a newer version, an app that is ahead of the backup and of the clock gets everything again", async () => {
    await add("a");
    const { file } = await backup();
    const time = podkeep.clock.now();
    podkeep.clock.advance(10 * 24 * 3_600_000);
    await add("b");
    const since = latest(await list());
    podkeep.clock.set(time);
    await podkeep.sql(`insert into ${MIGRATION_TABLE} (name, timestamp) values ('9999_future', '')`);
    await podkeep.app.close();
    const { unread } = await restoreBackup(podkeep.app.config, podkeep.clock, file);
    await podkeep.open();
    expect(unread).toContain("9999_future");
    expect((await list(since)).map(({ feed_url }) => feed_url)).toEqual(["https://a.test/rss"]);
  });

  test("an empty file has no old data, so none is said to be unreadable", async () => {
    const { file } = await backup();
    await podkeep.app.close();
    writeFileSync(inDirectory("podkeep.db"), "");
    const result = await restoreBackup(podkeep.app.config, podkeep.clock, file);
    await podkeep.open();
    expect(result).toMatchObject({ unread: null, compared: false });
    expect((await ann.request("GET", "/subscriptions")).status).toBe(200);
  });

  test("a database behind a symbolic link is not replaced by a restore, which says where to restore", async () => {
    const { file } = await backup();
    await podkeep.app.close();
    mkdirSync(inDirectory("disk"));
    renameSync(inDirectory("podkeep.db"), inDirectory("disk/podkeep.db"));
    symlinkSync("disk/podkeep.db", inDirectory("podkeep.db"));
    const refused = `is a symbolic link to ${inDirectory("disk/podkeep.db")}: restore into ${inDirectory("disk")} (--data-dir)`;
    expect(await settle(restore(file))).toThrow(refused);
    expect((await ann.request("GET", "/subscriptions")).status).toBe(200);
    expect(readdirSync(podkeep.folder).filter((name) => name.startsWith("re"))).toEqual([]);
  });

  test("a backup can be restored into an empty directory", async () => {
    await add("a");
    const { file } = await backup();
    const { config } = readConfig({ data_dir: inDirectory("elsewhere") }, {});
    expect(await restoreBackup(config, podkeep.clock, file)).toMatchObject({
      replaced: null,
      unread: null,
      returned: [],
    });
    const moved = await openApp(config);
    await moved.close();
    expect(readdirSync(inDirectory("elsewhere")).sort()).toEqual(["podkeep.db", "podkeep.lock"]);
  });

  for (const used of [false, true]) {
    test(`a backup keeps tokens and passwords on another machine, whose new server has ${used ? "a" : "no"} user`, async () => {
      await ann.setPassword("correct horse");
      const { file } = await backup();
      const { config } = readConfig({ data_dir: inDirectory("elsewhere") }, {});
      const fresh = await openApp(config, { use: "server" });
      // A name is one in any case.
      const gone = used ? ["Ann", "bob"] : [];
      for (const name of gone) await createUser(fresh, name);
      await fresh.close();
      const namesakes = used ? ["Ann"] : [];
      const restored = await restoreBackup(config, podkeep.clock, file);
      expect(restored).toMatchObject({ compared: false, returned: [], gone, namesakes });
      const moved = await openApp(config);
      expect(await listUsers(moved)).toMatchObject([{ public_id: ann.public_id, has_password: 1 }]);
      expect(await listTokens(moved)).toMatchObject([{ revoked_at: null }]);
      await moved.close();
    });
  }

  test("on a machine whose clock is behind, the result says so, and with the right clock apps get everything", async () => {
    const now = START + 30 * 86_400_000;
    podkeep.clock.set(now);
    await add("a");
    const { file } = await backup();
    podkeep.clock.advance(3 * 86_400_000);
    await add("later");
    const since = latest(await list());
    const { config } = readConfig({ data_dir: inDirectory("elsewhere") }, {});
    podkeep.clock.set(START);
    expect(await restoreBackup(config, podkeep.clock, file)).toMatchObject({ ahead: now });
    podkeep.clock.set(now + 4 * 86_400_000);
    expect(await restoreBackup(config, podkeep.clock, file)).toMatchObject({ ahead: null });
    await podkeep.app.close();
    copyFileSync(inDirectory("elsewhere/podkeep.db"), inDirectory("podkeep.db"));
    await podkeep.open();
    expect(await list(since)).toMatchObject([{ feed_url: "https://a.test/rss" }]);
  });

  test("the only user, deleted since, comes back without access, also if there is another one now", async () => {
    const { file } = await backup();
    await deleteUser(podkeep.app, "ann");
    expect(await restore(file)).toMatchObject({ compared: true, returned: ["ann"] });
    await deleteUser(podkeep.app, "ann");
    await podkeep.user("bob");
    podkeep.clock.advance(1000);
    expect(await restore(file)).toMatchObject({ compared: true, returned: ["ann"] });
    expect((await ann.request("GET", "/subscriptions")).status).toBe(401);
  });

  test("a user whose deletion was cut off since comes back without access, as one who was deleted", async () => {
    await addMuch(podkeep.app, ann.id);
    const { file } = await backup();
    expect(await deletePart(podkeep.app, "ann")).toBe("cut off");
    expect(await restore(file)).toMatchObject({ compared: true, returned: ["ann"] });
    expect((await ann.request("GET", "/subscriptions")).status).toBe(401);
  });

  test("a user whose deletion was cut off before the backup is not in what is restored", async () => {
    await podkeep.user("bob");
    await addMuch(podkeep.app, ann.id);
    expect(await deletePart(podkeep.app, "ann")).toBe("cut off");
    const { file } = await backup();
    expect(await restore(file)).toMatchObject({ compared: true, returned: [], gone: [] });
    expect((await listUsers(podkeep.app)).map(({ name }) => name)).toEqual(["bob"]);
  });

  test("nothing is restored while a server or a command uses the data directory", async () => {
    const { file } = await backup();
    expect(await settle(restoreBackup(podkeep.app.config, podkeep.clock, file))).toThrow("stop it first");
    expect((await ann.request("GET", "/subscriptions")).status).toBe(200);
  });

  test("during a restore the data directory can't be opened", async () => {
    await podkeep.app.close();
    const unlock = lockDirectory(podkeep.folder, "restore");
    expect(await settle(openApp(podkeep.app.config))).toThrow("A backup is being restored");
    unlock();
    await podkeep.open();
  });

  test("after a restore was interrupted, podkeep asks to repeat it and creates no empty database", async () => {
    const { file } = await backup(inDirectory("b.db"));
    await podkeep.app.close();
    mkdirSync(inDirectory("restoring"));
    mkdirSync(inDirectory("aside"));
    copyFileSync(inDirectory("podkeep.db"), inDirectory("aside/podkeep.db"));
    await Bun.file(inDirectory("podkeep.db")).delete();
    const refused = async () => expect(await settle(openApp(podkeep.app.config))).toThrow("restore was interrupted");
    await refused();
    writeFileSync(inDirectory("other.db"), "rubbish");
    expect(await settle(restoreBackup(podkeep.app.config, podkeep.clock, inDirectory("other.db")))).toThrow();
    await refused();
    await restoreBackup(podkeep.app.config, podkeep.clock, file);
    await podkeep.open();
    expect((await ann.request("GET", "/subscriptions")).status).toBe(200);
  });

  test.each([
    ["while it noted where the old data will be", ""],
    ["before it made the directory of the old data", "replaced-2026-01-01T00-00-00-000Z"],
  ])(
    "after a restore that was interrupted %s, the server starts, and without data it can be repeated",
    async (_, note) => {
      const { file } = await backup();
      await podkeep.app.close();
      const interrupt = () => {
        mkdirSync(inDirectory("restoring"));
        writeFileSync(inDirectory("restoring/replaced"), note);
      };
      interrupt();
      await (await openApp(podkeep.app.config, { use: "server" })).close();
      interrupt();
      await Bun.file(inDirectory("podkeep.db")).delete();
      expect(await restoreBackup(podkeep.app.config, podkeep.clock, file)).toMatchObject({ replaced: null });
      await podkeep.open();
      expect((await ann.request("GET", "/subscriptions")).status).toBe(200);
    },
  );

  test("a restore that was interrupted between the old data and the new is repeated with the old data", async () => {
    await add("a");
    const { file } = await backup();
    podkeep.clock.advance(10 * 86_400_000);
    await add("later");
    const since = latest(await list());
    podkeep.clock.set(START);
    await revokeToken(podkeep.app, ann.token.split("_")[1] ?? "");
    const obstacle = inDirectory("podkeep.db-shm");
    await podkeep.app.close();
    mkdirSync(obstacle);
    expect(await settle(restoreBackup(podkeep.app.config, podkeep.clock, file))).toThrow();
    rmdirSync(obstacle);
    expect(await settle(openApp(podkeep.app.config))).toThrow("restore was interrupted");
    const { replaced } = await restore(file);
    expect((await verifyBackup(join(replaced ?? "", "podkeep.db"))).tables["subscriptions"]).toBe(2);
    expect(readdirSync(podkeep.folder).filter((name) => name.startsWith("re"))).toHaveLength(1);
    expect((await ann.request("GET", "/subscriptions")).status).toBe(401);
    const { token } = await issueToken(podkeep.app, await actAsAdmin(podkeep.app, "ann", "test"), {
      label: "new",
      scope: "write",
      expires_at: null,
    });
    const { body } = await podkeep.as(ann, token).request("GET", `/subscriptions?since=${since}`);
    expect(body.subscriptions).toMatchObject([{ feed_url: "https://a.test/rss" }]);
  });
});
