// Reading accounts on servers that answer as others do.
import { afterEach, describe, expect, test } from "bun:test";
import { UNTIMED } from "../../src/domain/moving-in.ts";
import { openRemote, readServer } from "../../src/moving/remote.ts";
import { readAccount, type ServerType } from "../../src/moving/server.ts";
import { rejectionOf, settle } from "../support/rejection.ts";

type Routes = Record<string, (request: Request) => Response | Promise<Response>>;

let server: ReturnType<typeof Bun.serve> | undefined;
const asked: string[] = [];
afterEach(async () => {
  await server?.stop(true);
  asked.length = 0;
});

const BASIC = `Basic ${btoa("ann:p w:ö".replace("ö", "\u00c3\u00b6"))}`;

/** Serves some paths below a base path; everything else is 404, everything without the password 401. */
function serve(routes: Routes, { base = "", basic = true } = {}) {
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { pathname, search } = new URL(request.url);
      asked.push(`${request.method} ${pathname}${search}`);
      const route = routes[pathname.slice(base.length)];
      if (!route) return new Response("<h1>Not found</h1>", { status: 404 });
      if (basic && request.headers.get("Authorization") !== BASIC) return new Response("{}", { status: 401 });
      return route(request);
    },
  });
  return readServer(`http://127.0.0.1:${server.port}${base}`);
}

const read = (url: URL, type?: ServerType, password = "p w:ö", user = "ann") =>
  readAccount({ server: url, user, password }, type);

const json = (value: unknown) => () => Response.json(value);
const LIST = ["https://a.example/rss", "https://b.example/rss"];
const DEVICES = [{ id: "phone", caption: "Phone", type: "mobile", subscriptions: 2 }];
const play = {
  podcast: LIST[0],
  episode: "https://a.example/1.mp3",
  action: "play",
  started: 1,
  position: 60,
  total: 600,
};
const ACTIONS = { actions: [{ ...play, timestamp: "2026-01-01T12:00:00" }], timestamp: 1767268800 };
const EXPECTED = [
  {
    feed_url: LIST[0],
    episode_url: play.episode,
    guid: null,
    kind: "play",
    device: null,
    started: 1,
    position: 60,
    total: 600,
    sent_at: Date.parse("2026-01-01T12:00:00Z"),
  },
];
const OPML = `<opml version="2.0"><body><outline text="Podcast A" xmlUrl="${LIST[0]}"/><outline text="Podcast B" xmlUrl="${LIST[1]}"/></body></opml>`;

const GPODDER_NET: Routes = {
  "/api/2/auth/ann/login.json": () => new Response("", { headers: { "Set-Cookie": "sessionid=x; Path=/" } }),
  "/api/2/devices/ann.json": json(DEVICES),
  "/subscriptions/ann.json": json(
    LIST.map((url, index) => ({ url, title: ["Podcast A", "Podcast B"][index], logo_url: null })),
  ),
  "/api/2/episodes/ann.json": json(ACTIONS),
};

/** oPodSync takes nothing but its cookie after the login, and lists podcasts as objects with `feed`. */
const withCookie = (route: Routes[string]) => (request: Request) =>
  request.headers.get("Cookie") === "sessionid=x; route=y" ? route(request) : new Response("{}", { status: 401 });
const COOKIES: [string, string][] = [
  ["Set-Cookie", "sessionid=x; path=/; HttpOnly"],
  ["Set-Cookie", "route=y"],
];
const OPODSYNC: Routes = {
  "/api/2/auth/ann/login.json": ({ method }) =>
    method === "POST" ? new Response("", { headers: COOKIES }) : new Response("", { status: 405 }),
  "/api/2/devices/ann.json": withCookie(json(DEVICES)),
  "/subscriptions/ann.json": withCookie(
    json(LIST.map((feed) => ({ feed, title: null, url: "https://a.example/site" }))),
  ),
  "/subscriptions/ann.opml": withCookie(() => new Response(OPML)),
  "/api/2/episodes/ann.json": withCookie(json(ACTIONS)),
};

/** A small server without lists of the user, such as gpodder2go. */
const DEVICES_ONLY: Routes = {
  "/api/2/auth/ann/login.json": () => new Response(""),
  "/api/2/devices/ann.json": json(DEVICES),
  "/api/2/subscriptions/ann/phone.json": json({ add: LIST, remove: [], timestamp: 1 }),
  "/api/2/episodes/ann.json": json(ACTIONS),
};

