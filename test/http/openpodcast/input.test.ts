// Invalid input on every route: the right error, its reason, and nothing changed.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { guidOf, openTestApp, type TestApp, type TestUser } from "../../support/app.ts";

const ONE = `/subscriptions/${guidOf(1)}`;
const NIL = "00000000-0000-0000-0000-000000000000";
const MAX = "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF";

let server: TestApp;
let user: TestUser;
let before: unknown;

beforeAll(async () => {
  server = await openTestApp({ max_body: "20000", max_items: "100" });
  user = await server.user();
  await user.add("https://a.example/", guidOf(1));
  before = await user.changes();
});
afterEach(async () => {
  expect(await user.changes()).toEqual(before as unknown[]);
});
afterAll(() => server.close());

const invalid = (detail: string) => ({
  status: 405,
  body: { code: "405", message: "Input could not be validated", details: [detail] },
});

describe("a body is refused that is", () => {
  const broken = (text: string) => [text, "body: Malformed JSON in request body"] as const;
  const post: [string, string, string][] = [
    ["empty", ...broken("")],
    ["broken", ...broken('{"subscriptions": [')],
    ["followed by something", ...broken('{"subscriptions": []} x')],
    ["nested too deeply", ...broken("[".repeat(9_000))],
    ["null", "null", "body: expected object, received null"],
    ["an array", "[]", "body: expected object, received array"],
    ["text", '"subscriptions"', "body: expected object, received string"],
    ["without subscriptions", "{}", "subscriptions: required"],
    ["null instead of an array", '{"subscriptions":null}', "subscriptions: expected array, received null"],
    ["an object instead of an array", '{"subscriptions":{}}', "subscriptions: expected array, received object"],
    [
      "without subscriptions but with a prototype that has them",
      '{"__proto__":{"subscriptions":[]}}',
      "subscriptions: required",
    ],
    ["with an item that is null", '{"subscriptions":[null]}', "subscriptions.0: expected object, received null"],
    ["with an item that is text", '{"subscriptions":["a"]}', "subscriptions.0: expected object, received string"],
    ["with an item without a feed URL", '{"subscriptions":[{}]}', "subscriptions.0.feed_url: required"],
    [
      "with one valid item and one whose feed URL is null",
      '{"subscriptions":[{"feed_url":"https://b.example/"},{"feed_url":null}]}',
      "subscriptions.1.feed_url: expected string, received null",
    ],
    [
      "with an item whose feed URL is a number",
      '{"subscriptions":[{"feed_url":1}]}',
      "subscriptions.0.feed_url: expected string, received number",
    ],
  ];
  for (const [name, body, detail] of post) {
    test(`${name} (POST)`, async () => {
      expect(await user.request("POST", "/subscriptions", body)).toMatchObject(invalid(detail));
    });
  }

  const patch: [string, string, string][] = [
    ["broken", ...broken('{"is_subscribed": fals')],
    ["null", "null", "body: expected object, received null"],
    ["an array", "[]", "body: expected object, received array"],
    ["wrong in is_subscribed", '{"is_subscribed":"false"}', "is_subscribed: expected boolean, received string"],
    ["null in is_subscribed", '{"is_subscribed":null}', "is_subscribed: expected boolean, received null"],
    ["0 in is_subscribed", '{"is_subscribed":0}', "is_subscribed: expected boolean, received number"],
    ["another text than a UUID in new_guid", '{"new_guid":"x"}', "new_guid: Not a UUID"],
    ["null in new_guid", '{"new_guid":null}', "new_guid: expected string, received null"],
    ["the nil UUID in new_guid", `{"new_guid":"${NIL}"}`, "new_guid: The nil and the max UUID identify no podcast"],
    ["the max UUID in new_guid", `{"new_guid":"${MAX}"}`, "new_guid: The nil and the max UUID identify no podcast"],
    ["a number in new_feed_url", '{"new_feed_url":1}', "new_feed_url: expected string, received number"],
    ["null in new_feed_url", '{"new_feed_url":null}', "new_feed_url: expected string, received null"],
    ["empty in new_feed_url", '{"new_feed_url":""}', "new_feed_url: No protocol present"],
    [
      "another scheme in new_feed_url",
      '{"new_feed_url":"file:///etc/passwd"}',
      "new_feed_url: Only http and https are supported",
    ],
  ];
  for (const [name, body, detail] of patch) {
    test(`${name} (PATCH)`, async () => {
      expect(await user.request("PATCH", ONE, body)).toMatchObject(invalid(detail));
    });
  }

  test("wrong in several places: details has all, up to twenty", async () => {
    const both = await user.request("PATCH", ONE, { is_subscribed: 1, new_guid: 2 });
    expect(both.body.details).toHaveLength(2);
    const many = await user.request("POST", "/subscriptions", { subscriptions: Array(100).fill(1) });
    expect(many.body.details).toHaveLength(20);
  });
});

