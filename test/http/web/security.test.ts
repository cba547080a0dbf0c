// What protects the page: every route that there is, against other sites, frames, caches and hostile texts.
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { Hono } from "hono";
import { Parser } from "htmlparser2";
import { tables } from "../../../src/db/tables.ts";
import type { HttpEnv } from "../../../src/http/env.ts";
import { createForwarded } from "../../../src/http/forwarded.ts";
import { serveGpodder } from "../../../src/http/gpodder/protocol.ts";
import { serveNextcloud } from "../../../src/http/nextcloud/protocol.ts";
import { createThrottle } from "../../../src/http/throttle.ts";
import { serveWeb } from "../../../src/http/web/protocol.tsx";
import { startLoginFlow } from "../../../src/services/accounts/login-flow.ts";
import { issueToken } from "../../../src/services/accounts/tokens.ts";
import { createUser } from "../../../src/services/accounts/users.ts";
import { actAsUser } from "../../../src/services/actor.ts";
import { guidOf, ORIGIN, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";
import { basicAuth } from "../../support/basic-auth.ts";
import { fieldValue } from "../../support/fields.ts";
import { NASTY, reorders } from "../../support/nasty.ts";
import { PATIENCE } from "../../support/patience.ts";
import { rejectionOf } from "../../support/rejection.ts";
import { type Browser, openBrowser, signedIn } from "../browser.ts";

setDefaultTimeout(PATIENCE);

const PASSWORD = "correct horse";
let server: TestApp;
let user: TestUser;
let browser: Browser;
/** The page of a login flow. */
let flow: string;

beforeEach(async () => {
  server = await openTestApp();
  user = await server.user("ann");
  await user.setPassword(PASSWORD);
  browser = await signedIn(server, { name: "ann", token: PASSWORD });
  await user.add("https://a.example/feed", guidOf(1));
  await syncDevice("phone");
  flow = (await startLoginFlow(server.app, { label: "AntennaPod", address: "192.0.2.1" })).page;
});
afterEach(() => server.close());

/** A device that syncs by gPodder's API. @returns its session's cookie */
async function syncDevice(device: string, agent = "AntennaPod/3.5.0", body: object = {}): Promise<string> {
  const headers = { ...basicAuth("ann", user.token), "User-Agent": agent };
  const path = `/api/2/devices/ann/${device}.json`;
  const answer = await server.send("POST", path, { headers, body: JSON.stringify(body) });
  expect(answer.status).toBe(200);
  return answer.headers.getSetCookie()[0]?.split(";")[0] ?? "";
}

/** All rows of all tables. */
async function dump(): Promise<Record<string, unknown[]>> {
  await server.noted();
  const rows: Record<string, unknown[]> = {};
  for (const [name, { key }] of Object.entries(tables)) {
    rows[name] = await server.sql(`select * from ${name} order by ${key.join(", ")}`);
  }
  return rows;
}

/** The routes of a protocol: method, and path with values for its parameters. */
function routesOf(serve: typeof serveGpodder): { method: string; path: string }[] {
  const http = new Hono<HttpEnv>();
  const shared = {
    forwarded: createForwarded(server.app.config),
    throttle: createThrottle(server.app),
  };
  serve(http, server.app, shared);
  const token = user.token.split("_")[1] ?? "";
  const values: [RegExp, string][] = [
    [/:guid/, guidOf(1)],
    [/(?<=\/devices\/):id/, "phone"],
    [/:id/, token],
    [/:page/, flow],
    [/:secret/, "x".repeat(32)],
    [/:user$/, "ann.json"],
    [/:user/, "ann"],
    [/:device$/, "phone.json"],
    [/:\w+(\{[^}]*\})?/g, "x"],
  ];
  const fill = (path: string) => values.reduce((filled, [name, value]) => filled.replace(name, value), path);
  const routes = http.routes.filter(({ method }) => method !== "ALL");
  return [...new Map(routes.map(({ method, path }) => [`${method} ${path}`, { method, path: fill(path) }])).values()];
}

const pages = () => routesOf((http, app, shared) => serveWeb(http, app, shared, () => ({})));
const ofMethod = (...methods: string[]) =>
  pages().flatMap(({ method, path }) => (methods.includes(method) ? [path] : []));
