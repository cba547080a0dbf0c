// Each app's own requests: sign in, first sync, a change and a place both ways, sign out.
import { expect, test } from "bun:test";
import { listTokens, revokeToken } from "../../src/services/accounts/tokens.ts";
import { signedIn } from "../http/browser.ts";
import type { Answer } from "../support/app.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { addElsewhere, EPISODE, FEED, openAs, openForEach, PASSWORD, played, server } from "./phone.ts";
import { APPS, type AppRequests } from "./requests.ts";

const OWN = "https://feeds.example/own";
const OTHER = "https://feeds.example/other";
const NEXTCLOUD = "/index.php/apps/gpoddersync";

openForEach();

type Headers = Record<string, string>;
type Send = ReturnType<typeof openAs>;

const cookieIn = ({ headers }: Answer, name = "") =>
  headers
    .getSetCookie()
    .find((one) => one.startsWith(name))
    ?.split(";")[0] ?? "";

/** Sends a request that has to succeed. */
async function ask(send: Send, method: string, path: string, headers: Headers, body?: unknown): Promise<Answer> {
  const answer = await send(method, path, headers, body === undefined ? undefined : JSON.stringify(body));
  expect([method, path, answer.status, answer.status === 200 ? "" : answer.body]).toEqual([method, path, 200, ""]);
  return answer;
}

/** Polls the login flow, allows the app in a browser, and polls again. */
async function allow(send: Send, form: AppRequests["poll"] = "form"): Promise<Headers> {
  const { body } = await ask(send, "POST", "/index.php/login/v2", {});
  const { endpoint, token } = body.poll;
  const poll = () =>
    form === "query"
      ? send("POST", `${endpoint}?token=${token}`)
      : form === "json"
        ? send("POST", endpoint, { "Content-Type": "application/json" }, JSON.stringify({ token }))
        : send("POST", endpoint, { "Content-Type": "application/x-www-form-urlencoded" }, `token=${token}`);
  expect((await poll()).status).toBe(404);
  const browser = await signedIn(server, { name: "ann", token: PASSWORD });
  await browser.submit(new URL(body.login).pathname);
  const given = await poll();
  return basicAuth(given.body.loginName, given.body.appPassword);
}

/** @returns what the app sends with every request from then on */
async function signIn(send: Send, { signIn: how, poll, flowAgent, cookie, device }: AppRequests): Promise<Headers> {
  const credentials = basicAuth("ann", server.token);
  if (how === "basic") return credentials;
  if (how === "bearer") return { Authorization: `Bearer ${server.token}` };
  if (how === "flow") return allow(flowAgent ? openAs({ "User-Agent": flowAgent }) : send, poll);
  if (how === "login") {
    const login = await ask(send, "POST", "/api/2/auth/ann/login.json", credentials);
    expect(cookieIn(login, cookie)).toContain("=");
    return { Cookie: cookieIn(login, cookie) };
  }
  if (how === "challenge") {
    const path = `/api/2/subscriptions/ann/${device}.json?since=0`;
    const { status, headers } = await send("GET", path);
    expect([status, headers.get("www-authenticate")]).toEqual([401, expect.stringContaining("Basic realm=")]);
    return { Cookie: cookieIn(await ask(send, "GET", "/api/2/devices/ann.json", credentials)) };
  }
  const { body } = await ask(send, "GET", "/ocs/v2.php/core/getapppassword", basicAuth("ann", PASSWORD));
  return basicAuth("ann", /<apppassword>([^<]+)</.exec(body)?.[1] ?? "");
}