describe("type, encoding and size of a body:", () => {
  const WRITES: [string, string, string][] = [
    ["POST", "/subscriptions", '{"subscriptions":[]}'],
    ["PATCH", ONE, "{}"],
  ];
  const send = (method: string, path: string, body: string | Uint8Array | ReadableStream, type: string | null) =>
    server.send(method, path, {
      body,
      headers: { Authorization: `Bearer ${user.token}`, ...(type === null ? {} : { "Content-Type": type }) },
    });

  test("only application/json in UTF-8 is accepted", async () => {
    const refused = ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "application/ld+json", ""];
    for (const [method, path, body] of WRITES) {
      for (const type of [...refused, "application/json, text/plain"]) {
        expect(await send(method, path, body, type)).toMatchObject(invalid("Content-Type: must be application/json"));
      }
      const latin = await send(method, path, body, "application/json; charset=latin1");
      expect(latin).toMatchObject(invalid("Content-Type: its charset must be utf-8"));
      const bytes = new TextEncoder().encode(body);
      expect(await send(method, path, bytes, null)).toMatchObject(invalid("Content-Type: must be application/json"));
      for (const type of ["application/json", "Application/JSON;charset=UTF-8", 'application/json ; charset="utf-8"']) {
        expect(await send(method, path, body, type)).toMatchObject({ status: 200 });
      }
    }
  });

  test("application/json is accepted with any parameter but another encoding", async () => {
    const parameters = [";", "; charset=utf8", "; odata=verbose; charset=UTF-8", '; profile="a;b"'];
    for (const [method, path, body] of WRITES) {
      for (const one of parameters) {
        expect(await send(method, path, body, `application/json${one}`)).toMatchObject({ status: 200 });
      }
      for (const one of ["; odata=verbose; charset=utf-16", "; a=b, text/plain"]) {
        expect(await send(method, path, body, `application/json${one}`)).toMatchObject({ status: 405 });
      }
    }
  });

  test("bytes that are not UTF-8 are refused", async () => {
    for (const [method, path] of WRITES) {
      const body = Buffer.from('{"subscriptions":[{"feed_url":"https://b.example/\xe9"}]}', "latin1");
      expect(await send(method, path, body, "application/json")).toMatchObject(invalid("body: must be UTF-8"));
    }
  });

  test("a compressed body is refused by its encoding, and a wrong name of an encoding is ignored", async () => {
    const headers = { Authorization: `Bearer ${user.token}`, "Content-Type": "application/json" };
    for (const [method, path, body] of WRITES) {
      for (const encoding of ["gzip", "x-GZIP", "br", "zstd, deflate"]) {
        const sent = { body: Bun.gzipSync(body), headers: { ...headers, "Content-Encoding": encoding } };
        const reason = `Content-Encoding: ${encoding} can't be read`;
        expect(await server.send(method, path, sent)).toMatchObject(invalid(reason));
      }
      for (const encoding of ["identity", "UTF-8"]) {
        const sent = { body, headers: { ...headers, "Content-Encoding": encoding } };
        expect(await server.send(method, path, sent)).toMatchObject({ status: 200 });
      }
    }
  });

  test("more bytes than the limit are 413 with the limit, with or without Content-Length", async () => {
    for (const [method, path] of WRITES) {
      const body = JSON.stringify({ subscriptions: [{ feed_url: `https://b.example/${"x".repeat(20_000)}` }] });
      const whole = await send(method, path, body, "application/json");
      const details = ["The request body is larger than 19.5 KB"];
      const body413 = { code: "413", message: "Request body is too large", details };
      expect(whole).toMatchObject({ status: 413, body: body413 });
      const chunks = new Blob([body]).stream();
      expect(await send(method, path, chunks, "application/json")).toMatchObject({ status: 413, body: body413 });
    }
  });

  test("more items than the limit are 413 with the limit, and none of them is added", async () => {
    const subscriptions = Array.from({ length: 101 }, (_, n) => ({ feed_url: `https://many.example/${n}` }));
    const details = ["More than 100 podcasts in one request"];
    expect(await user.request("POST", "/subscriptions", { subscriptions })).toMatchObject({
      status: 413,
      body: { details },
    });
  });
});