/** Every page that there is, some in several states. */
const viewable = () => [
  ...ofMethod("GET"),
  `/podcasts?undo=${guidOf(1)}`,
  "/podcasts?search=a&page=2",
  "/podcasts?imported=1.2",
  "/history?done=3",
  "/history?by=test&after=1.0",
  "/account?changed=1",
  "/sign-in?next=/apps&ended=1",
  "/podcasts/unknown",
];
const cookies = () => [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");

const OTHER_SITES: Record<string, string>[] = [
  { "Sec-Fetch-Site": "cross-site" },
  { "Sec-Fetch-Site": "same-site" },
  { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", Origin: ORIGIN },
  { Origin: "https://evil.example" },
  { Origin: "null" },
  { Origin: `${ORIGIN}.evil.example` },
  { Origin: `${ORIGIN}:8080` },
  { Origin: "http://localhost" },
  { Origin: "http://localhost:1420" },
  { Origin: "http://tauri.localhost" },
  { Origin: "tauri://localhost" },
  { Origin: "capacitor://localhost" },
  { Origin: "file://" },
];
const BROWSER = { "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0" };

describe("another site", () => {
  test("can send no form of the page", async () => {
    const forms = ofMethod("POST", "PUT", "PATCH", "DELETE");
    expect(forms.length).toBeGreaterThan(12);
    const before = await dump();
    for (const path of forms) {
      for (const headers of OTHER_SITES) {
        const sent = { ...headers, ...BROWSER, Cookie: cookies(), "Content-Type": "application/x-www-form-urlencoded" };
        const { status, body } = await server.send("POST", path, {
          headers: sent,
          body: "name=ann&feed_url=x.example",
        });
        expect([path, headers, status]).toEqual([path, headers, 403]);
        expect(body).toContain("Another site sent this request");
      }
    }
    expect(await dump()).toEqual(before);
  });

  test("can use no credentials that a browser keeps for apps", async () => {
    const cookie = await syncDevice("phone");
    const forms = [...routesOf(serveGpodder), ...routesOf(serveNextcloud)].filter(({ method }) => method !== "GET");
    expect(forms.length).toBeGreaterThan(8);
    const before = await dump();
    for (const { method, path } of forms) {
      for (const headers of OTHER_SITES) {
        const credentials = { Cookie: cookie, ...basicAuth("ann", PASSWORD) };
        const sent = { ...headers, ...BROWSER, ...credentials, "Content-Type": "text/plain" };
        const body = JSON.stringify({ add: ["https://evil.example/"], remove: [] });
        const { status } = await server.send(method, path, { headers: sent, body });
        expect([path, headers, status]).toEqual([path, headers, 403]);
      }
    }
    expect(await dump()).toEqual(before);
  });

  test("can link to pages, and gets no cookie sent along with a form: it is SameSite", async () => {
    const headers = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", Cookie: cookies() };
    expect((await server.send("GET", "/podcasts", { headers })).status).toBe(200);
    const body = new URLSearchParams({ name: "ann", password: PASSWORD }).toString();
    const form = { "Content-Type": "application/x-www-form-urlencoded" };
    const { headers: given } = await server.send("POST", "/sign-in", { headers: form, body });
    for (const cookie of [...given.getSetCookie(), `${await syncDevice("phone")}; SameSite=Lax`]) {
      expect(cookie).toContain("SameSite=Lax");
    }
  });

  test("can't frame any page, nor an error", async () => {
    for (const path of viewable()) {
      const { headers } = await server.send("GET", path, { headers: { Cookie: cookies() } });
      expect([path, headers.get("x-frame-options")]).toEqual([path, "DENY"]);
      const policy = headers.get("content-security-policy") ?? "";
      for (const part of ["default-src 'self'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"]) {
        expect([path, policy]).toEqual([path, expect.stringContaining(part)]);
      }
      expect([path, headers.get("x-content-type-options")]).toEqual([path, "nosniff"]);
    }
  });
});

test("GET and HEAD change nothing, whichever page is opened", async () => {
  const phone = await user.another();
  for (let n = 2; n <= 12; n++) await user.add(`https://${n}.example/`, guidOf(n));
  for (let n = 1; n <= 12; n++) await phone.request("PATCH", `/subscriptions/${guidOf(n)}`, { is_subscribed: false });
  server.clock.advance(60_000);
  const before = await dump();
  for (const path of [...viewable(), ...ofMethod("POST")]) {
    for (const method of ["GET", "HEAD"]) {
      const { status } = await server.send(method, path, { headers: { Cookie: cookies() } });
      expect([path, status < 500]).toEqual([path, true]);
    }
  }
  expect(await dump()).toEqual(before);
});

test("a new page is closed to strangers unless it says otherwise", async () => {
  const http = new Hono<HttpEnv>();
  const forwarded = createForwarded(server.app.config);
  serveWeb(http, server.app, { forwarded, throttle: createThrottle(server.app) }, () => ({}));
  const paths = ["/new", "/docs/new", "/connect/new/page", "/sign-in/new"];
  for (const path of paths) http.on(["GET", "POST"], path, (c) => c.text("open"));
  for (const path of paths) {
    for (const method of ["GET", "HEAD", "POST"]) {
      const stranger = await http.fetch(new Request(ORIGIN + path, { method }), {});
      expect([method, path, stranger.status]).toEqual([method, path, 303]);
      expect(stranger.headers.get("location")).toStartWith("/sign-in?");
    }
    const headers = { Cookie: cookies(), "Sec-Fetch-Site": "same-origin" };
    const own = await http.fetch(new Request(ORIGIN + path, { headers }), {});
    expect([await own.text(), own.headers.get("cache-control")]).toEqual(["open", "no-store"]);
  }
});

test("every form says for whom its page was made, but those that sign in", async () => {
  const [, id] = user.token.split("_");
  const rows = ["/apps?device=phone", `/apps?rename=${id}`, `/apps?revoke=${id}`, "/connect?app=kasts"];
  const actions = new Set<string>();
  for (const path of [...viewable(), ...rows]) {
    const { body } = await browser.open(path);
    for (const [form, action = path] of body.matchAll(/<form method="post"(?: action="([^"]*)")?.*?<\/form>/gs)) {
      actions.add(action);
      const isOpen = /^\/(sign-in|setup|password|connect)(\/|$)/.test(action) && action !== "/connect";
      expect([action, fieldValue(form, "user") === "ann"]).toEqual([action, !isOpen]);
    }
  }
  expect(actions.size).toBeGreaterThan(12);
});

test("no cache keeps what a user sees", async () => {
  const shared = /^\/($|sign-in|docs|assets)/;
  for (const path of viewable().filter((one) => !shared.test(one))) {
    const { headers } = await server.send("GET", path, { headers: { Cookie: cookies() } });
    const control = headers.get("cache-control") ?? "";
    expect([path, control]).toEqual([path, "no-store"]);
    expect(headers.has("etag")).toBe(false);
  }
  const connected = await browser.submit("/connect", { app: "kasts", device: "", nonce: "n".repeat(20) });
  const link = /\/connect\/[0-9a-f]+/.exec(connected.body)?.[0] ?? "";
  const onPhone = openBrowser(server);
  for (const page of [
    connected,
    await onPhone.open(link),
    await onPhone.submit(link),
    await browser.open("/connect"),
  ]) {
    expect([page.path, page.headers.get("cache-control")]).toEqual([page.path, "no-store"]);
  }
  expect(connected.body).toContain("podkeep_");
});

test("a session that somebody put into the browser before does not become the user's", async () => {
  const eve = await server.user("eve");
  const own = await signedIn(server, { name: "eve", token: eve.token });
  const planted = own.cookies.get("podkeep_page") ?? "";
  server.clock.advance(1000);
  for (const value of [planted, "planted", browser.cookies.get("podkeep_page") ?? ""]) {
    const victim = openBrowser(server);
    victim.cookies.set("podkeep_page", value);
    await victim.submit("/sign-in", { name: "ann", password: PASSWORD });
    expect(victim.cookies.get("podkeep_page")).not.toBe(value);
    expect((await victim.open("/account")).body).toContain("<strong>ann</strong>");
  }
  expect((await own.open("/account")).body).not.toContain("<strong>ann</strong>");
});

const ELSEWHERE = [
  "https://evil.example/",
  "https:evil.example",
  "https:/evil.example",
  "//evil.example",
  "///evil.example",
  "\\\\evil.example",
  "/\\evil.example",
  "\\/evil.example",
  "/.//evil.example",
  "/..//evil.example",
  "/%2e//evil.example",
  "/podcasts/..//evil.example",
  "/.\\/evil.example",
  "/\t/evil.example",
  "\t//evil.example",
  "/\n/evil.example",
  "/\u0000/evil.example",
  "%2f%2fevil.example",
  "javascript:alert(1)",
  "JaVaScRiPt:alert(1)",
  "data:text/html,x",
  "@evil.example",
  ".evil.example",
  "/podcasts\r\nSet-Cookie: podkeep_page=planted",
];

test("neither signing in nor a button leads to another site", async () => {
  const form = { "Content-Type": "application/x-www-form-urlencoded" };
  const send = async (path: string, fields: Record<string, string>) => {
    const headers = { ...form, Cookie: cookies() };
    const response = await server.send("POST", path, { headers, body: new URLSearchParams(fields).toString() });
    expect(response.status).toBe(303);
    expect(response.headers.getSetCookie().join()).not.toContain("planted");
    return response.headers.get("location") ?? "";
  };
  for (const text of ELSEWHERE) {
    const shown = (await server.send("GET", `/sign-in?${new URLSearchParams({ next: text })}`)).body;
    const kept = fieldValue(shown, "next");
    for (const location of [
      kept,
      await send("/sign-in", { name: "ann", password: PASSWORD, next: text }),
      await send(`/podcasts/${guidOf(1)}/unsubscribe`, { back: text }),
      await send(`/podcasts/${guidOf(1)}/subscribe`, { back: text }),
    ]) {
      const leads = URL.parse(location, "http://podkeep.test/sign-in");
      expect([text, location, leads?.origin]).toEqual([text, location, ORIGIN]);
      expect(location).toMatch(/^\/[^/\\]/);
    }
  }
});

/** What a page must not have: other scripts scripts, handlers, links elsewhere, and characters that reorder text. */
function findDanger({ body: html, headers }: { body: string; headers: Headers }): string[] {
  if (!headers.get("content-type")?.startsWith("text/html")) return [];
  const danger: string[] = [];
  const parser = new Parser({
    onopentag(name, attributes) {
      if (name === "script" && !attributes["src"]?.startsWith("/assets/")) danger.push(`script ${attributes["src"]}`);
      if (["img", "iframe", "object", "embed", "base", "b"].includes(name)) danger.push(name);
      for (const [attribute, value] of Object.entries(attributes)) {
        if (attribute.startsWith("on") || attribute === "style") danger.push(`${name} ${attribute}`);
        const leads = ["href", "src", "action", "formaction", "xlink:href"].includes(attribute);
        if (leads && !/^(\/(?!\/)|#)/.test(value)) danger.push(`${attribute}=${value}`);
      }
    },
  });
  parser.end(html);
  if (reorders(html)) danger.push("bidirectional controls");
  return danger;
}

test("texts of apps, files and feeds are only text, on every page", async () => {
  const escaped = (text: string) => Bun.escapeHTML(text);
  const outlines = NASTY.map(
    (text, n) => `<outline text="${escaped(text)}" xmlUrl="https://${n}.example/?${escaped(text)}"/>`,
  );
  const file = new File([`<opml><body>${outlines.join("")}</body></opml>`], "<b>.opml");
  await browser.submit("/podcasts/import", { file });
  for (const [n, text] of NASTY.entries()) {
    await user.add(`https://feed.example/${text}`, guidOf(100 + n));
    const label = text.slice(0, 100);
    const { token } = await issueToken(server.app, actAsUser(user.id), { label, scope: "write", expires_at: null });
    const app = server.as(user, token);
    await app.add(`https://own.example/${n}`, guidOf(200 + n));
    await app.request("PATCH", `/subscriptions/${guidOf(200 + n)}`, { is_subscribed: false });
    const agent = text.replace(/[^\u0020-\u007e]/g, "");
    await syncDevice(`device-${n}`, agent, { caption: text, type: "mobile" });
    const started = await server.send("POST", "/index.php/login/v2", { headers: { "User-Agent": agent } });
    flow = new URL(started.body.login).pathname.split("/").at(-1) ?? "";
    const byPassword = { ...basicAuth("ann", PASSWORD), "User-Agent": agent };
    const body = JSON.stringify({ add: [`https://by-password.example/${n}`], remove: [] });
    await server.send("POST", `/api/2/subscriptions/ann/pw-${n}.json`, { headers: byPassword, body });
    for (const path of viewable()) expect([path, findDanger(await browser.open(path))]).toEqual([path, []]);
  }
  for (const text of NASTY) {
    const query = new URLSearchParams({ search: text, by: text, undo: text, next: text, as_of: text, done: text });
    for (const path of ofMethod("GET")) {
      expect([path, findDanger(await browser.open(`${path}?${query}`))]).toEqual([path, []]);
    }
    for (const [path, fields] of [
      ["/podcasts/add", { feed_url: text }],
      ["/podcasts/import", { file: new File([text], text) }],
      ["/history/restore", { as_of: text }],
      ["/sign-in", { name: text, password: text, next: text }],
    ] as const) {
      expect([path, findDanger(await browser.submit(path, fields))]).toEqual([path, []]);
    }
  }
});

test("an OPML file that is a bomb is refused, and says why", async () => {
  const before = await dump();
  const opml = (head: string, body: string) => new File([`${head}<opml><body>${body}</body></opml>`], "x.opml");
  for (const [file, status, reason] of [
    [opml("", "<outline>".repeat(200_000)), 400, "more than 100 elements within one another"],
    [opml("", "<outline/>".repeat(200_000)), 400, "more than 100000 elements"],
    [
      opml("", " ".repeat(6 * 1024 * 1024)),
      413,
      "The file is larger than 5 MB. The admin can read larger ones: podkeep import.",
    ],
  ] as const) {
    const page = await browser.submit("/podcasts/import", { file });
    expect([page.status, page.body]).toEqual([status, expect.stringContaining(reason)]);
  }
  expect(await dump()).toEqual(before);
  const entities = '<!DOCTYPE opml [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>';
  const file = opml(entities, '<outline text="&b;&c;" xmlUrl="https://b.example/"/>');
  expect((await browser.submit("/podcasts/import", { file })).body).toContain("&amp;b;&amp;c;");
});

test("files have fixed names: nothing that users or apps choose is in a header", async () => {
  for (const name of [`x\r\nSet-Cookie: a=b`, `x"; filename="evil.exe`, "x\u0000", "a/b"]) {
    expect(await rejectionOf(createUser(server.app, name))).toMatchObject({ code: "invalid" });
  }
  const bob = await server.user("Ünïcödé.@+-");
  const own = openBrowser(server);
  await own.submit("/sign-in", { name: bob.name, password: bob.token });
  for (const [path, name] of [
    ["/podcasts/podkeep.opml", "podkeep.opml"],
    ["/account/podkeep.json", "podkeep.json"],
  ] as const) {
    const { headers } = await own.open(path);
    expect(headers.get("content-disposition")).toBe(`attachment; filename="${name}"`);
  }
});

test("guesses at tokens are counted by address", async () => {
  const guess = (n: number) => `podkeep_${String(n).padStart(10, "a").replace(/\d/g, "b")}_${"c".repeat(26)}0000000`;
  const send = (n: number) =>
    server.send("POST", "/sign-in", {
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ name: "ann", password: guess(n) }).toString(),
      address: "192.0.2.7",
    });
  const statuses: number[] = [];
  for (let n = 0; n < 120; n++) statuses.push((await send(n)).status);
  expect([statuses[0], statuses.at(-1)]).toEqual([401, 429]);
});

test("guesses at the present password are counted like those at the sign-in", async () => {
  let page = await browser.submit("/account/password", { present: "wrong", changed: "another horse" });
  for (let n = 0; page.status === 400 && n < 100; n++) {
    page = await browser.submit("/account/password", { present: `wrong ${n}`, changed: "another horse" });
  }
  expect(page.status).toBe(429);
  expect(page.headers.get("retry-after")).toMatch(/^\d+$/);
  expect(page.body).toContain("Too many failed logins. Try again in 15 minutes.");
  expect(page.body).toContain('action="/account/password"');
  const signIn = await openBrowser(server).submit("/sign-in", { name: "ann", password: "another guess" });
  expect(signIn.status).toBe(429);
  expect(signIn.headers.get("retry-after")).toMatch(/^\d+$/);
});

describe("podkeep's own page that looks like another site's", () => {
  const refusal = async (public_url: string, url: string, Origin: string) => {
    const home = await openTestApp(public_url ? { public_url } : {});
    const headers = { ...BROWSER, Origin, "Content-Type": "application/x-www-form-urlencoded" };
    const { status, body } = await home.send("POST", `${url}/sign-in`, { headers, body: "name=ann&password=x" });
    await home.close();
    return `${status} ${body}`.replaceAll("&#39;", "'");
  };

  test("because the proxy changes the Host header is told so", async () => {
    const told =
      "403 .* the proxy changed the Host header to 127.0.0.1:8042: let it pass on that of http://pods.lan:8080<";
    for (const public_url of ["", "https://pods.example"]) {
      expect(await refusal(public_url, "http://127.0.0.1:8042", "http://pods.lan:8080")).toMatch(RegExp(told, "s"));
    }
    expect(await refusal("http://pods.lan:8080", "http://127.0.0.1:8042", "http://pods.lan:8080")).toStartWith("401");
  });

  test("because it was opened without https is told where to open it", async () => {
    const told = /^403 .* If it was podkeep's own page: open https:\/\/pods\.example</s;
    expect(await refusal("https://pods.example", "http://pods.example", "http://pods.example")).toMatch(told);
  });
});

describe("a host name that a stranger has in the DNS", () => {
  test("shows no page and refuses to sign in if the public URL has another one", async () => {
    const home = await openTestApp({ public_url: "https://pods.example" });
    const { token } = await home.user("ann");
    const form = { "Content-Type": "application/x-www-form-urlencoded" };
    const signIn = (origin: string, headers: Record<string, string>) =>
      home.send("POST", `${origin}/sign-in`, { headers: { ...form, ...headers }, body: `name=ann&password=${token}` });
    const sync = (origin: string, headers: Record<string, string>) =>
      home.send("GET", `${origin}/api/2/devices/ann.json`, {
        headers: { ...basicAuth("ann", token), ...headers },
      });
    const rebound = "http://evil.example:8042";
    for (const headers of [
      { ...BROWSER, Origin: rebound },
      { ...BROWSER, "Sec-Fetch-Site": "same-origin" },
      { ...BROWSER, "Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate" },
      BROWSER,
    ]) {
      const refused = await signIn(rebound, headers);
      expect([refused.status, refused.headers.getSetCookie()]).toEqual([403, []]);
      expect(refused.body).toContain("This host name is not podkeep&#39;s: open https://pods.example");
      expect((await home.send("GET", `${rebound}/`, { headers })).status).toBe(403);
      expect((await sync(rebound, headers)).status).toBe(403);
    }
    for (const origin of ["https://pods.example", "http://127.0.0.1:8042", "http://pi.local:8042", "http://[::1]"]) {
      expect((await signIn(origin, { ...BROWSER, "Sec-Fetch-Site": "same-origin" })).status).toBe(303);
      // Over http browsers send no Sec-Fetch-Site. Some are told to open the public URL.
      expect((await signIn(origin, { ...BROWSER, Origin: origin })).status).not.toBe(403);
      expect((await home.send("GET", `${origin}/`, { headers: BROWSER })).status).toBe(200);
    }
    // Health checks, doctor, apps that were given another name of this machine.
    for (const path of ["/livez", "/readyz"]) expect((await home.send("GET", rebound + path)).status).toBe(200);
    expect((await home.send("GET", `${rebound}/v1/subscriptions`)).status).toBe(401);
    expect((await sync("http://nas.lan:8042", { "User-Agent": "AntennaPod/3.5.0" })).status).toBe(200);
    await home.close();
  });

  test("that a proxy made of the public URL's is named in the refusal: who reads it has opened that", async () => {
    const home = await openTestApp({ public_url: "https://pods.example" });
    const headers = { ...BROWSER, "X-Forwarded-Host": "pods.example" };
    const { status, body } = await home.send("GET", "http://nas.lan:8042/", { headers });
    expect(status).toBe(403);
    expect(body).toContain("the proxy changed the Host header to nas.lan:8042");
    await home.close();
  });

  test("of the same name over http is another site, if podkeep has https", async () => {
    const home = await openTestApp({ public_url: "https://pods.example" });
    const { token } = await home.user("ann");
    const send = (Origin: string) =>
      home.send("POST", "http://pods.example/sign-in", {
        headers: { ...BROWSER, Origin, "Content-Type": "application/x-www-form-urlencoded" },
        body: `name=ann&password=${token}`,
      });
    expect((await send("http://pods.example")).status).toBe(403);
    expect((await send("https://pods.example")).status).toBe(303);
    await home.close();
  });
});
