// A sync server as one writes it first: changes are filtered by time, and the answer is the present second.
import { basename } from "node:path";
import type { Clock } from "../../src/clock.ts";
import type { Target } from "../../src/conformance/target.ts";

interface Change {
  feed: string;
  on: boolean;
  at: number;
}
interface Play {
  [field: string]: unknown;
  arrived: number;
}

const NEXTCLOUD = "/index.php/apps/gpoddersync";

/** A clock that only sleeping moves. */
function createClock(): Clock {
  let now = Date.parse("2026-01-01T00:00:00Z");
  const sleep = async (milliseconds: number) => {
    now += Math.ceil(milliseconds);
  };
  return { now: () => now, sleep };
}

/** Both of today's protocols on one list of one account; does what it should but in races. */
export function createNaiveServer(clock = createClock()): Target {
  const second = () => Math.floor(clock.now() / 1000);
  const changes = new Map<string, Change>();
  const plays = new Map<string, Play>();
  const devices = new Map<string, object>();
  const sessions = new Set<string>();
  const [user, password, second_password] = ["test", "a password of the naive server", "another one of them"];
  const basics = [password, second_password].map((one) => `Basic ${Buffer.from(`${user}:${one}`).toString("base64")}`);
  const json = (body: unknown, headers = {}) => Response.json(body, { headers });
  const subscribed = () => [...changes.values()].filter(({ on }) => on).map(({ feed }) => feed);

  function readFeeds(since: number): Response {
    const later = [...changes.values()].filter(({ at }) => at > since);
    const add = later.filter(({ on }) => on).map(({ feed }) => feed);
    const remove = since === 0 ? [] : later.filter(({ on }) => !on).map(({ feed }) => feed);
    return json({ add, remove, timestamp: second() });
  }
  function change(add: string[], remove: string[]): Response {
    if (add.some((feed) => remove.includes(feed))) return new Response("", { status: 400 });
    for (const feed of add) changes.set(feed, { feed, on: true, at: second() });
    for (const feed of remove) if (changes.has(feed)) changes.set(feed, { feed, on: false, at: second() });
    return json({ timestamp: second(), update_urls: [] });
  }
  function play(sent: Record<string, unknown>[]): Response {
    for (const one of sent) {
      const { podcast, episode, action, timestamp } = one;
      if (!podcast || !episode || !timestamp || !["play", "download", "delete", "new"].includes(String(action)))
        continue;
      const key = JSON.stringify([episode, one["guid"], action]);
      const before = plays.get(key);
      if (!before || String(before["timestamp"]) < String(timestamp)) plays.set(key, { ...one, arrived: second() });
    }
    return json({ timestamp: second(), update_urls: [] });
  }
  function readPlays(since: number, only: string | null, isNextcloud: boolean): Response {
    const nowhere = isNextcloud && { started: -1, position: -1, total: -1 };
    const later = [...plays.values()].filter(
      ({ arrived, podcast }) => arrived > since && (only === null || podcast === only),
    );
    return json({ actions: later.map(({ arrived: _, ...one }) => ({ ...nowhere, ...one })), timestamp: second() });
  }

  async function send(request: Request): Promise<Response> {
    const { searchParams } = new URL(request.url);
    const given = request.headers.get("authorization");
    const session = request.headers.get("cookie")?.replace("sessionid=", "") ?? "";
    if (given === null ? !sessions.has(session) : !basics.includes(given))
      return new Response("", { status: 401, headers: { "WWW-Authenticate": 'Basic realm="naive"' } });
    if (request.url.endsWith("/logout.json")) sessions.delete(session);
    const response = await answer(request, Number(searchParams.get("since")));
    if (given === null) return response;
    const begun = crypto.randomUUID();
    sessions.add(begun);
    response.headers.append("Set-Cookie", `sessionid=${begun}; Path=/`);
    return response;
  }

  async function answer(request: Request, since: number): Promise<Response> {
    const isUser = new RegExp(`/${user}(?=[/.])`, "i");
    const pathname = new URL(request.url).pathname.replace("//", "/").replace(isUser, `/${user}`);
    const text = await request.text();
    const body = text === "" ? null : JSON.parse(text);
    const what = `${request.method} ${pathname}`;
    if (/\/log(in|out)\.json$/.test(pathname)) return json({});
    if (pathname === `/api/2/sync-devices/${user}.json`) return json({ synchronized: [], "not-synchronized": [] });
    if (what === `GET /api/2/devices/${user}.json`) {
      const listed = { id: "server", caption: "server", type: "server", subscriptions: subscribed().length };
      return json([listed, ...devices.values()]);
    }
    if (what.startsWith(`POST /api/2/devices/${user}/`)) {
      const id = basename(pathname, ".json");
      devices.set(id, { ...devices.get(id), id, ...body, subscriptions: subscribed().length });
      return new Response("");
    }
    if (what.startsWith(`GET /api/2/subscriptions/${user}/`) || what === `GET ${NEXTCLOUD}/subscriptions`) {
      return readFeeds(since);
    }
    if (
      what.startsWith(`POST /api/2/subscriptions/${user}/`) ||
      what === `POST ${NEXTCLOUD}/subscription_change/create`
    ) {
      return change(body.add, body.remove);
    }
    if (what === `GET /subscriptions/${user}.opml`)
      return new Response(`<opml>${subscribed().join(" ").replaceAll("&", "&amp;")}</opml>`);
    if (what.startsWith(`GET /subscriptions/${user}/`)) return json(subscribed());
    if (what.startsWith(`PUT /subscriptions/${user}/`)) {
      change(
        body,
        subscribed().filter((feed) => !body.includes(feed)),
      );
      return new Response("");
    }
    if (what === `GET /api/2/episodes/${user}.json` || what === `GET ${NEXTCLOUD}/episode_action`)
      return readPlays(since, new URL(request.url).searchParams.get("podcast"), pathname.startsWith(NEXTCLOUD));
    if (what === `POST /api/2/episodes/${user}.json` || what === `POST ${NEXTCLOUD}/episode_action/create`)
      return play(body);
    return new Response("", { status: 404 });
  }
  const none = { token: null, second_token: null, other_user: null, other_user_token: null };
  return { url: "http://naive.test", user, password, second_password, ...none, rate: 0, timeout: 30, send, clock };
}