describe("only the item fails that has", () => {
  const long = (bytes: number) => `https://b.example/${"x".repeat(bytes - "https://b.example/".length)}`;
  const addresses: [string, string][] = [
    ["podnews.net/rss", "No protocol present"],
    ["//podnews.net/rss", "No protocol present"],
    ["localhost:8080/feed", "No protocol present"],
    ["podnews.net:443/rss", "No protocol present"],
    ["", "No protocol present"],
    [" https://b.example/", "No protocol present"],
    ["ftp://b.example/", "Only http and https are supported"],
    ["feed://b.example/", "Only http and https are supported"],
    ["javascript:alert(1)", "Only http and https are supported"],
    ["httpx://b.example/", "Only http and https are supported"],
    ["https://", "Not a valid URL"],
    ["https:b.example/", "Not a valid URL"],
    ["https:///b.example/", "Not a valid URL"],
    ["https://@/", "Not a valid URL"],
    ["https://[::1/", "Not a valid URL"],
    ["https://b.example:99999/", "Not a valid URL"],
    ["https://b example/", "Not a valid URL"],
    ["https://b.example\\@c.example/", "Not a valid URL"],
    ["https://b.example/\0", "Not a valid URL"],
    ["https://b.example/feed\u00a0", "Not a valid URL"],
    ["https://b.example/\n", "Not a valid URL"],
    ["https://b.example/\ufffd", "Not a valid URL"],
    ["https://b.example/feed ", "Not a valid URL"],
    ["https://b.example/\ud800", "Not a valid URL"],
    ["\ud800", "Not a valid URL"],
    [long(8193), "Too long"],
    [long(8192).replace("x", "é"), "Too long"],
  ];
  for (const [feed_url, message] of addresses) {
    test(`the feed URL ${JSON.stringify(feed_url.slice(0, 30))}: ${message}`, async () => {
      expect(await user.request("POST", "/subscriptions", { subscriptions: [{ feed_url }] })).toMatchObject({
        status: 200,
        body: { success: [], failure: [{ feed_url, message }] },
      });
      const patched = await user.request("PATCH", ONE, { new_feed_url: feed_url, is_subscribed: false });
      expect(patched).toMatchObject(invalid(`new_feed_url: ${message}`));
    });
  }

  const guids = ["", "x", guidOf(2).slice(1), `${guidOf(2)}0`, `{${guidOf(2)}}`, `urn:uuid:${guidOf(2)}`, NIL, MAX];
  for (const guid of [...guids, "\0", null, 1, true, [], { a: 1 }]) {
    test(`the guid ${JSON.stringify(guid)}`, async () => {
      const feed_url = "https://b.example/";
      const { body } = await user.request("POST", "/subscriptions", { subscriptions: [{ feed_url, guid }] });
      expect(body).toEqual({ success: [], failure: [{ feed_url, message: "guid is not a valid UUID" }] });
    });
  }
});

