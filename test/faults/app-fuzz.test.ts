// Requests of every kind to every route of today's apps and of the page: no error of the server, users are isolated
// (P8), and no secret is logged.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import { createLogger } from "../../src/log.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { PATIENCE } from "../support/patience.ts";
import { checkRounds, countRounds, report } from "./rounds.ts";
import {
  EXAMPLES,
  type Example,
  encodeBody,
  fill,
  openWorld,
  type Person,
  rowsOf,
  sessionOf,
  startFlow,
  type World,
} from "./two-users.ts";

setDefaultTimeout(PATIENCE);

/** Histories of a round. */
const HISTORIES = 150;
const SAFE_HISTORIES = 15;
const ROUNDS = countRounds(1, 20);
const SAFE_ROUNDS = countRounds(1, 20);

let world: World;
const log: string[] = [];
/** What must not be logged: credentials as they were sent, and the secrets of feeds and forms (hunter1 and so on). */
const secrets = new Set<string>();
beforeAll(async () => {
  world = await openWorld({ log: createLogger("debug", (line) => void log.push(JSON.stringify(line))) });
});
afterAll(() => world.server.close());

const ROUTES = Object.values(EXAMPLES).flatMap((table) => Object.entries(table));

/** Texts in the place of names, ids, secrets, URLs and times; the ones of users are few, so that requests meet. */
const odd = fc.oneof(
  fc.constantFrom(
    ...["<own.name>", "<other.name>", "<own.device>", "<other.device>", "<own.guid>", "<other.guid>"],
    ...[
      "<own.token_id>",
      "<other.token_id>",
      "<own.spare_id>",
      "<other.spare_id>",
      "<own.flow>",
      "<own.poll>",
      "<own.session_id>",
      "<other.session_id>",
      "<own.sync_id>",
      "<other.sync_id>",
      "<own.password>",
    ],
    ...[
      "<own.feed>",
      "https://<own.mark>.test/2",
      "http://<own.mark>.test/3?key=hunter3",
      "podcast",
      "podkeep_hunter4",
    ],
    ...["", "0", "1", "-1", "1e9", "2147483648", "1.5", "9".repeat(400), "NaN", "null", "true", "json", "..", "."],
    ...["\0", "a\0b", "%00", "%zz", "\ud800", "\ufeff", "\r\n", "é", "é", "🎧", "'", '"', "<script>", "&", "=", ";"],
    ...["__proto__", "constructor", "a".repeat(300), "a".repeat(9000), "2026-02-30", "2026-01-01T00:00:00+99:99"],
    ...["/", "//evil.test", "https://evil.test/", "/\\evil.test", "javascript:alert(1)", "{}", "[]", "[".repeat(5000)],
  ),
  fc.string({ unit: "binary", maxLength: 40 }),
);

/** An unknown path is logged; no app puts a password there. */
const oddPart = odd.filter((one) => one !== "<own.password>");

/** A value like `example`, with some of its parts replaced. */
function nearly(example: unknown): fc.Arbitrary<unknown> {
  const wrong = fc.oneof(odd, fc.jsonValue({ maxDepth: 2 }), fc.double(), fc.constant(2 ** 60));
  const weigh = (arbitrary: fc.Arbitrary<unknown>, weight: number) =>
    fc.oneof({ weight, arbitrary }, { weight: 1, arbitrary: wrong });
  if (Array.isArray(example)) return weigh(fc.array(nearly(example[0]), { maxLength: 4 }), 9);
  if (example === null || typeof example !== "object") return weigh(fc.constant(example), 4);
  const fields = Object.entries(example).map(([name, value]) => [name, nearly(value)]);
  return weigh(fc.record({ ...Object.fromEntries(fields), guid: wrong, extra: wrong }, { requiredKeys: [] }), 9);
}

const text = fc.oneof(
  odd,
  fc.json(),
  fc.constantFrom(
    "https://<own.mark>.test/1\n\nnonsense\r\nhttps://<own.mark>.test/2",
    '<?xml version="1.0" encoding="x-nothing"?><opml><body/></opml>',
    '<opml><body><outline xmlUrl="https://<own.mark>.test/a"></body>',
    '<!DOCTYPE opml [<!ENTITY a SYSTEM "file:///etc/passwd">]><opml><body><outline xmlUrl="&a;"/></body></opml>',
    `<opml><body>${'<outline text="a">'.repeat(3000)}</body></opml>`,
    "a".repeat(6_000_000),
  ),
);

