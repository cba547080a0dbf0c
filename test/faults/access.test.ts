// Access: every route with every kind of credential (P8).
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { openTestApp } from "../support/app.ts";
import { type Answer, type Installation, install, type Server } from "../support/start-server.ts";
import { routesOf } from "./routes.ts";
import { say } from "./socket.ts";

const GUID = "11111111-1111-4111-8111-111111111111";
const UNKNOWN_GUID = "22222222-2222-4222-8222-222222222222";
const SUBSCRIBED = { subscriptions: [{ feed_url: "https://feeds.test/ann", guid: GUID }] };

let podkeep: Installation;
let server: Server;
const credentials: Record<string, string> = {};

beforeAll(async () => {
  podkeep = install();
  const ann = await podkeep.user("ann");
  const bob = await podkeep.user("bob");
  const revoked = await podkeep.token("ann");
  const expired = await podkeep.token("ann", "--expires", "1s");
  const wrong = ann.replace(/.{33}$/, "a".repeat(26));
  Object.assign(credentials, {
    none: "",
    "another scheme": `Basic ${btoa(`ann:${ann}`)}`,
    "no token": "Bearer",
    "two tokens": `Bearer ${ann} ${bob}`,
    mistyped: `Bearer ${ann.slice(0, -1)}${ann.endsWith("a") ? "b" : "a"}`,
    "cut off": `Bearer ${ann.slice(0, -5)}`,
    unknown: `Bearer ${wrong}${Bun.hash.crc32(wrong).toString(36).padStart(7, "0")}`,
    revoked: `Bearer ${revoked.token}`,
    expired: `Bearer ${expired.token}`,
    "read-only": `Bearer ${(await podkeep.token("ann", "--scope", "read")).token}`,
    "another user's": `Bearer ${bob}`,
    "the user's": `Bearer ${ann}`,
  });
  server = await podkeep.serve();
  await server.request(ann, "POST", "/subscriptions", SUBSCRIBED);
  await server.request(ann, "POST", "/subscriptions", { subscriptions: [{ feed_url: "https://feeds.test/gone" }] });
  const { body } = await server.request(ann, "GET", "/subscriptions");
  await server.request(ann, "DELETE", `/subscriptions/${body.subscriptions[1].guid}`);
  expect((await podkeep.run(["token", "revoke", revoked.id, "--yes"])).code).toBe(0);
  await Bun.sleep(1100);
});
afterAll(() => server?.end("SIGKILL"));

const REFUSED = [
  "none",
  "another scheme",
  "no token",
  "two tokens",
  "mistyped",
  "cut off",
  "unknown",
  "revoked",
  "expired",
];

type Row = [method: string, path: string, body: object | null, readOnly: number, another: number, own: number];

// Another user's data gets the same responses as data that doesn't exist.
const TABLE: Row[] = [
  ["GET", "/subscriptions", null, 200, 200, 200],
  ["HEAD", "/subscriptions", null, 200, 200, 200],
  ["POST", "/subscriptions", { subscriptions: [] }, 401, 200, 200],
  ["GET", `/subscriptions/${GUID}`, null, 200, 404, 200],
  ["HEAD", `/subscriptions/${GUID}`, null, 200, 404, 200],
  ["PATCH", `/subscriptions/${GUID}`, { is_subscribed: true }, 401, 404, 200],
  ["DELETE", `/subscriptions/${GUID}`, null, 401, 404, 202],
  ["GET", "/deletions/1", null, 200, 404, 200],
  ["HEAD", "/deletions/1", null, 200, 404, 200],
];

/** Routes that need no token. */
const PUBLIC = ["GET /livez", "GET /readyz", "GET /openapi.json", "GET /v1/openapi.json"];

const BOTH = TABLE.flatMap((row): Row[] => [row, row.with(1, `/v1${row[1]}`) as Row]);

test("the table lists every route", async () => {
  const app = await openTestApp();
  const served = routesOf(app).flatMap(({ protocol, name }) => (protocol === "openpodcast" ? name : []));
  await app.close();
  const listed = BOTH.filter(([method]) => method !== "HEAD").map(([method, path]) => {
    return `${method} ${path.replace(GUID, ":guid").replace(/1$/, ":id")}`;
  });
  expect([...listed, ...PUBLIC].toSorted()).toEqual(served.toSorted());
});

test.each(PUBLIC)("%s is for everybody", async (name) => {
  const [method = "", path = ""] = name.split(" ");
  for (const kind of ["none", "unknown", "the user's"]) {
    expect((await ask(credentials[kind] ?? "", method, path, null)).status).toBe(200);
  }
});

function ask(authorization: string, method: string, path: string, body: object | null): Promise<Answer> {
  const headers = authorization ? { Authorization: authorization } : {};
  return server.send(method, path, body ?? undefined, headers);
}

describe.each(BOTH)("%s %s", (method, path, body, readOnly, another, own) => {
  test.each(REFUSED)("is refused with the credential: %s", async (kind) => {
    const answer = await ask(credentials[kind] ?? "", method, path, body);
    expect(answer.status).toBe(401);
    expect(answer.headers.get("WWW-Authenticate")).toStartWith('Bearer realm="podkeep"');
    if (method !== "HEAD") expect(answer.body).toEqual({ code: "401", message: "User not authorized" });
  });

  test("is refused with two Authorization headers, even of one token", async () => {
    const header = `Authorization: ${credentials["the user's"]}\r\n`;
    const rest = `Host: a.test\r\nConnection: close\r\n${header}${header}\r\n`;
    const heard = await say(server.url, `${method} ${path} HTTP/1.1\r\n${rest}`, 1, true);
    expect(heard.statuses).toEqual([401]);
  });

  test(`with a token that may only read is ${readOnly}`, async () => {
    const answer = await ask(credentials["read-only"] ?? "", method, path, body);
    expect(answer.status).toBe(readOnly);
    if (readOnly === 401) expect(answer.headers.get("WWW-Authenticate")).toContain('error="insufficient_scope"');
  });

  test(`with another user's token is ${another}`, async () => {
    const answer = await ask(credentials["another user's"] ?? "", method, path, body);
    expect(answer.status).toBe(another);
    expect(JSON.stringify(answer.body)).not.toContain("feeds.test");
    if (another !== 404) return;
    const never = path.replace(GUID, UNKNOWN_GUID).replace("/1", "/999999");
    const stranger = await ask(credentials["another user's"] ?? "", method, never, body);
    expect(plain(answer)).toEqual(plain(stranger));
  });

  test(`with the user's token is ${own}`, async () => {
    await ask(credentials["the user's"] ?? "", "POST", "/subscriptions", SUBSCRIBED);
    expect((await ask(credentials["the user's"] ?? "", method, path, body)).status).toBe(own);
  });
});

// Without the headers that differ between any two responses.
function plain({ status, headers, body }: Answer) {
  const kept = [...headers].filter(([name]) => !/^(x-request-id|date)$/.test(name));
  return { status, body, headers: kept };
}

test("a token that another process revokes is refused at the next request", async () => {
  const { id, token } = await podkeep.token("ann");
  expect((await server.request(token, "GET", "/subscriptions")).status).toBe(200);
  expect((await podkeep.run(["token", "revoke", id, "--yes"])).code).toBe(0);
  expect((await server.request(token, "GET", "/subscriptions")).status).toBe(401);
});