const UNKNOWN_TITLES: Routes = {
  ...GPODDER_NET,
  "/subscriptions/ann.json": json(LIST.map((url) => ({ url, title: url }))),
  "/subscriptions/ann.opml": () => new Response(OPML),
};

const BROKEN_LIST: Routes = { ...DEVICES_ONLY, "/subscriptions/ann.json": () => new Response("[]", { status: 500 }) };

const PLACE = "/index.php/apps/gpoddersync";
const nextcloud = (timestamp: string): Routes => ({
  [`${PLACE}/subscriptions`]: json({ add: LIST, remove: [], timestamp: 1767268800 }),
  [`${PLACE}/episode_action`]: json({
    actions: [
      { ...play, action: "PLAY", guid: null, timestamp },
      {
        podcast: LIST[1],
        episode: "https://b.example/1.mp3",
        guid: "g",
        action: "DOWNLOAD",
        timestamp,
        started: -1,
        position: -1,
        total: -1,
      },
      { podcast: LIST[1], action: "PLAY", timestamp, started: 0, position: 0, total: 0 },
    ],
    timestamp: 1767268800,
  }),
});

const toPage = () => new Response("", { status: 302, headers: { Location: "/apps/dashboard/" } });
const OLD_NEXTCLOUD: Routes = {
  ...nextcloud("2026-01-01T12:00:00"),
  "/api/2/auth/ann/login.json": toPage,
  "/api/2/devices/ann.json": toPage,
};