interface Body {
  form?: Example["form"] | undefined;
  json?: unknown;
  text?: string | undefined;
}

/** A form or JSON like the example's, or anything. */
function bodyLike({ form, json, text: given }: Example): fc.Arbitrary<Body> {
  const anything = fc.oneof(
    text.map((one): Body => ({ text: one })),
    fc.jsonValue().map((value): Body => ({ json: value })),
    fc
      .dictionary(fc.constantFrom("name", "password", "token", "back", "file"), odd)
      .map((one): Body => ({ form: one })),
  );
  const fields = Object.entries(form ?? {}).map(([name, value]) => {
    const usual = typeof value === "string" ? fc.oneof({ weight: 4, arbitrary: fc.constant(value) }, odd) : undefined;
    const file = text.map((one) => ({ file: one }));
    return [name, usual ?? fc.oneof({ weight: 2, arbitrary: fc.constant(value) }, file, odd)];
  });
  const like: fc.Arbitrary<Body> = form
    ? fc.record(Object.fromEntries(fields), { requiredKeys: [] }).map((one) => ({ form: one as Example["form"] }))
    : json !== undefined
      ? nearly(json).map((one) => ({ json: one }))
      : fc.constant(given === undefined ? {} : { text: given });
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant({ form, json, text: given }) },
    { weight: 5, arbitrary: like },
    anything,
  );
}

/** Ways to sign in: all that a user has, the password, a token that may only read, nothing, or nonsense. */
const ways = fc.constantFrom("all", "all", "all", "password", "token", "reader", "none", "wrong", "junk");
type Way = "all" | "password" | "token" | "reader" | "none" | "wrong" | "junk";

const queries = fc.dictionary(
  fc.constantFrom(
    ...["since", "podcast", "device", "aggregated", "search", "page", "undo", "imported", "by", "after", "done"],
    ...["as_of", "next", "ended", "changed", "limit", "include", "include_own", "include_unsubscribed", "__proto__"],
  ),
  odd,
  { maxKeys: 3 },
);

const headers = fc.record(
  {
    "Content-Type": fc.constantFrom(
      ...["application/json", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"],
      ...["multipart/form-data; boundary=x", "application/json; charset=latin1", "", "a"],
    ),
    "User-Agent": fc.constantFrom("gPodder/3.11", "AntennaPod/3.5", "Kasts/1", "", "a".repeat(3000), "\u00ff\u0080/1"),
    "Sec-Fetch-Site": fc.constantFrom("same-origin", "same-origin", "none", "cross-site", "same-site", "x"),
    Origin: fc.constantFrom("http://podkeep.test", "https://evil.test", "null", "x"),
    Host: fc.constantFrom("podkeep.test", "evil.test", "a b", ""),
    "X-Forwarded-For": fc.constantFrom("192.0.2.1", "x", "::1", "a".repeat(3000)),
    "If-None-Match": fc.constantFrom("*", '"x"'),
    "Client-ID": fc.constantFrom("a651fd88-555d-4ac4-bdbb-e35846aa4da9", "<own.sync_id>", "1"),
    "X-Request-Id": fc.constantFrom("a", "a b", "hunter5 \u00ff"),
  },
  { requiredKeys: [] },
);

const YEAR = 365 * 24 * 60 * 60_000;

/** On a machine without its own clock, when it learns the time. */
const jumps = fc.record({
  readings: fc.integer({ min: 1, max: 6 }),
  ms: fc.constantFrom(-1000, -60 * 60_000, -10 * YEAR, 60 * 60_000, 10 * YEAR),
});

interface FuzzRequest {
  name: string;
  method: string;
  path: string;
  query: Record<string, string>;
  body: Body;
  way: Way;
  headers: Record<string, string>;
  /** when the clock jumps while the request runs. */
  jump: { readings: number; ms: number } | null;
}

/** Requests to one route: its example, with a part of the path, the query, the body, the method or the user replaced. */
function requestsTo([name, example]: [string, Example]): fc.Arbitrary<FuzzRequest> {
  const [method = ""] = name.split(" ");
  const [path = "", query = ""] = example.path.split("?");
  const last = path.split("/").length - 1;
  const replacement = fc.tuple(
    fc.oneof(fc.constant(last), fc.integer({ min: 1, max: last })),
    oddPart,
    fc.constantFrom("", ".json", ".opml", ".txt"),
  );
  return fc
    .record({
      method: fc.oneof(
        { weight: 12, arbitrary: fc.constant(method) },
        fc.constantFrom("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"),
      ),
      replaced: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, replacement),
      others: fc.constantFrom(false, false, false, true),
      slash: fc.constantFrom("", "", "", "", "/", "//"),
      query: fc.oneof({ weight: 2, arbitrary: fc.constant(Object.fromEntries(new URLSearchParams(query))) }, queries),
      body: bodyLike(example),
      way: ways,
      headers: fc.oneof({ weight: 2, arbitrary: fc.constant<Record<string, string>>({}) }, headers),
      jump: fc.oneof({ weight: 2, arbitrary: fc.constant(null) }, jumps),
    })
    .map(({ replaced, others, slash, ...rest }) => {
      const changed = (others ? path.replaceAll("<own.", "<other.") : path).split("/");
      if (replaced) changed[replaced[0]] = replaced[1] + replaced[2];
      return { ...rest, name, path: slash + changed.join("/").slice(slash ? 1 : 0) };
    });
}