describe("a path is refused", () => {
  const guids = ["x", "%00", "%zz", "%ff", guidOf(1).slice(1), `${guidOf(1)}0`, NIL, MAX, "null", "%F0%9F%8E%A7"];
  for (const guid of guids) {
    test(`whose guid is ${guid}, with every method`, async () => {
      for (const [method, body] of [["GET"], ["PATCH", {}], ["DELETE"], ["HEAD"]] as const) {
        const { status, body: answer } = await user.request(method, `/subscriptions/${guid}`, body);
        expect(status).toBe(405);
        const reason = guid === NIL || guid === MAX ? "The nil and the max UUID identify no podcast" : "Not a UUID";
        if (method !== "HEAD") expect(answer.details).toEqual([`guid: ${reason}`]);
      }
    });
  }

  const unknown = ["/v1", "/v1/", "/v2/subscriptions", "/v1/v1/subscriptions", "/SUBSCRIPTIONS"];
  for (const path of [...unknown, "/subscriptions/a/b", "/deletions"]) {
    test(`that is unknown: ${path}`, async () => {
      for (const method of ["GET", "POST", "OPTIONS", "PURGE"]) {
        const { status, body } = await user.request(method, path);
        expect(status).toBe(404);
        expect(body).toEqual({ code: "404", message: "Resource not found" });
      }
    });
  }

  const methods: [string, string, string[]][] = [
    ["/subscriptions", "GET, HEAD, POST", ["PUT", "PATCH", "DELETE", "PURGE"]],
    [ONE, "GET, HEAD, PATCH, DELETE", ["POST", "PUT", "PURGE"]],
    ["/deletions/1", "GET, HEAD", ["POST", "PUT", "PATCH", "DELETE", "PURGE"]],
    ["/openapi.json", "GET, HEAD", ["POST", "PUT", "PATCH", "DELETE"]],
  ];
  test("with Allow also when the input is wrong", async () => {
    const wrong: [string, string, unknown, string][] = [
      ["GET", "/subscriptions?page=x", undefined, "GET, HEAD, POST"],
      ["POST", "/v1/subscriptions", "{", "GET, HEAD, POST"],
      ["PATCH", `/v1${ONE}`, { is_subscribed: 1 }, "GET, HEAD, PATCH, DELETE"],
      ["PATCH", ONE, { new_feed_url: "x" }, "GET, HEAD, PATCH, DELETE"],
      ["DELETE", "/subscriptions/x", undefined, "GET, HEAD, PATCH, DELETE"],
      ["GET", "/deletions/x", undefined, "GET, HEAD"],
    ];
    for (const [method, path, body, allow] of wrong) {
      const { status, headers } = await user.request(method, path, body);
      expect([path, status, headers.get("allow")]).toEqual([path, 405, allow]);
    }
    const { status, headers } = await user.request("GET", "/nowhere", undefined, { Host: "a, b" });
    expect([status, headers.get("allow")]).toEqual([405, "GET, HEAD, POST, PATCH, DELETE"]);
  });

  for (const [path, allow, others] of methods) {
    test(`with a method that it doesn't have: ${path} allows ${allow}`, async () => {
      for (const prefix of ["", "/v1"]) {
        for (const method of others) {
          const { status, body, headers } = await user.request(method, prefix + path);
          expect(status).toBe(405);
          expect(body).toEqual({ code: "405", message: "Method not allowed" });
          expect(headers.get("allow")).toBe(allow);
        }
      }
    });
  }
});

describe("a query is refused", () => {
  const NO_PAGE = "Not a positive integer";
  const NO_DATE = "Not an RFC 3339 date-time (example: 2026-11-21T18:12:09.602Z)";
  const numbers = ["0", "-1", "1.5", "1.", "0.0", "1e2", "x", "%20", "+1", "01", "0x10", "NaN", "null", "٣"];
  for (const name of ["page", "per_page"]) {
    for (const value of numbers) {
      test(`${name}=${value}`, async () => {
        expect(await user.request("GET", `/subscriptions?${name}=${value}`)).toMatchObject(
          invalid(`${name}: ${NO_PAGE}`),
        );
      });
    }
  }

  const dates = [
    ["x", "2026", "2026-01-01", "1767225600", "1767225600000", "null", "%00"],
    ["2026-01-01T00", "2026-01-01T00:00.5Z", "2026-01-01%2000:00:00Z", "20260101T000000Z", "26-01-01T00:00:00Z"],
    ["2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-13-01T00:00:00Z"],
    ["2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z", "2026-01-01T24:00:00Z"],
    ["2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00,5Z"],
    ["2026-01-01T00:00:00%2B24:00", "2026-01-01T00:00:00%2B0100", "2026-01-01T00:00:00%2B01", "2026-01-01T00:00:00GMT"],
    ["%202026-01-01T00:00:00Z", "2026-01-01T00:00:00Z%0A", "-2026-01-01T00:00:00Z", "%2B012026-01-01T00:00:00Z"],
  ].flat();
  for (const since of dates) {
    test(`since=${since}`, async () => {
      expect(await user.request("GET", `/subscriptions?since=${since}`)).toMatchObject(invalid(`since: ${NO_DATE}`));
    });
  }

  for (const cursor of ["x", "%00", "MTIz", Buffer.from(`-1/${guidOf(1)}`).toString("base64url")]) {
    test(`cursor=${cursor}`, async () => {
      const answer = await user.request("GET", `/subscriptions?cursor=${cursor}`);
      expect(answer).toMatchObject(invalid("cursor: Not a cursor of this server"));
    });
  }

  for (const query of ["page=1&page=2", "per_page=1&per_page=1", "since=&since=", "cursor=a&cursor=b"]) {
    test(`with a parameter twice: ${query}`, async () => {
      const answer = await user.request("GET", `/subscriptions?${query}`);
      expect(answer).toMatchObject(invalid(`${query.split("=")[0]}: Given more than once`));
    });
  }

  test("but not for an unknown parameter", async () => {
    expect((await user.request("GET", "/subscriptions?pages=0&x=%00")).status).toBe(200);
  });
});
