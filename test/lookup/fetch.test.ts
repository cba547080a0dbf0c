// Fetching feeds: what is read, what is refused, and where no connection is ever made.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { networkList } from "../../src/domain/networks.ts";
import { type FetchOptions, fetchFeedHead, redirectTarget } from "../../src/lookup/fetch.ts";
import { WAIT } from "../support/patience.ts";

const HAS_PYTHON = Bun.which("python3") !== null;
if (!HAS_PYTHON) console.warn("SKIPPED: an address that does not respond needs python3");

const RSS = "<rss><channel><title>Wörld</title><item/></channel></rss>";

let requests: { headers: Headers; url?: string }[];
let respond: (request: Request) => Response | Promise<Response>;
let server: ReturnType<typeof Bun.serve>;

beforeEach(() => {
  requests = [];
  respond = () => new Response(RSS);
  server = Bun.serve({
    port: 0,
    hostname: "0.0.0.0",
    idleTimeout: 0,
    fetch(request) {
      requests.push({ headers: new Headers([...request.headers]), url: request.url });
      return respond(request);
    },
  });
});
afterEach(() => server.stop(true));

const options = (more: Partial<FetchOptions> = {}): FetchOptions => ({
  etag: null,
  last_modified: null,
  allowed: networkList(["127.0.0.1"]),
  interfaces: () => [{ address: "127.0.0.1", cidr: "127.0.0.1/8" }],
  resolve: async () => ["127.0.0.1"],
  timeout: WAIT,
  max_bytes: 100_000,
  ...more,
});
const fetchFeed = (path = "/", more: Partial<FetchOptions> = {}) =>
  fetchFeedHead(`http://feeds.test:${server.port}${path}`, options(more));

