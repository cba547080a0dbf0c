// Tokens of a user, however many apps ask for one.
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { renameApp, revokeApp } from "../../../src/services/accounts/apps.ts";
import { connectApp } from "../../../src/services/accounts/connect-links.ts";
import {
  approveLoginFlow,
  claimLoginFlow,
  denyLoginFlow,
  startLoginFlow,
} from "../../../src/services/accounts/login-flow.ts";
import { logIn } from "../../../src/services/accounts/login-tokens.ts";
import { setPassword } from "../../../src/services/accounts/passwords.ts";
import {
  authenticate,
  issueAppToken,
  issueToken,
  listTokens,
  revokeToken,
  withTemporaryToken,
} from "../../../src/services/accounts/tokens.ts";
import { type Actor, actAsUser } from "../../../src/services/actor.ts";
import { openTestApp, START, type TestApp } from "../../support/app.ts";
import { UNLIMITED } from "../../support/attempts.ts";
import { beforeWrites } from "../../support/before-writes.ts";
import { databaseFile, lockFile, ON_SQLITE } from "../../support/database.ts";
import { PATIENCE } from "../../support/patience.ts";
import { rejectionOf } from "../../support/rejection.ts";

setDefaultTimeout(PATIENCE);

let podkeep: TestApp;
let ann: Actor;
beforeEach(async () => {
  podkeep = await openTestApp();
  ann = actAsUser((await podkeep.user("ann")).id);
});
afterEach(() => podkeep.close());

const NEW = { label: "script", scope: "write", expires_at: null } as const;
const KASTS = { label: "Kasts", kind: "kasts", server: "", user: "ann" };

const WAYS: Record<string, () => Promise<unknown>> = {
  "connects an app on the page": () => connectApp(podkeep.app, ann, crypto.randomUUID(), KASTS),
  "has an app that takes an app password": () => issueAppToken(podkeep.app, ann, { name: "app", password_hash: null }),
  "allows an app": async () => {
    const { page, poll } = await startLoginFlow(podkeep.app, { label: "app", address: "192.0.2.1" });
    await approveLoginFlow(podkeep.app, ann, page);
    return claimLoginFlow(podkeep.app, poll);
  },
  "has an app that logs in by the draft": async () => {
    await setPassword(podkeep.app, ann, "correct horse");
    return logIn(podkeep.app, { name: "ann", password: "correct horse", app: "app" }, UNLIMITED);
  },
  "gets one from the admin": () => issueToken(podkeep.app, ann, NEW),
};

test.each(Object.entries(WAYS))(
  "who %s with 1,000 tokens loses one: a revoked one, or the one unused for longest",
  async (_, act) => {
    const idsOf = async () => (await podkeep.sql("select id from tokens")).map(({ id }) => id);
    await podkeep.sql("delete from tokens");
    await podkeep.sql(`insert into tokens (id, user_id, label, scope, hash, created_at, last_used_at, revoked_at)
    with recursive n(n) as (select 1 union all select n + 1 from n where n < 1000)
    select 'token' || n, ${ann.user_id}, 'old', 'write', 'hash' || n, ${START} - 5000 - n, ${START} - 2000 + n,
      case when n = 7 then ${START} end from n`);
    await act();
    const once = await idsOf();
    expect(once).toHaveLength(1000);
    expect(once).not.toContain("token7");
    podkeep.clock.advance(1);
    await act();
    const twice = await idsOf();
    expect(twice).toHaveLength(1000);
    expect(once.filter((id) => !twice.includes(id))).toEqual(["token1"]);
  },
);

test("a user's links that show an app's values are 100 at most; the latest ones work", async () => {
  for (let n = 0; n < 105; n++) {
    podkeep.clock.advance(1);
    await connectApp(podkeep.app, ann, `nonce ${n}`, KASTS);
  }
  const [first] = await podkeep.sql("select count(*) as links, min(expires_at) as first from connect_links");
  expect(first).toEqual({ links: 100, first: START + 6 + 10 * 60_000 });
});

test("tokens are listed by their users' names, each user's oldest first", async () => {
  const cleo = await podkeep.user("cleo");
  await podkeep.user("bob");
  podkeep.clock.advance(-1);
  await cleo.another();
  const listed = (await listTokens(podkeep.app)).map(({ user, created_at }) => [user, created_at - START]);
  expect(listed).toEqual([
    ["ann", 0],
    ["bob", 0],
    ["cleo", -1],
    ["cleo", 0],
  ]);
});