describe("each server's list and places are read", () => {
  test.each<[string, Routes, string, string[]]>([
    ["gpodder.net", GPODDER_NET, "", ["Podcast A", "Podcast B"]],
    ["gpodder.net with a URL for each title that it doesn't know", UNKNOWN_TITLES, "", ["Podcast A", "Podcast B"]],
    ["oPodSync", OPODSYNC, "", ["Podcast A", "Podcast B"]],
    ["oPodSync below a path", OPODSYNC, "/sync", ["Podcast A", "Podcast B"]],
    ["a server with lists of devices only", DEVICES_ONLY, "", []],
    ["a server that fails to give the list of all devices", BROKEN_LIST, "", []],
    ["Nextcloud", nextcloud("2026-01-01T12:00:00"), "", []],
    ["Nextcloud of a version that redirects what it doesn't know", OLD_NEXTCLOUD, "", []],
    ["Nextcloud with times in a zone, below a path", nextcloud("2026-01-01T13:00:00+01:00"), "/cloud", []],
  ])("%s, which is found by asking", async (_, routes, base, titles) => {
    const { feeds, actions } = await read(serve(routes, { base }));
    expect(feeds.map(({ feed_url }) => feed_url)).toEqual(LIST);
    expect(feeds.flatMap(({ title }) => title ?? [])).toEqual(titles);
    expect(actions.filter(({ kind }) => kind === "play")).toEqual(EXPECTED as never);
    const writing = asked.filter((one) => !one.startsWith("GET ") && !one.includes("/login.json"));
    expect(writing).toEqual([]);
  });

  test("what is no podcast, device, title or time is left out, and everything else comes", async () => {
    const { devices, feeds, actions } = await read(
      serve({
        ...GPODDER_NET,
        "/api/2/devices/ann.json": json([
          ...DEVICES,
          { id: "tv", caption: null, type: "television" },
          { type: "other" },
        ]),
        "/subscriptions/ann.json": json([...LIST.map((url) => ({ url, title: 5 })), { url: "" }]),
        "/subscriptions/ann.opml": () => new Response(OPML.slice(0, -5)),
        "/api/2/episodes/ann.json": json({ actions: [...ACTIONS.actions, null], timestamp: "now" }),
      }),
    );
    expect(devices).toEqual([
      { id: "phone", caption: "Phone", type: "mobile" },
      { id: "tv", caption: "", type: "other" },
    ]);
    expect(feeds).toEqual(LIST.map((feed_url) => ({ feed_url, title: null, guid: null })));
    expect(actions).toMatchObject(EXPECTED);
    const other = serve({
      // It has these routes for other methods.
      "/api/2/devices/ann.json": () => new Response("", { status: 405 }),
      [`${PLACE}/subscriptions`]: json({ add: [...LIST, null] }),
      [`${PLACE}/episode_action`]: json(ACTIONS),
    });
    expect((await read(other)).feeds.map(({ feed_url }) => feed_url)).toEqual(LIST);
  });

  test("the places of an account come, though it has no devices, and its server no other lists", async () => {
    const url = serve({ ...DEVICES_ONLY, "/api/2/devices/ann.json": json(null) });
    expect(await read(url)).toMatchObject({ feeds: [], actions: EXPECTED });
  });

  test("names of users and devices may have signs that mean something else in a URL", async () => {
    const url = serve(
      {
        "/api/2/devices/a%3Fb.json": json([{ id: "c#d" }]),
        "/api/2/subscriptions/a%3Fb/c%23d.json": json({ add: LIST }),
        "/api/2/episodes/a%3Fb.json": json(ACTIONS),
      },
      { basic: false },
    );
    const { feeds, actions } = await read(url, undefined, undefined, "a?b");
    expect(feeds.map(({ feed_url }) => feed_url)).toEqual(LIST);
    expect(actions).toMatchObject(EXPECTED);
  });

  test("of oPodSync, whose list has podcasts that were removed too, those stay away", async () => {
    const path = "/api/2/subscriptions/ann/phone.json";
    const changes = json({ add: [LIST[1]], remove: [LIST[0]], update_urls: [], timestamp: 1 });
    const { feeds, actions } = await read(serve({ ...OPODSYNC, [path]: withCookie(changes) }));
    expect(feeds).toEqual([{ feed_url: LIST[1] ?? "", title: "Podcast B", guid: null }]);
    expect(actions).toMatchObject(EXPECTED);
    await server?.stop(true);
    const url = serve({ ...OPODSYNC, [path]: () => new Response("", { status: 500 }) });
    expect(await rejectionOf(read(url))).toMatchObject({ code: "unavailable" });
  });

  test("a device whose name is no text keeps nothing from moving in", async () => {
    const url = serve({ ...DEVICES_ONLY, "/api/2/devices/ann.json": json([{ id: "\ud83d" }, ...DEVICES]) });
    expect(await read(url)).toMatchObject({ devices: [{ id: "phone" }], actions: EXPECTED });
  });

  test("a position of 0 on a server that is not podkeep leaves positions as they are", async () => {
    const actions = [...ACTIONS.actions, { ...play, position: 0 }];
    const url = serve({ ...GPODDER_NET, "/api/2/episodes/ann.json": json({ actions, timestamp: 1 }) });
    expect(await read(url)).toMatchObject({ actions: [{ position: 60 }, { position: 0 }], marksStart: false });
  });

  test("a place without a time is older than everything here", async () => {
    const url = serve({ ...GPODDER_NET, "/api/2/episodes/ann.json": json({ actions: [play], timestamp: 1 }) });
    expect((await read(url)).actions).toMatchObject([{ position: 60, sent_at: UNTIMED }]);
  });

  test("of an Open Podcast API server, the podcasts come that are subscribed at the end, by their last guids", async () => {
    const guid = (letter: string) => `${letter.repeat(8)}-0000-4000-8000-000000000000`;
    const feed = (letter: string, more = {}) => ({
      feed_url: `https://${letter}.example/rss`,
      guid: guid(letter),
      is_subscribed: true,
      ...more,
    });
    const pages = [
      [feed("a"), feed("b"), feed("c"), feed("d", { is_subscribed: false }), feed("e")],
      [
        feed("a", { is_subscribed: false }),
        feed("b", { deleted: "2026-01-01T00:00:00Z" }),
        feed("c", { new_guid: guid("F") }),
        feed("e", { new_guid: guid("f"), is_subscribed: false, guid: guid("E") }),
        feed("a", { guid: guid("9") }),
      ],
    ];
    const page = (request: Request) => {
      const at = Number(new URL(request.url).searchParams.get("page") ?? 0);
      return Response.json({ subscriptions: pages[at], next: at === 0 ? "/subscriptions?page=1" : null });
    };
    const { feeds } = await read(serve({ "/subscriptions": page }, { basic: false }));
    expect(feeds.map(({ feed_url, guid }) => [feed_url, guid])).toEqual([["https://a.example/rss", guid("9")]]);
  });

  test("a server that gives its actions in parts is read to the end, also if the parts overlap", async () => {
    const all = Array.from({ length: 25 }, (_, index) => ({
      ...play,
      episode: `https://a.example/${index}.mp3`,
      timestamp: "2026-01-01T12:00:00",
    }));
    const part = (request: Request) => {
      const since = Number(new URL(request.url).searchParams.get("since"));
      return Response.json({
        actions: all.slice(Math.max(0, since - 2), since + 10),
        timestamp: Math.min(since + 10, 25),
      });
    };
    const { actions } = await read(serve({ ...GPODDER_NET, "/api/2/episodes/ann.json": part }));
    expect(actions.map((action) => action.episode_url)).toEqual(all.map((action) => action.episode));
  });

  test.each([
    { seconds: [1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4], missed: 5 },
    { seconds: [2, 2, 2, 2, 3, 4], missed: null },
  ])(
    "what follows is read when gpodder.net gives a whole part of one second, such as of all marked as played: $seconds",
    async ({ seconds, missed }) => {
      const all = seconds.map((second, index) => ({
        ...play,
        episode: `https://a.example/${index}.mp3`,
        timestamp: `2026-01-01T12:00:0${second}`,
      }));
      const timeOf = ({ timestamp }: { timestamp: string }) => Date.parse(`${timestamp}Z`) / 1000;
      const part = (request: Request) => {
        const since = Number(new URL(request.url).searchParams.get("since"));
        const actions = all.filter((action) => timeOf(action) >= since).slice(0, 4);
        const last = actions.at(-1);
        return Response.json({ actions, timestamp: last ? timeOf(last) : 2e9 });
      };
      const { actions } = await read(serve({ ...GPODDER_NET, "/api/2/episodes/ann.json": part }));
      expect(actions.map((action) => action.episode_url)).toEqual(
        all.map(({ episode }) => episode).filter((_, index) => index !== missed),
      );
    },
  );

  test("a server that never ends to give what is no action is left, before it fills the memory", async () => {
    let count = 0;
    const url = serve({
      "/index.php/apps/gpoddersync/subscriptions": json({ add: [], remove: [], timestamp: 1 }),
      "/index.php/apps/gpoddersync/episode_action": () => {
        const actions = Array.from({ length: 400_000 }, () => 1_000_000 + count++);
        return Response.json({ actions, timestamp: count });
      },
    });
    expect(await settle(read(url, "nextcloud"))).toThrow("more than a million actions");
  });

  test("a server that never ends to give large actions is left, before they fill the memory", async () => {
    const filler = "x".repeat(60 * 1024 * 1024);
    let count = 0;
    const url = serve({
      "/index.php/apps/gpoddersync/subscriptions": json({ add: [], remove: [], timestamp: 1 }),
      "/index.php/apps/gpoddersync/episode_action": () =>
        new Response(`{"actions":[${++count}],"timestamp":${count},"more":"${filler}"}`),
    });
    expect(await settle(read(url, "nextcloud"))).toThrow("sends more than 256 MB");
  });

  test("a server whose list of podcasts never ends is left, before it fills the memory", async () => {
    let page = 0;
    const url = serve(
      {
        "/subscriptions": () => {
          page++;
          const subscriptions = Array.from({ length: 10_000 }, (_, n) => ({
            feed_url: `https://a.example/${page}/${n}`,
            guid: `00000000-0000-4000-8000-${String(page * 10_000 + n).padStart(12, "0")}`,
          }));
          return Response.json({ subscriptions, next: `/subscriptions?page=${page}` });
        },
      },
      { basic: false },
    );
    expect(await settle(read(url, "openpodcast"))).toThrow("more than 50000 podcasts");
  });

  test("a server whose pages lead back to one of them is refused", async () => {
    let requests = 0;
    const subscriptions = () => {
      requests++;
      return Response.json({ subscriptions: [], next: `/subscriptions?page=${requests % 2}` });
    };
    const url = serve({ "/subscriptions": subscriptions }, { basic: false });
    expect(await settle(read(url, "openpodcast"))).toThrow("links to /subscriptions?page=1 twice");
    expect(requests).toBe(3);
  });

  test("what a server gives in too many parts is refused, and not moved in without the rest", async () => {
    let part = 0;
    const guid = () => `00000000-0000-4000-8000-${String(part).padStart(12, "0")}`;
    const routes = {
      "/index.php/apps/gpoddersync/subscriptions": json({ add: [], remove: [], timestamp: 1 }),
      "/index.php/apps/gpoddersync/episode_action": () =>
        Response.json({ actions: [{ ...play, episode: `https://a.example/${++part}.mp3` }], timestamp: part }),
      "/subscriptions": () =>
        Response.json({
          subscriptions: [{ feed_url: `https://a.example/${++part}`, guid: guid() }],
          next: `/subscriptions?page=${part}`,
        }),
    };
    expect(await settle(read(serve(routes), "nextcloud"))).toThrow("gives its episode actions in more than 1000 parts");
    expect(await settle(read(serve(routes, { basic: false }), "openpodcast"))).toThrow(
      "gives its podcasts in more than 2000 pages",
    );
  });

  test("JSON of far more values than an account has is not parsed", async () => {
    const url = serve({
      "/index.php/apps/gpoddersync/subscriptions": () => new Response(`{"add":[${"[],".repeat(1_000_000)}[]]}`),
    });
    expect(await settle(read(url, "nextcloud"))).toThrow("the response is not what gPodder Sync has");
  });

  test("JSON of more names than a protocol has is not parsed: they could be made to take hours", async () => {
    const names = Array.from({ length: 2000 }, (_, n) => `"${n}":0`);
    const url = serve({
      "/index.php/apps/gpoddersync/subscriptions": () => new Response(`{"add":[],${names}}`),
      "/index.php/apps/gpoddersync/episode_action": json({ actions: [], timestamp: 1 }),
    });
    expect(await settle(read(url, "nextcloud"))).toThrow("the response is not what gPodder Sync has");
  });

  test.each([
    ["with a later time", 1],
    ["with the time that it was asked for", 0],
  ])("a server that never ends to give the same %s is left", async (_, later) => {
    const same = ({ url }: Request) => {
      const since = Number(new URL(url).searchParams.get("since"));
      return Response.json({ actions: ACTIONS.actions, timestamp: since + later });
    };
    const { actions } = await read(serve({ ...GPODDER_NET, "/api/2/episodes/ann.json": same }));
    expect(actions).toHaveLength(1);
  });
});