describe("a feed is read", () => {
  test("with its title and the validators of the response", async () => {
    respond = () => new Response(RSS, { headers: { ETag: '"a"', "Last-Modified": "Sat, 21 Nov 2026 08:00:00 GMT" } });
    expect(await fetchFeed()).toEqual({
      kind: "read",
      head: { title: "Wörld", guid: null, new_feed_url: null },
      etag: '"a"',
      last_modified: "Sat, 21 Nov 2026 08:00:00 GMT",
      moved_to: null,
      cut_off: false,
    });
    expect(requests[0]?.headers.get("host")).toBe(`feeds.test:${server.port}`);
    expect(requests[0]?.headers.get("user-agent")).toStartWith("podkeep/");
    expect(requests[0]?.headers.get("cookie")).toBeNull();
  });

  test("at its whole URL, whose query may be the listener's key", async () => {
    await fetchFeed("/rss?auth=a%2Fb&x");
    expect(requests[0]?.url).toEndWith("/rss?auth=a%2Fb&x");
  });

  test("only if it changed", async () => {
    respond = (request) =>
      request.headers.get("if-none-match") === '"a"' && request.headers.get("if-modified-since") === "then"
        ? new Response(null, { status: 304 })
        : new Response(RSS);
    expect(await fetchFeed("/", { etag: '"a"', last_modified: "then" })).toEqual({ kind: "unchanged", moved_to: null });
  });

  test.each([
    ["an ETag", { etag: '"a"', last_modified: null }],
    ["a time", { etag: null, last_modified: "then" }],
  ])("only if it changed, from a server that sends just %s", async (_, validators) => {
    respond = ({ headers }) =>
      headers.has("if-none-match") || headers.has("if-modified-since")
        ? new Response(null, { status: 304 })
        : new Response(RSS);
    expect(await fetchFeed("/", validators)).toEqual({ kind: "unchanged", moved_to: null });
  });

  test("in pieces that arrive one after the other, wherever they end", async () => {
    const bytes = Buffer.from(RSS.replace("<title>", `<!--${"a".repeat(1000)}--><title>`));
    const middle = bytes.indexOf("ö") + 1;
    const pieces = [
      bytes.subarray(0, 10),
      bytes.subarray(10, 500),
      bytes.subarray(500, middle),
      bytes.subarray(middle),
    ];
    respond = () =>
      new Response(
        new ReadableStream({
          async pull(controller) {
            const piece = pieces.shift();
            if (piece) controller.enqueue(piece);
            else controller.close();
            await Bun.sleep(20);
          },
        }),
      );
    expect(await fetchFeed()).toMatchObject({ kind: "read", head: { title: "Wörld" }, cut_off: false });
  });

  test("compressed, but never as deflate, by which servers mean two different things", async () => {
    for (const coding of ["gzip", "x-gzip", "GZIP"]) {
      respond = () => new Response(gzipSync(RSS), { headers: { "Content-Encoding": coding } });
      expect(await fetchFeed()).toMatchObject({ head: { title: "Wörld" } });
    }
    expect(requests[0]?.headers.get("accept-encoding")).toBe("gzip, br");
  });

  // OkHttp reads what it does not know as if it were not compressed.
  test("with a Content-Encoding that is none", async () => {
    for (const coding of ["identity", "none", "UTF-8"]) {
      respond = () => new Response(RSS, { headers: { "Content-Encoding": coding } });
      expect(await fetchFeed()).toMatchObject({ kind: "read" });
    }
  });

  for (const [name, bytes, type] of [
    ["Latin-1 by the HTTP header", Buffer.from(RSS, "latin1"), "text/xml; charset=ISO-8859-1"],
    [
      "Latin-1 by the XML declaration",
      Buffer.from(`<?xml version="1.0" encoding="iso-8859-1"?>${RSS}`, "latin1"),
      "text/xml",
    ],
    ["UTF-16 by its byte order mark", Buffer.from(`\ufeff${RSS}`, "utf16le"), "text/xml"],
    [
      "UTF-8 by the XML declaration, under the HTTP header of another",
      Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>${RSS}`),
      "text/xml; charset=ISO-8859-1",
    ],
    ["UTF-8 that declares UTF-16", Buffer.from(`<?xml version="1.0" encoding="utf-16"?>${RSS}`), ""],
  ] as const) {
    test(`in ${name}`, async () => {
      respond = () => new Response(bytes, { headers: { "Content-Type": type } });
      expect(await fetchFeed()).toMatchObject({ head: { title: "Wörld" } });
    });
  }

  test("in an encoding that its first bytes don't have", async () => {
    const bytes = Buffer.from(`<?xml version="1.0" encoding="iso-8859-1"?>${RSS}`, "latin1");
    const pieces = [bytes.subarray(0, 1), bytes.subarray(1, 25), bytes.subarray(25)];
    respond = () =>
      new Response(
        new ReadableStream({
          async pull(controller) {
            await Bun.sleep(20);
            const piece = pieces.shift();
            if (piece) controller.enqueue(piece);
            else controller.close();
          },
        }),
      );
    expect(await fetchFeed()).toMatchObject({ head: { title: "Wörld" } });
  });
});

test("an address that refuses the connection is followed by the next one", async () => {
  const allowed = networkList(["127.0.0.0/8", "::1"]);
  for (const first of [["::1"], ["::1", "::1", "::1", "::1"]]) {
    const resolve = async () => [...first, "127.0.0.1"];
    expect(await fetchFeed("/", { allowed, resolve })).toMatchObject({ kind: "read" });
  }
  server.stop(true);
  const failed = { kind: "failed", reason: "the connection was refused", origin: `http://feeds.test:${server.port}` };
  expect(await fetchFeed("/", { allowed, resolve: async () => ["::1", "127.0.0.1"] })).toMatchObject(failed);
});

// Takes no more connections once two wait, so that the next one gets no response.
const BLACK_HOLE = `
import socket, sys, time
hole = socket.socket()
hole.bind(("127.0.0.2", int(sys.argv[1])))
hole.listen(0)
waiting = [socket.socket() for _ in range(4)]
for one in waiting:
    one.setblocking(False)
    one.connect_ex(hole.getsockname())
print("ready", flush=True)
time.sleep(600)
`;

test.skipIf(!HAS_PYTHON)(
  "an address that does not respond is followed by the next one, as with a broken IPv6",
  async () => {
    await server.stop(true);
    server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(RSS) });
    const hole = Bun.spawn(["python3", "-c", BLACK_HOLE, String(server.port)], { stdout: "pipe" });
    try {
      await hole.stdout.getReader().read();
      const allowed = networkList(["127.0.0.0/8"]);
      const resolve = async () => ["127.0.0.2", "127.0.0.1"];
      expect(await fetchFeed("/", { allowed, resolve })).toMatchObject({ kind: "read" });
      const alone = { kind: "failed", reason: "no complete response in time" };
      expect(await fetchFeed("/", { allowed, resolve: async () => ["127.0.0.2"], timeout: 500 })).toMatchObject(alone);
    } finally {
      hole.kill();
    }
  },
);

test("nothing is left behind that fails after the timeout", async () => {
  const url = `http://127.0.0.1:${server.port}/`;
  let timeout = 100;
  // As long as this machine needs, and not much longer.
  do timeout *= 2;
  while ((await fetchFeedHead(url, options({ timeout }))).kind !== "read");
  await Bun.sleep(timeout + 100);
});

test("a lookup can be ended early", async () => {
  const ended = new AbortController();
  respond = () => {
    ended.abort();
    return new Promise(() => {});
  };
  expect(await fetchFeed("/", { signal: ended.signal })).toMatchObject({ kind: "failed" });
});

test("a lookup that was ended before it began does not wait for the host's name", async () => {
  const resolve = () => new Promise<string[]>(() => {});
  expect(await fetchFeed("/", { signal: AbortSignal.abort(), resolve })).toMatchObject({ kind: "failed" });
});

test("validators that can't be sent back are not kept", async () => {
  respond = () => new Response(RSS, { headers: { ETag: `"${"x".repeat(600)}"`, "Last-Modified": "w\u00f6rld" } });
  expect(await fetchFeed()).toMatchObject({ kind: "read", etag: null, last_modified: null });
});

describe("redirects", () => {
  const redirect = (status: number, to: string) => () =>
    requests.length === 1 ? new Response(null, { status, headers: { Location: to } }) : new Response(RSS);

  for (const [status, moved] of [
    [301, true],
    [308, true],
    [302, false],
    [303, false],
    [307, false],
  ] as const) {
    test(`${status} is followed${moved ? " and is a move" : ", and is not a move"}`, async () => {
      respond = redirect(status, "/new");
      const url = `http://feeds.test:${server.port}/new`;
      expect(await fetchFeed()).toMatchObject({ kind: "read", moved_to: moved ? url : null });
    });
  }

  test("after a temporary one, a permanent one is not a move", async () => {
    respond = () =>
      requests.length === 3
        ? new Response(RSS)
        : new Response(null, {
            status: requests.length === 1 ? 302 : 301,
            headers: { Location: `/${requests.length}` },
          });
    expect(await fetchFeed()).toMatchObject({ kind: "read", moved_to: null });
  });

  test.each([
    ["as UTF-8", "utf8", "/p%C3%B8d"],
    ["in another encoding, whose letters then are as browsers read them", "latin1", "/p%C3%B8d"],
  ] as const)("to letters %s are followed, and are a move there", async (_, encoding, path) => {
    const asked: string[] = [];
    using other = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data(socket, bytes) {
          asked.push(bytes.toString("latin1").split(" ")[1] ?? "");
          const head = asked.length === 1 ? "301 Moved\r\nLocation: /p\u00f8d\r\nContent-Length: 0" : "200 OK";
          socket.end(Buffer.from(`HTTP/1.1 ${head}\r\n\r\n${asked.length === 1 ? "" : RSS}`, encoding));
        },
      },
    });
    const url = `http://feeds.test:${other.port}`;
    expect(await fetchFeedHead(`${url}/`, options())).toMatchObject({ kind: "read", moved_to: url + path });
    expect(asked).toEqual(["/", path]);
  });

  test("without an end are refused", async () => {
    respond = () => new Response(null, { status: 301, headers: { Location: "/again" } });
    expect(await fetchFeed()).toMatchObject({ kind: "failed", reason: "too many redirects" });
    expect(requests.length).toBeLessThan(10);
  });

  for (const to of ["ftp://feeds.test/", "file:///etc/passwd", "javascript:alert(1)", "http://"]) {
    test(`to ${to} are refused`, async () => {
      respond = redirect(301, to);
      expect(await fetchFeed()).toMatchObject({ kind: "failed", reason: "a redirect to an invalid URL" });
    });
  }
});