test.each<[what: string, kind: Actor["kind"]]>([
  ["app", "token"],
  ["page", "page"],
])("no %s that signed in with a token connects, allows, refuses, renames or revokes an app", async (_, kind) => {
  const [token] = await listTokens(podkeep.app, "ann");
  const id = token?.id ?? "";
  const { page } = await startLoginFlow(podkeep.app, { label: "app", address: "192.0.2.1" });
  const actor: Actor = { ...ann, kind, id };
  for (const act of [
    () => connectApp(podkeep.app, actor, crypto.randomUUID(), KASTS),
    () => issueToken(podkeep.app, actor, NEW),
    () => approveLoginFlow(podkeep.app, actor, page),
    () => denyLoginFlow(podkeep.app, actor, page),
    () => renameApp(podkeep.app, actor, id, "renamed"),
    () => revokeApp(podkeep.app, actor, id),
  ])
    expect(await rejectionOf(act())).toMatchObject({ code: "forbidden" });
});

test("the doctor's token is good at a server whose clock is ten minutes ahead", async () => {
  const status = await withTemporaryToken(podkeep.app, async (token) => {
    podkeep.clock.advance(10 * 60_000);
    return (await podkeep.send("GET", "/subscriptions", { headers: { Authorization: `Bearer ${token}` } })).status;
  });
  expect(status).toBe(200);
});

test("a token that is revoked again keeps the time at which it was revoked first", async () => {
  const { id } = await issueToken(podkeep.app, ann, { label: "app", scope: "write", expires_at: null });
  const first = await revokeToken(podkeep.app, id);
  podkeep.clock.advance(1000);
  expect([first, await revokeToken(podkeep.app, id)]).toEqual([START, START]);
});

test("of requests that a token sends at once, one writes when it was used, and so does one of an hour later", async () => {
  const { token } = await issueToken(podkeep.app, ann, NEW);
  const writes: number[] = [];
  const context = beforeWrites(podkeep.app, () => void writes.push(podkeep.clock.now()));
  for (const at of [START, START + 59 * 60_000, START + 60 * 60_000]) {
    podkeep.clock.set(at);
    await Promise.all(Array.from({ length: 10 }, () => authenticate(context, token)));
    await podkeep.noted();
  }
  expect(writes).toEqual([START, START + 60 * 60_000]);
});

test.if(ON_SQLITE)(
  "a user whose 1,000 tokens are used at once keeps no app of others from asking to sign in",
  async () => {
    await podkeep.sql("delete from tokens");
    const tokens: string[] = [];
    for (let n = 0; n < 1000; n++) tokens.push((await issueToken(podkeep.app, ann, NEW)).token);
    const unlock = await lockFile(databaseFile(podkeep.app.config));
    for (const token of tokens) await authenticate(podkeep.app, token);
    const started = startLoginFlow(podkeep.app, { label: "app", address: "192.0.2.1" });
    unlock();
    expect((await started).poll).toHaveLength(52);
  },
);

test.if(ON_SQLITE)("1,000 apps that ask to sign in at once keep no user from renaming or refusing one", async () => {
  const ask = () => startLoginFlow(podkeep.app, { label: "app", address: "192.0.2.1" });
  const { page } = await ask();
  const [token] = await listTokens(podkeep.app, "ann");
  const unlock = await lockFile(databaseFile(podkeep.app.config));
  const asked = Array.from({ length: 1000 }, ask);
  const acts = [renameApp(podkeep.app, ann, token?.id ?? "", "phone"), denyLoginFlow(podkeep.app, ann, page)];
  unlock();
  await Promise.all([...asked, ...acts]);
  expect(await listTokens(podkeep.app, "ann")).toMatchObject([{ label: "phone" }]);
});

test.if(ON_SQLITE)("a stolen token of which 1,000 writes wait can be revoked all the same", async () => {
  const [stolen] = await listTokens(podkeep.app, "ann");
  const unlock = await lockFile(databaseFile(podkeep.app.config));
  const id = stolen?.id ?? "";
  const writes = Array.from({ length: 1000 }, () => renameApp(podkeep.app, ann, id, "phone"));
  const revoked = revokeApp(podkeep.app, ann, id);
  unlock();
  await revoked;
  await Promise.allSettled(writes);
  expect(await listTokens(podkeep.app, "ann")).toMatchObject([{ id, revoked_at: START }]);
});