describe("what fails is named, and nothing is sent elsewhere", () => {
  const fails = (url: URL, type?: ServerType, password?: string) =>
    read(url, type, password).then(
      () => "no error",
      (error: Error) => error.message,
    );

  test.each<[string, Routes]>([
    ["gPodder's API", GPODDER_NET],
    ["Nextcloud's gPodder Sync", nextcloud("2026-01-01T12:00:00")],
    ["the Open Podcast API", { "/subscriptions": json({}) }],
  ])("a wrong password for %s, which is found by asking", async (_, routes) => {
    const url = serve(routes);
    for (const password of ["guess", "gue\u20ac"])
      expect(await fails(url, undefined, password)).toMatch(/refused the user ann or the password/);
  });

  test("no such API", async () => {
    expect(await fails(serve({ "/": () => new Response("hello") }))).toMatch(/has neither gPodder's API, nor/);
  });

  test("a redirect to another host: it does not get the password", async () => {
    let got = 0;
    const other = Bun.serve({
      port: 0,
      fetch: () => {
        got++;
        return Response.json([]);
      },
    });
    const away = () => Response.redirect(`http://127.0.0.1:${other.port}/api`, 302);
    const routes = { ...GPODDER_NET, "/api/2/devices/ann.json": away };
    expect(await fails(serve(routes))).toMatch(
      /^127\.0\.0\.1:\d+ redirects to http:\/\/127\.0\.0\.1:\d+\/api: give the URL/,
    );
    expect(got).toBe(0);
    await other.stop(true);
  });

  test("a redirect to another path, with its whole URL", async () => {
    const away = () => new Response("", { status: 302, headers: { Location: "/login" } });
    const url = serve({ ...GPODDER_NET, "/api/2/devices/ann.json": away });
    expect(await fails(url)).toContain(`redirects to ${url.origin}/login: give the URL`);
  });

  test("an error in place of the devices, whose podcasts would be missing", async () => {
    const routes = { ...DEVICES_ONLY, "/api/2/devices/ann.json": () => new Response("", { status: 500 }) };
    expect(await fails(serve(routes))).toMatch(/did not give devices: HTTP status 500/);
  });

  test.each<[string, () => Response, RegExp]>([
    [
      "an error of the server",
      () => new Response("oops", { status: 500 }),
      /did not give episode actions: HTTP status 500/,
    ],
    ["a refusal", () => new Response("", { status: 403 }), /refused the user ann or the password \(HTTP status 403\)/],
    ["a page in place of JSON", () => new Response("<html>"), /did not give episode actions: the response is not/],
    ["JSON of another shape", () => Response.json([1, 2]), /did not give episode actions: the response is not/],
    ["a response without end", () => new Response(endless()), /^A response of .* is larger than 64 MB/],
  ])("%s", async (_, answer, message) => {
    expect(await fails(serve({ ...GPODDER_NET, "/api/2/episodes/ann.json": answer }), "gpodder")).toMatch(message);
  });

  test.each<[string, () => Response, RegExp]>([
    ["that is not given", () => new Response("busy", { status: 429 }), /did not give subscriptions: HTTP status 429/],
    ["of another shape", () => Response.json([{ url: 5 }]), /did not give subscriptions: the response is not/],
  ])("a list %s, of an account without devices", async (_, answer, message) => {
    const routes = { ...GPODDER_NET, "/api/2/devices/ann.json": json([]), "/subscriptions/ann.json": answer };
    expect(await fails(serve(routes))).toMatch(message);
  });

  function endless(): ReadableStream {
    const chunk = new Uint8Array(1024 * 1024);
    return new ReadableStream({ pull: (controller) => controller.enqueue(chunk) });
  }

  test("a link to the next page that leads elsewhere stays on the server", async () => {
    const page = (request: Request) => {
      if (request.headers.get("Authorization") !== "Bearer token") return new Response("{}", { status: 401 });
      return Response.json({
        subscriptions: [{ feed_url: LIST[0], guid: crypto.randomUUID(), is_subscribed: true }],
        ...(!request.url.includes("page=2") && { next: "http://127.0.0.1:1/evil?page=2" }),
      });
    };
    const url = serve({ "/subscriptions": page }, { basic: false });
    expect((await read(url, "openpodcast", "token")).feeds).toHaveLength(2);
    expect(asked).toEqual(["GET /subscriptions?per_page=500", "GET /subscriptions?page=2"]);
  });
});

describe("a server that asks to wait", () => {
  /** Gives these responses, then that of the route. */
  const after = (busy: Response[], route: () => Response) => () => busy.shift() ?? route();
  const wait = (status: number, seconds: string) =>
    new Response("busy", { status, headers: { "Retry-After": seconds } });
  const episodes = "/api/2/episodes/ann.json";

  test("is asked again then, so that one with a limit is read to the end", async () => {
    const answer = after([wait(429, "0"), wait(503, new Date().toUTCString())], json(ACTIONS));
    let free = 0;
    const limited = () => {
      if (free === 0) free = performance.now() + 500;
      return performance.now() < free ? wait(429, "1") : answer();
    };
    const moving = await read(serve({ ...GPODDER_NET, [episodes]: limited }), "gpodder");
    expect(moving.actions).toMatchObject(EXPECTED);
  });

  test("for longer than a minute is not, and the error says when to try again", async () => {
    const answer = after([wait(503, "3550")], json(ACTIONS));
    const reading = read(serve({ ...GPODDER_NET, [episodes]: answer }), "gpodder");
    expect(await settle(reading)).toThrow(
      /did not give episode actions: HTTP status 503\. Nothing is lost: try again in 60 minutes$/,
    );
  });

  test("again and again is given up", async () => {
    const reading = read(serve({ ...GPODDER_NET, [episodes]: () => wait(429, "0") }), "gpodder");
    expect(await settle(reading)).toThrow(/HTTP status 429\. Nothing is lost: try again later$/);
    expect(asked.filter((one) => one.includes("episodes"))).toHaveLength(5);
  });

  test("without saying how long is not asked again", async () => {
    const busy = () => new Response("busy", { status: 503 });
    expect(await settle(read(serve({ ...GPODDER_NET, [episodes]: busy }), "gpodder"))).toThrow("HTTP status 503");
    expect(asked.filter((one) => one.includes("episodes"))).toHaveLength(1);
  });
});

test("a server's URL is read as people type it, and never with a password", () => {
  expect(readServer("gpodder.net").href).toBe("https://gpodder.net/");
  expect(readServer("Http://gpodder.net").href).toBe("http://gpodder.net/");
  expect(readServer("https://cloud.example/nextcloud//").href).toBe("https://cloud.example/nextcloud/");
  expect(readServer("https://cloud.example//nextcloud?a#b").href).toBe("https://cloud.example//nextcloud/");
  for (const account of ["ann:pw", "ann", ":pw"])
    expect(() => readServer(`https://${account}@gpodder.net`)).toThrow("Leave user and password out");
  expect(() => readServer("file:///etc/passwd")).toThrow("--from needs the URL");
  // The password would go to a host that is named as the protocol.
  for (const mistyped of ["https//a.example", "https:/a.example", "http:\\\\a.example", "https://https://a.example"])
    expect(() => readServer(mistyped)).toThrow("--from needs the URL");
  expect(openRemote({ server: readServer("a.example:8042"), user: "ann", password: "x" }).host).toBe("a.example:8042");
});