describe("credentials in a feed URL", () => {
  const authorizations = () => requests.map(({ headers }) => headers.get("authorization"));
  const fetchWithPassword = (resolve?: FetchOptions["resolve"]) =>
    fetchFeedHead(`http://me:s%20ecret@feeds.test:${server.port}/`, options(resolve && { resolve }));

  for (const [what, target] of [
    ["a path", () => "/new"],
    ["a whole URL", () => `http://feeds.test:${server.port}/new`],
  ] as const) {
    test(`go to their own host after a redirect to ${what}`, async () => {
      respond = () =>
        requests.length === 1
          ? new Response(null, { status: 302, headers: { Location: target() } })
          : new Response(RSS);
      await fetchWithPassword();
      const basic = `Basic ${btoa("me:s ecret")}`;
      expect(authorizations()).toEqual([basic, basic]);
    });
  }

  test("may be a password alone, or a user alone", async () => {
    for (const userinfo of [":secret", "me"]) {
      await fetchFeedHead(`http://${userinfo}@feeds.test:${server.port}/`, options());
    }
    expect(authorizations()).toEqual([`Basic ${btoa(":secret")}`, `Basic ${btoa("me:")}`]);
  });

  test("may have a percent sign that encodes nothing", async () => {
    await fetchFeedHead(`http://me:100%@feeds.test:${server.port}/`, options());
    expect(authorizations()).toEqual([`Basic ${btoa("me:100%")}`]);
  });

  test("give way to those of a redirect, which may be a password alone", async () => {
    const target = `http://:new@feeds.test:${server.port}/`;
    respond = () =>
      requests.length === 1 ? new Response(null, { status: 302, headers: { Location: target } }) : new Response(RSS);
    await fetchWithPassword();
    expect(authorizations()[1]).toBe(`Basic ${btoa(":new")}`);
  });

  test("do not go to another host that it redirects to", async () => {
    respond = () =>
      requests.length === 1
        ? new Response(null, { status: 301, headers: { Location: `http://other.test:${server.port}/` } })
        : new Response(RSS);
    await fetchWithPassword();
    expect(authorizations()[1]).toBeNull();
  });

  const own = "http://me:secret@feeds.test/rss";
  test.each([
    ["go to their own host by https", own, "https://feeds.test/rss", "https://me:secret@feeds.test/rss"],
    ["do not go to another host by https", own, "https://other.test/rss", "https://other.test/rss"],
    ["do not go to another port by https", own, "https://feeds.test:8443/rss", "https://feeds.test:8443/rss"],
    ["do not go from another port", own.replace(".test", ".test:8080"), "https://feeds.test/", "https://feeds.test/"],
    ["do not go from https to http", own.replace("http", "https"), "http://feeds.test/rss", "http://feeds.test/rss"],
  ])("%s", (_, from, location, target) => {
    expect(redirectTarget(location, new URL(from)).href).toBe(target);
  });

  test("do not go to another port of the host", async () => {
    const other = Bun.serve({
      port: 0,
      fetch(request) {
        requests.push({ headers: new Headers([...request.headers]) });
        return new Response(RSS);
      },
    });
    respond = () => new Response(null, { status: 301, headers: { Location: `http://feeds.test:${other.port}/` } });
    await fetchWithPassword();
    expect(authorizations()).toEqual([expect.stringContaining("Basic"), null]);
    await other.stop(true);
  });
});

