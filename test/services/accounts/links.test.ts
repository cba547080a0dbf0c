// Links and logins that last for a short time, on a server whose clock was wrong.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { revokeApp } from "../../../src/services/accounts/apps.ts";
import { connectApp, isOpenLink, openConnectLink } from "../../../src/services/accounts/connect-links.ts";
import {
  approveLoginFlow,
  claimLoginFlow,
  findWaitingApp,
  startLoginFlow,
} from "../../../src/services/accounts/login-flow.ts";
import {
  createPasswordLink,
  findPasswordLink,
  usePasswordLink,
} from "../../../src/services/accounts/password-links.ts";
import { authenticate, hashSecret } from "../../../src/services/accounts/tokens.ts";
import { actAsAdmin, actAsUser } from "../../../src/services/actor.ts";
import { openTestApp, START, type TestApp, type TestUser } from "../../support/app.ts";
import { rejectionOf, settle } from "../../support/rejection.ts";

const DAY = 24 * 60 * 60_000;
let server: TestApp;
let user: TestUser;

beforeEach(async () => {
  server = await openTestApp();
  user = await server.user("ann");
  server.clock.set(START + 30 * DAY);
});
afterEach(() => server.close());

test("a link to connect an app that was made while the clock was ahead is over once the clock is right", async () => {
  const app = { label: "App", kind: "other", server: "https://podkeep.test", user: "ann" };
  const { secret } = await connectApp(server.app, actAsUser(user.id), "nonce", app);
  expect(await isOpenLink(server.app, secret)).toBe(true);
  server.clock.set(START);
  expect(await isOpenLink(server.app, secret)).toBe(false);
  expect(await openConnectLink(server.app, secret)).toBeNull();
});

test("after its app was revoked, no link and no form that is sent again shows a token that does nothing", async () => {
  const app = { label: "App", kind: "other", server: "https://podkeep.test", user: "ann" };
  const connect = () => connectApp(server.app, actAsUser(user.id), "nonce", app);
  const { secret, values } = await connect();
  await revokeApp(server.app, actAsUser(user.id), values.token.split("_")[1] ?? "");
  expect(await isOpenLink(server.app, secret)).toBe(false);
  expect(await openConnectLink(server.app, secret)).toBeNull();
  expect(await rejectionOf(connect())).toMatchObject({ code: "gone" });
});

test("of links to connect two apps of one name, or of two names, each opens itself only, and a wrong secret opens none", async () => {
  const app = { server: "https://podkeep.test", user: "ann" };
  const connect = (kind: string, label: string) =>
    connectApp(server.app, actAsUser(user.id), "nonce", { ...app, kind, label });
  const [phone, tablet] = [await connect("antennapod", "Phone"), await connect("antennapod", "Tablet")];
  const other = await connect("other", "Phone");
  expect([await isOpenLink(server.app, "wrong"), await openConnectLink(server.app, "wrong")]).toEqual([false, null]);
  expect(await openConnectLink(server.app, phone.secret)).toEqual(phone.values);
  expect([await isOpenLink(server.app, phone.secret), await isOpenLink(server.app, tablet.secret)]).toEqual([
    false,
    true,
  ]);
  expect(await openConnectLink(server.app, tablet.secret)).toEqual(tablet.values);
  expect(await openConnectLink(server.app, other.secret)).toMatchObject({ kind: "other", label: "Phone" });
});

test("two users whose forms have the same nonce get two tokens, each of its own user", async () => {
  const bob = await server.user("bob");
  const app = { label: "App", kind: "other", server: "https://podkeep.test" };
  const connect = (id: number, name: string) => connectApp(server.app, actAsUser(id), "nonce", { ...app, user: name });
  for (const { id, name } of [user, bob]) {
    const { values, secret } = await connect(id, name);
    expect(await openConnectLink(server.app, secret)).toEqual(values);
    expect(values.user).toBe(name);
    expect((await authenticate(server.app, values.token)).user_id).toBe(id);
  }
});

test("a form that is sent again after its link is over gets another token, which is good", async () => {
  const app = { label: "App", kind: "other", server: "https://podkeep.test", user: "ann" };
  const connect = () => connectApp(server.app, actAsUser(user.id), "nonce", app);
  const [first, repeated] = [await connect(), await connect()];
  expect(repeated).toEqual(first);
  server.clock.advance(10 * 60_000);
  const { values } = await connect();
  expect(values.token).not.toBe(first.values.token);
  for (const { token } of [first.values, values]) expect((await authenticate(server.app, token)).user_id).toBe(user.id);
});

test("what a backup has of a link to connect an app is readable with this link only", async () => {
  const app = { label: "App", kind: "other", server: "https://podkeep.test", user: "ann" };
  const [own, other] = [
    await connectApp(server.app, actAsUser(user.id), "nonce", app),
    await connectApp(server.app, actAsUser(user.id), "another nonce", app),
  ];
  const sealed = `select sealed_secret from connect_links where link_hash = '${hashSecret(own.secret)}'`;
  const [row] = await server.sql(sealed);
  expect(Buffer.from(String(row?.["sealed_secret"]), "base64").toString("latin1")).not.toContain("podkeep_");
  await server.sql(`update connect_links set sealed_secret = (${sealed})`);
  expect(await rejectionOf(openConnectLink(server.app, other.secret))).toBeInstanceOf(Error);
  expect(await openConnectLink(server.app, own.secret)).toEqual(own.values);
});

test("so is a link by which a user chooses a password", async () => {
  const { secret } = await createPasswordLink(server.app, await actAsAdmin(server.app, "ann", "user password"));
  expect((await findPasswordLink(server.app, secret)).name).toBe("ann");
  server.clock.set(START);
  expect(await settle(usePasswordLink(server.app, secret, "correct horse"))).toThrow("The link was used");
});

test("so is a login that an app started, allowed or not", async () => {
  const [waiting, allowed] = [await start(), await start()];
  await approveLoginFlow(server.app, actAsUser(user.id), allowed.page);
  expect(await findWaitingApp(server.app, waiting.page)).toBe("App");
  server.clock.set(START);
  expect(await findWaitingApp(server.app, waiting.page)).toBeNull();
  expect(await settle(approveLoginFlow(server.app, actAsUser(user.id), waiting.page))).toThrow(
    "This login has expired",
  );
  expect(await claimLoginFlow(server.app, allowed.poll)).toBeNull();
  // It takes no place of those that are made now.
  await start();
  expect(await server.sql("select count(*) as count from login_flows")).toEqual([{ count: 1 }]);
});

test("a link that another server made, whose clock is a minute ahead, is good", async () => {
  server.clock.set(START + 60_000);
  const { page } = await start();
  server.clock.set(START);
  expect(await findWaitingApp(server.app, page)).toBe("App");
});

test("links and logins are good while the clock is in 1970, as after a start without a network, and afterwards", async () => {
  server.clock.set(START);
  const { secret } = await createPasswordLink(server.app, await actAsAdmin(server.app, "ann", "user password"));
  const { page } = await start();
  for (const at of [300_000, START + 60_000]) {
    server.clock.set(at);
    expect((await findPasswordLink(server.app, secret)).name).toBe("ann");
    expect(await findWaitingApp(server.app, page)).toBe("App");
    // It deletes those that are over.
    await start();
  }
});

const start = () => startLoginFlow(server.app, { label: "App", address: "192.0.2.1" });