for (const app of APPS) {
  test(`${app.name} signs in, syncs a change and a place both ways, and signs out`, async () => {
    await addElsewhere();
    const elsewhere = openAs({ ...basicAuth("ann", server.token), "User-Agent": "Elsewhere/1" });
    const download = { ...played(0), action: "download", guid: "two", episode: "https://feeds.example/2.mp3" };
    await ask(elsewhere, "POST", "/api/2/episodes/ann.json", {}, [download]);

    const own = { ...(app.agent !== null && { "User-Agent": app.agent }), ...app.headers };
    const bare = openAs(own);
    const credentials = await signIn(bare, app);
    const inPath = (path: string) => path.replace("DEVICE", app.device ?? "");
    const send = (method: string, path: string, body?: unknown) => ask(bare, method, inPath(path), credentials, body);
    for (const [method, path, body] of app.setUp ?? []) await send(method, path, body);

    const paths =
      app.protocol === "nextcloud"
        ? {
            list: `${NEXTCLOUD}/subscriptions`,
            changes: `${NEXTCLOUD}/subscription_change/create`,
            read: `${NEXTCLOUD}/episode_action`,
            write: `${NEXTCLOUD}/episode_action/create`,
          }
        : {
            list: "/api/2/subscriptions/ann/DEVICE.json",
            changes: "/api/2/subscriptions/ann/DEVICE.json",
            read: "/api/2/episodes/ann.json",
            write: app.actionsTo ?? "/api/2/episodes/ann.json",
          };
    let since = { feeds: 0, actions: 0 };
    /** Reads everything since the last sync. */
    const read = async () => {
      for (const [method, path, body] of app.before ?? []) await send(method, path, body);
      const list = await send("GET", app.list?.path ?? `${paths.list}?since=${since.feeds}`);
      const feeds = app.list?.feedsIn(list.body as never) ?? list.body.add;
      const removed: string[] = app.list ? [FEED].filter((feed) => !feeds.includes(feed)) : list.body.remove;
      if (app.readsOnly) return { feeds, removed, positions: [] };
      const { body } = await send("GET", `${paths.read}?since=${since.actions}`);
      for (const action of body.actions) {
        if (app.canRead) expect([action, app.canRead(action)]).toEqual([action, true]);
      }
      const now = Math.floor(server.clock.now() / 1000);
      since = app.ownClock
        ? { feeds: now, actions: now }
        : { feeds: list.body.timestamp ?? now, actions: body.timestamp };
      return { feeds, removed, positions: body.actions.map(({ position }: { position?: number }) => position) };
    };

    const first = await read();
    expect(first.feeds).toContain(FEED);
    if (!app.readsOnly) {
      expect(first.positions).toContain(42);
      server.clock.advance(60_000);
      await send("POST", paths.changes, { add: [OWN], remove: [] });
      const timestamp = new Date(server.clock.now()).toISOString().slice(0, 19);
      const play = { started: 42, position: 300, total: 600, timestamp };
      const episode = { podcast: FEED, episode: EPISODE, action: "PLAY" };
      await send("POST", paths.write, [{ ...episode, ...(app.play?.(play) ?? play) }]);
      const told = await ask(elsewhere, "GET", "/api/2/subscriptions/ann/other.json?since=0", {});
      expect(told.body.add.toSorted()).toEqual([OWN, FEED].toSorted());
      const actions = (await ask(elsewhere, "GET", "/api/2/episodes/ann.json?since=0", {})).body.actions;
      expect(actions).toContainEqual(expect.objectContaining({ episode: EPISODE, position: 300, total: 600 }));
    }

    server.clock.advance(60_000);
    const change = { add: [OTHER], remove: [FEED] };
    await ask(elsewhere, "POST", "/api/2/subscriptions/ann/other.json", {}, change);
    const later = { ...played(500), timestamp: new Date(server.clock.now()).toISOString().slice(0, 19) };
    await ask(elsewhere, "POST", "/api/2/episodes/ann.json", {}, [later]);
    server.clock.advance(5000);
    const second = await read();
    const removed = app.removesOthers ? [] : expect.arrayContaining([FEED]);
    expect([second.feeds, second.removed]).toEqual([expect.arrayContaining([OTHER]), removed]);
    if (!app.readsOnly) expect(second.positions).toContain(500);

    const [method, path] = app.signOut ?? [];
    if (method && path) await send(method, path);
    if (!app.ends) for (const { id } of await listTokens(server.app, "ann")) await revokeToken(server.app, id);
    const last = await bare("GET", inPath(app.list?.path ?? `${paths.list}?since=0`), credentials);
    expect(last.status).toBe(401);
  });
}