describe("fails with a reason:", () => {
  const cases: [string, () => Response, object][] = [
    ["404", () => new Response(null, { status: 404 }), { reason: "HTTP status 404", retry_after: null, origin: null }],
    [
      "429 with Retry-After in seconds",
      () => new Response(null, { status: 429, headers: { "Retry-After": "120" } }),
      { reason: "HTTP status 429", retry_after: 120_000, origin: expect.stringContaining("feeds.test") },
    ],
    [
      "304 without having been asked for changes",
      () => new Response(null, { status: 304 }),
      { reason: "HTTP status 304", origin: null },
    ],
    [
      "a damaged compression",
      () => new Response("no gzip", { headers: { "Content-Encoding": "gzip" } }),
      { reason: "the compressed response is damaged", origin: null },
    ],
    [
      "a damaged compression by Brotli",
      () => new Response("no brotli", { headers: { "Content-Encoding": "br" } }),
      { reason: "the compressed response is damaged", origin: null },
    ],
    ["an HTML page", () => new Response("<!doctype html><html></html>"), { reason: "it is an HTML page" }],
    [
      "an unknown encoding",
      () => new Response(RSS, { headers: { "Content-Type": "text/xml; charset=klingon" } }),
      { reason: "the text encoding klingon is unknown" },
    ],
    [
      "an unknown compression",
      () => new Response(RSS, { headers: { "Content-Encoding": "zipzap" } }),
      { reason: "the encoding zipzap is unknown" },
    ],
    [
      "a zip bomb",
      () => new Response(gzipSync(Buffer.alloc(50_000_000, " ")), { headers: { "Content-Encoding": "gzip" } }),
      { reason: "the feed is too large" },
    ],
    [
      "a body without an end",
      () =>
        new Response(
          new ReadableStream({
            async pull(controller) {
              await Bun.sleep(1);
              controller.enqueue(new Uint8Array(10_000).fill(32));
            },
          }),
        ),
      { reason: "the feed is too large" },
    ],
  ];
  for (const [name, response, expected] of cases) {
    test(name, async () => {
      respond = response;
      expect(await fetchFeed()).toMatchObject({ kind: "failed", ...expected });
    });
  }

  test("a response that never comes, after the timeout", async () => {
    respond = () => new Promise(() => {});
    expect(await fetchFeed("/", { timeout: 50 })).toMatchObject({ reason: "no complete response in time" });
  });

  test.each<[string, string, string, string | Uint8Array]>([
    ["another protocol", "101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x", "HTTP status 101", ""],
    [
      "informational responses without end",
      `${"103 Early Hints\r\n\r\nHTTP/1.1 ".repeat(100)}404 Not Found\r\nContent-Length: 1000`,
      "too many informational",
      "",
    ],
    ["a refusal without end", "404 Not Found\r\nContent-Length: 1000", "HTTP status 404", ""],
    [
      "a redirect without end",
      "302 Found\r\nLocation: ftp://a/\r\nContent-Length: 1000",
      "a redirect to an invalid URL",
      "",
    ],
    ["an unknown compression without end", "200 OK\r\nContent-Encoding: zipzap", "the encoding zipzap is unknown", "?"],
    ["spaces without end", "200 OK\r\n", "the feed is too large", " ".repeat(200_000)],
    [
      "compressed spaces without end",
      "200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1000000",
      "the feed is too large",
      gzipSync(Buffer.alloc(400_000, " ")),
    ],
  ])("%s in place of a feed, and its connection is closed", async (_, head, reason, body) => {
    const closed = Promise.withResolvers<void>();
    using other = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: {
        data: (socket) =>
          void socket.write(Buffer.concat([Buffer.from(`HTTP/1.1 ${head}\r\n\r\n`), Buffer.from(body)])),
        close: () => closed.resolve(),
      },
    });
    const result = await fetchFeedHead(`http://feeds.test:${other.port}/`, options());
    expect(result).toMatchObject({ kind: "failed", reason: expect.stringContaining(reason) });
    await closed.promise;
  });

  test("a compressed response that breaks off", async () => {
    const head = Buffer.from("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n");
    using other = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: { data: (socket) => void socket.end(Buffer.concat([head, gzipSync(RSS).subarray(0, 20)])) },
    });
    const result = await fetchFeedHead(`http://feeds.test:${other.port}/`, options());
    expect(result).toMatchObject({ kind: "failed", reason: "the connection was closed before the response" });
  });

  test("informational responses without end, but not a few of them", async () => {
    const hint = "HTTP/1.1 103 Early Hints\r\n\r\n";
    const fetchBehind = async (count: number) => {
      const text = `${hint.repeat(count)}HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(RSS)}\r\n\r\n${RSS}`;
      using other = Bun.listen({
        hostname: "127.0.0.1",
        port: 0,
        socket: { data: (socket) => void socket.write(text) },
      });
      return await fetchFeedHead(`http://feeds.test:${other.port}/`, options());
    };
    expect(await fetchBehind(5)).toMatchObject({ kind: "read" });
    expect(await fetchBehind(100)).toMatchObject({ kind: "failed", reason: "too many informational responses" });
  });

  test("a body that stops in the middle, after the timeout", async () => {
    respond = () =>
      new Response(new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from("<rss>")) }));
    expect(await fetchFeed("/", { timeout: 100 })).toMatchObject({ reason: "no complete response in time" });
  });

  test("a host that does not exist", async () => {
    const resolve = () => Promise.reject(new Error("ENOTFOUND"));
    expect(await fetchFeed("/", { resolve })).toMatchObject({ reason: "the host name is unknown" });
  });

  test("a host whose name is never resolved, after the timeout", async () => {
    const resolve = () => new Promise<string[]>(() => {});
    expect(await fetchFeed("/", { resolve, timeout: 50 })).toMatchObject({ reason: "no complete response in time" });
  });
});