const anyRequest = fc.oneof(...ROUTES.map(requestsTo));

/** @param sessions kept ones, if requests are not to begin any */
async function credentials(
  who: Person,
  way: Way,
  sessions = new Map<string, string>(),
): Promise<Record<string, string>> {
  const { app } = world.server;
  const session = async (by: "password" | "token" | "reader") => {
    const [page, own] = [`page ${by}`, `app ${by}`];
    if (!sessions.has(page)) sessions.set(page, await sessionOf(app, who, "page", by));
    if (!sessions.has(own)) sessions.set(own, await sessionOf(app, who, "app", by));
    for (const one of [page, own]) secrets.add(sessions.get(one)?.slice(-30) ?? "");
    return { Cookie: `podkeep_page=${sessions.get(page)}; sessionid=${sessions.get(own)}` };
  };
  if (way === "none") return {};
  if (way === "wrong") return basicAuth(who.name, `hunter6 ${crypto.randomUUID()}`);
  if (way === "junk") return { Authorization: "Basic hunter7", Cookie: "podkeep_page=hunter8; sessionid=a.b.hunter9" };
  if (way === "all") return { ...basicAuth(who.name, who.token), ...(await session("password")) };
  if (way === "password") return { ...basicAuth(who.name, who.password), ...(await session("password")) };
  const [token, by] = way === "reader" ? ([who.reader, "reader"] as const) : ([who.token, "token"] as const);
  return { Authorization: `Bearer ${token}`, ...(await session(by)) };
}

async function send(request: FuzzRequest, own: Person, other: Person, sessions?: Map<string, string>) {
  const filled = fill(request, own, other);
  const path = filled.path
    .split("/")
    .map((part) => encodeURIComponent(part.toWellFormed()))
    .join("/");
  const query = new URLSearchParams(
    Object.entries(filled.query).map(([name, value]): [string, string] => [name, value.toWellFormed()]),
  );
  const { body, headers } = await encodeBody(filled.body as Example);
  const sent = ["GET", "HEAD"].includes(request.method) || body === undefined ? {} : { body: body };
  const signedIn = await credentials(own, request.way, sessions);
  const { clock, send } = world.server;
  const now = clock.now();
  if (request.jump) clock.jumpAfter(request.jump.readings, request.jump.ms);
  const answer = await send(request.method, query.size > 0 ? `${path}?${query}` : path, {
    ...sent,
    headers: { ...headers, ...signedIn, ...filled.headers },
    address: "192.0.2.1",
  });
  clock.set(now);
  return answer;
}

/** A user with a login flow that is not over. */
async function refresh(person: Person): Promise<Person> {
  const fresh = { ...person, ...(await startFlow(world.server)) };
  const { flow, poll, token, reader } = fresh;
  for (const secret of [flow, poll, token.slice(-20), reader.slice(-20), "hunter"]) secrets.add(secret);
  return fresh;
}

/** Of what was logged since the last time. */
function expectNoSecrets(): void {
  const lines = log.join("");
  const found = [...secrets].filter((secret) => lines.includes(secret));
  expect(log.splice(0).filter((line) => found.some((secret) => line.includes(secret)))).toEqual([]);
  expect(lines).not.toContain('"level":50');
  secrets.clear();
}

const isPage = (name: string) => name in EXAMPLES.page || name in EXAMPLES.open;

const contentOf = (body: unknown) => (typeof body === "string" ? body : (JSON.stringify(body) ?? ""));

test(
  "every response is below 500 and holds only the user's own data, and nothing of another user changes",
  async () => {
    const { server } = world;
    const statuses: Record<string, number> = {};
    const [before] = [await server.sql("select id, password_hash from users")];
    const anyHistory = fc.array(anyRequest, { minLength: 1, maxLength: 30, size: "max" });
    const property = fc.asyncProperty(fc.constantFrom("ann", "bob"), anyHistory, async (name, history) => {
      server.clock.advance(20 * 60_000);
      // Waits for transactions that began after a response, such as noting a token's use.
      await server.app.database.write(async () => {});
      // New ones delete everybody's expired ones.
      for (const table of ["login_flows", "connect_links"]) await server.sql(`delete from ${table}`);
      for (const { id, password_hash } of before) {
        await server.sql(`update users set password_hash = '${password_hash}' where id = '${id}'`);
        await server.sql(`update tokens set revoked_at = null where user_id = '${id}'`);
      }
      const [own, other] =
        name === "ann" ? [await refresh(world.ann), world.bob] : [await refresh(world.bob), world.ann];
      const others = rowsOf(world, other);
      for (const request of history) {
        const answer = await send(request, own, other);
        const content = contentOf(answer.body) + JSON.stringify([...answer.headers]);
        const wrong = answer.status >= 500 ? answer.status : content.includes(other.mark) && "another user's data";
        if (wrong) throw new Error(`${wrong}: ${JSON.stringify(request).slice(0, 2000)} ${content.slice(0, 500)}`);
        statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      }
      expect(rowsOf(world, other)).toEqual(others);
      expectNoSecrets();
    });
    const histories = await checkRounds(property, HISTORIES, ROUNDS);
    const cases = Object.values(statuses).reduce((sum, count) => sum + count, 0);
    report("app fuzz", { histories, cases, ...statuses });
    // Input that is always refused would prove nothing.
    for (const status of [200, 303, 400, 401, 403, 404]) expect(statuses[status]).toBeGreaterThan(0);
  },
  PATIENCE + ROUNDS.most * HISTORIES * 2000,
);

test(
  "HEAD, and GET of the page, change nothing",
  async () => {
    const { server, bob } = world;
    const safe = anyRequest.chain((request) =>
      fc.constantFrom("GET", "HEAD").map((method) => ({ ...request, method: isPage(request.name) ? method : "HEAD" })),
    );
    let answered = 0;
    const property = fc.asyncProperty(
      fc.array(safe, { minLength: 20, maxLength: 40, size: "max" }),
      async (requests) => {
        const [ann, sessions] = [await refresh(world.ann), new Map<string, string>()];
        for (const way of ["password", "token", "reader"] as const) await credentials(ann, way, sessions);
        const before = rowsOf(world);
        for (const request of requests) {
          if ((await send(request, ann, bob, sessions)).status === 200) answered++;
        }
        expect(rowsOf(world)).toEqual(before);
        server.clock.advance(20 * 60_000);
        expectNoSecrets();
      },
    );
    const histories = await checkRounds(property, SAFE_HISTORIES, SAFE_ROUNDS);
    report("safe methods", { histories, answered });
    expect(answered).toBeGreaterThan(histories);
  },
  PATIENCE + SAFE_ROUNDS.most * SAFE_HISTORIES * 4000,
);