describe("what a host that a feed redirects to does", () => {
  /** The first response redirects to another host, `wait` milliseconds late; that one answers with `then`. */
  const redirected = async (wait: number, then: () => Response | Promise<Response>, timeout = WAIT) => {
    requests = [];
    respond = async () => {
      if (requests.length > 1) return then();
      await Bun.sleep(wait);
      return new Response(null, { status: 302, headers: { Location: `http://victim.test:${server.port}/` } });
    };
    return fetchFeed("/", { timeout });
  };
  const silence = () => new Promise<Response>(() => {});

  test("is not blamed on it, nor on the feed's own host", async () => {
    const busy = await redirected(0, () => new Response(null, { status: 503, headers: { "Retry-After": "60" } }));
    expect(busy).toMatchObject({ reason: "HTTP status 503", retry_after: 60_000, origin: null });
    const silent = await redirected(0, silence, 3000);
    expect(silent).toMatchObject({ reason: "no complete response in time", origin: null });
    const further = async () => {
      if (requests.length > 2) return silence();
      await Bun.sleep(2000);
      return new Response(null, { status: 302, headers: { Location: `http://third.test:${server.port}/` } });
    };
    expect(await redirected(0, further, 3000)).toMatchObject({ reason: "no complete response in time", origin: null });
  });

  test("is blamed on the feed's own host if that used up the time", async () => {
    const late = await redirected(900, silence, 1000);
    expect(late).toMatchObject({
      reason: "no complete response in time",
      origin: `http://feeds.test:${server.port}`,
    });
  });
});

test("a proxy of the environment gets no request: it would connect to addresses that nobody checked", async () => {
  let asked = 0;
  using proxy = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket) {
        asked++;
        socket.end();
      },
    },
  });
  const before = { ...process.env };
  for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NODE_USE_ENV_PROXY"]) {
    const value = name === "NODE_USE_ENV_PROXY" ? "1" : `http://127.0.0.1:${proxy.port}`;
    Object.assign(process.env, { [name]: value, [name.toLowerCase()]: value });
  }
  try {
    expect(await fetchFeed()).toMatchObject({ kind: "read", head: { title: "Wörld" } });
    const secure = await fetchFeedHead(`https://feeds.test:${server.port}/`, options());
    expect(secure).toMatchObject({ kind: "failed", reason: "no TLS on this port" });
    expect(asked).toBe(0);
    // What follows them would be noticed.
    await fetch(`http://feeds.test:${server.port}/`).catch(() => {});
    expect(asked).toBeGreaterThan(0);
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  }
});

describe("no connection is made to an address that is not public:", () => {
  const none = networkList([]);
  const refused = { kind: "failed", reason: "the address is not public" } as const;

  for (const host of [
    // Loopback, in every spelling that URL parsers read.
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.255.255.254",
    "0x7f.1",
    "0x7f000001",
    "0X7F.0.0.1",
    "0177.0.0.1",
    "017700000001",
    "2130706433",
    "127.0.0.1.",
    "①②⑦.0.0.1",
    "127。0。0。1",
    "%31%32%37.0.0.1",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]",
    // The same in IPv6 addresses that hold IPv4 ones.
    "[::127.0.0.1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2002:7f00:0001::1]",
    "[2001:0:7f00:1::]",
    // All interfaces, private, link-local and other special networks.
    "0.0.0.0",
    "0",
    "0x0",
    "[::]",
    "10.0.0.1",
    "10.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "192.168.257",
    "0xc0a80101",
    "3232235777",
    "100.64.0.1",
    "169.254.169.254",
    "0xa9fea9fe",
    "2852039166",
    "[::ffff:169.254.169.254]",
    "[64:ff9b::a9fe:a9fe]",
    "[fe80::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fec0::1]",
    "[ff02::1]",
    "224.0.0.1",
    "255.255.255.255",
    "198.18.0.1",
    "192.0.0.192",
  ]) {
    test(host, async () => {
      expect(await fetchFeedHead(`http://${host}:${server.port}/`, options({ allowed: none }))).toMatchObject(refused);
      expect(requests).toEqual([]);
    });

    test(`${host}, at a redirect`, async () => {
      const ascii = host.replace(/[^\x20-\x7e]/gu, encodeURIComponent);
      respond = () => new Response(null, { status: 301, headers: { Location: `http://${ascii}/` } });
      const resolve = async () => ["127.0.0.9"];
      const allowed = networkList(["127.0.0.9"]);
      expect(await fetchFeed("/", { allowed, resolve })).toMatchObject(refused);
      expect(requests).toHaveLength(1);
    });
  }

  test("a public name that points to one", async () => {
    expect(await fetchFeed("/", { allowed: none })).toMatchObject(refused);
    expect(requests).toEqual([]);
  });

  test("localhost, with and without a dot at its end", async () => {
    for (const host of ["localhost", "localhost."]) {
      expect(await fetchFeedHead(`http://${host}:${server.port}/`, options({ allowed: none }))).toMatchObject(refused);
    }
    expect(requests).toEqual([]);
  });

  test("at a redirect", async () => {
    respond = () => new Response(null, { status: 302, headers: { Location: `http://inside.test:${server.port}/` } });
    const resolve = async (host: string) => [host === "inside.test" ? "127.0.0.2" : "127.0.0.1"];
    expect(await fetchFeed("/", { resolve })).toMatchObject(refused);
    expect(requests).toHaveLength(1);
  });

  test("one of this machine, or of a network that it is in", async () => {
    const allowed = networkList([]);
    const interfaces = () => [{ address: "93.184.216.34", cidr: "93.184.216.34/24" }];
    for (const address of ["93.184.216.34", "93.184.216.77"]) {
      const resolve = async () => [address];
      expect(await fetchFeed("/", { allowed, interfaces, resolve })).toMatchObject(refused);
    }
  });

  test("one of several that a name has", async () => {
    const resolve = async () => ["10.0.0.1", "::1", "127.0.0.1", "192.168.0.1"];
    expect(await fetchFeed("/", { resolve })).toMatchObject({ kind: "read" });
  });

  test("a name that is resolved to another address when it is connected to", async () => {
    let resolved = 0;
    const resolve = async () => [++resolved === 1 ? "127.0.0.1" : "10.0.0.1"];
    expect(await fetchFeed("/", { resolve })).toMatchObject({ kind: "read" });
    expect(resolved).toBe(1);
  });
});
