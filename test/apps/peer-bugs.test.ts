// Bugs that were reported against other servers of these protocols: podkeep has none of them. More of them are checks
// (src/conformance/apps).
import { expect, test } from "bun:test";
import { setPassword } from "../../src/services/accounts/passwords.ts";
import { actAsUser } from "../../src/services/actor.ts";
import { ORIGIN } from "../support/app.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { FEED, openAs, openForEach, PASSWORD, played, server } from "./phone.ts";

openForEach();

const NEXTCLOUD = "/index.php/apps/gpoddersync";
const PLAYS = "/api/2/episodes/ann.json";
type Action = ReturnType<typeof played>;

/** An app with a token, or with other credentials. */
function app(
  agent: string | null = "AntennaPod/3.11.4",
  headers: Record<string, string> = basicAuth("ann", server.token),
) {
  const send = openAs({ ...headers, ...(agent !== null && { "User-Agent": agent }) });
  const json = async (method: string, path: string, body?: unknown) => {
    const answer = await send(method, path, {}, body === undefined ? undefined : JSON.stringify(body));
    expect([path, answer.status]).toEqual([path, 200]);
    return answer.body;
  };
  return {
    send,
    get: (path: string) => json("GET", path),
    post: (path: string, body: unknown) => json("POST", path, body),
    change: (device: string, body: unknown) => json("POST", `/api/2/subscriptions/ann/${device}.json`, body),
    actions: async (since = 0, path = PLAYS): Promise<Action[]> =>
      (await json("GET", `${path}?since=${since}`)).actions,
    feeds: async (device = "phone"): Promise<string[]> =>
      (await json("GET", `/api/2/subscriptions/ann/${device}.json?since=0`)).add,
  };
}
const other = () => app("Elsewhere/1");
const on = (n: number, more: object = {}) => ({
  ...played(n),
  episode: `${FEED}/${n}.mp3`,
  guid: `guid-${n}`,
  ...more,
});
const statusWith = async (path: string, headers: Record<string, string>) => (await openAs(headers)("GET", path)).status;

const BUGS: readonly (readonly [report: string, meaning: string, run: () => Promise<unknown>])[] = [
  [
    "nextcloud-gpodder#109",
    "actions with guid and URL crossed stop no sync",
    async () => {
      await app().post(PLAYS, [on(1), on(2)]);
      await app().post(PLAYS, [on(2, { guid: "guid-1" }), on(1, { guid: "guid-2" })]);
      expect((await other().actions()).length).toBeGreaterThanOrEqual(2);
    },
  ],
  [
    "nextcloud-gpodder#144",
    "one bad action must not refuse the others",
    async () => {
      const bad = [
        null,
        1,
        "x",
        [],
        {},
        on(5, { action: "flattr" }),
        on(6, { episode: 7 }),
        on(7, { podcast: "nowhere" }),
      ];
      await app().post(`${NEXTCLOUD}/episode_action/create`, [...bad, on(1)]);
      expect((await other().actions()).map(({ position }) => position)).toEqual([1]);
    },
  ],
  [
    "nextcloud-gpodder#175",
    "an app that uploads every second while it plays, several times at once, is no error",
    async () => {
      await Promise.all(Array.from({ length: 20 }, () => app().post(PLAYS, [on(1)])));
      expect(await other().actions()).toHaveLength(1);
    },
  ],
  [
    "nextcloud-gpodder#81",
    "URLs and guids may be long",
    async () => {
      const sent = on(1, { episode: `${FEED}/${"x".repeat(7000)}.mp3`, guid: "g".repeat(2000) });
      await app().post(PLAYS, [sent]);
      expect(await other().actions()).toMatchObject([{ episode: sent.episode, guid: sent.guid }]);
    },
  ],
  [
    "nextcloud-gpodder#92",
    "finished episodes reach a new phone",
    async () => {
      await app().post(PLAYS, [on(1, { position: 600 })]);
      server.clock.advance(100 * 86_400_000);
      expect(await other().actions()).toMatchObject([{ position: 600, total: 600 }]);
    },
  ],
  [
    "nextcloud-gpodder#196",
    "two spellings of one feed are one podcast",
    async () => {
      await app().change("phone", { add: [FEED, FEED.replace("https", "HTTPS"), `${FEED}#top`], remove: [] });
      expect(await other().feeds("other")).toHaveLength(1);
    },
  ],
  [
    "nextcloud-gpodder#126",
    "gPodder and apps of Nextcloud share one list",
    async () => {
      await app("gPodder/3.11").change("desk", { add: [FEED], remove: [] });
      expect((await app().get(`${NEXTCLOUD}/subscriptions?since=0`)).add).toEqual([FEED]);
    },
  ],
  [
    "nextcloud-gpodder, commit d552205",
    "times have a zone for apps that need one (hullcaster)",
    async () => {
      await other().post(PLAYS, [on(1)]);
      expect(await app(null).actions()).toMatchObject([{ timestamp: "2026-01-01T00:00:00+00:00" }]);
      expect(await app("Kasts/25.04.3").actions()).toMatchObject([{ timestamp: "2026-01-01T00:00:00" }]);
    },
  ],
  [
    "AntennaPod PR#5243",
    "what is no play stops neither GNOME Podcasts, which needs numbers, nor gPodder, which -1 stops",
    async () => {
      await other().post(PLAYS, [on(1), on(2, { action: "download" })]);
      expect(await app().actions(0, `${NEXTCLOUD}/episode_action`)).toMatchObject([
        { started: 0, position: 1, total: 600 },
      ]);
      const [, download] = await app("gPodder/3.11").actions();
      expect(download).not.toHaveProperty("position");
    },
  ],
  [
    "opodsync#86",
    "a feed that is added without a title is listed",
    async () => {
      await app().change("phone", { add: [FEED], remove: [] });
      expect(await other().get("/subscriptions/ann.json")).toMatchObject([{ feed: FEED, title: FEED }]);
    },
  ],
  [
    "opodsync#90",
    "the plain password does on the routes of Nextcloud (YourPods)",
    async () => {
      await app("YourPods/1", basicAuth("ann", PASSWORD)).get(`${NEXTCLOUD}/subscriptions?since=0`);
    },
  ],
  [
    "PinePods#476",
    "thousands of actions in one upload are taken, and given again",
    async () => {
      await app(null).post(
        PLAYS,
        Array.from({ length: 5000 }, (_, n) => on(n + 1)),
      );
      expect(await other().actions()).toHaveLength(5000);
    },
  ],
  [
    "gpodder2go#25",
    "the list as OPML needs no cookie",
    async () => {
      await app("curl/8").get("/subscriptions/ann.opml");
    },
  ],
  [
    "AntennaPod#8229",
    "passwords may have any character, in Basic of both alphabets, in UTF-8 and Latin-1",
    async () => {
      const [user] = await server.sql("select id from users");
      for (const password of ["pa$$:wörd?~x", "a~~~?>>x~ÿÿÿ", "corréct horsé"]) {
        await setPassword(server.app, actAsUser(Number(user?.["id"])), password);
        for (const encoding of ["utf8", "latin1"] as const) {
          const bytes = Buffer.from(`ann:${password}`, encoding);
          for (const alphabet of ["base64", "base64url"] as const) {
            const Authorization = `Basic ${bytes.toString(alphabet)}`;
            expect([password, await statusWith("/subscriptions/ann.opml", { Authorization })]).toEqual([password, 200]);
          }
        }
      }
    },
  ],
  [
    "PodFetch#453",
    "what is added elsewhere, also on the web page, reaches AntennaPod",
    async () => {
      const { timestamp } = await app().get("/api/2/subscriptions/ann/phone.json?since=0");
      const headers = { Authorization: `Bearer ${server.token}`, "Content-Type": "application/json" };
      await openAs(headers)("POST", "/subscriptions", {}, JSON.stringify({ subscriptions: [{ feed_url: FEED }] }));
      expect((await app().get(`/api/2/subscriptions/ann/phone.json?since=${timestamp}`)).add).toEqual([FEED]);
    },
  ],
  [
    "PinePods#526",
    "a device with .json twice in its path is that device, and no other one is made",
    async () => {
      for (const name of ["pinepods.json.json", "pinepods.json"])
        await app(null).post(`/api/2/devices/ann/${name}`, {});
      const devices: { id: string }[] = await app(null).get("/api/2/devices/ann.json");
      expect(devices.map(({ id }) => id)).toEqual(["pinepods"]);
    },
  ],
  [
    "PinePods#781",
    "an episode's URL in place of the podcast's makes no podcast, and no second position",
    async () => {
      await app().change("phone", { add: [FEED], remove: [] });
      await app().post(PLAYS, [on(1)]);
      server.clock.advance(10_000);
      const episode = `${FEED}/1.mp3`;
      await app(null).post(PLAYS, [
        on(1, { guid: undefined, podcast: episode, position: 9, timestamp: "2026-01-01T00:00:09" }),
      ]);
      expect(await other().actions()).toMatchObject([{ podcast: FEED, position: 9 }]);
      expect(await other().feeds("other")).toEqual([FEED]);
    },
  ],
  [
    "PinePods#502",
    "a new app with an empty list empties nothing",
    async () => {
      await app().change("phone", { add: [FEED], remove: [] });
      const put = await app("gPodder/3.11").send("PUT", "/subscriptions/ann/new.json", {}, "[]");
      expect(put.status).toBe(200);
      expect(await other().feeds("other")).toEqual([FEED]);
    },
  ],
  [
    "mygpo#651",
    "another user sees no private feed",
    async () => {
      await app().change("phone", { add: ["https://patreon.example/rss?auth=secret"], remove: [] });
      const bob = await server.user("bob");
      expect(await statusWith("/subscriptions/ann.opml", basicAuth("bob", bob.token))).toBe(400);
      expect(await statusWith("/subscriptions/ann.opml", {})).toBe(401);
    },
  ],
  [
    "gPodder#1663",
    "an empty device id, or one with a space, is refused with what it may have, and makes no device",
    async () => {
      const spaced = await app().send("POST", "/api/2/devices/ann/my%20phone.json", {}, "{}");
      expect([spaced.status, spaced.body.message]).toEqual([
        400,
        "Not a device id: use ASCII letters, digits and _ . -",
      ]);
      expect((await app().send("POST", "/api/2/devices/ann/.json", {}, "{}")).status).toBeGreaterThanOrEqual(400);
      expect(await app().get("/api/2/devices/ann.json")).toEqual([]);
    },
  ],
  [
    "gPodder#1234",
    "a user name may be an e-mail address",
    async () => {
      const { token } = await server.user("ann+pods@example.org");
      const send = openAs({ ...basicAuth("ann+pods@example.org", token), "User-Agent": "gPodder/3.11" });
      for (const name of ["ann+pods@example.org", "ann%2Bpods%40example.org"]) {
        expect((await send("GET", `/api/2/subscriptions/${name}/desk.json?since=0`)).status).toBe(200);
      }
    },
  ],
  [
    "gPodder#257",
    "a mark as played without a position reaches gPodder, and no app that it would harm",
    async () => {
      await app("gPodder/3.11").post(PLAYS, [on(1, { started: undefined, position: undefined, total: undefined })]);
      expect(await app("mygpoclient/1.9").actions()).toMatchObject([{ action: "play", episode: `${FEED}/1.mp3` }]);
      expect(await app().actions()).toEqual([]);
    },
  ],
  [
    "AntennaPod#2746",
    "a full sync that calls every episode played rewinds no other phone",
    async () => {
      server.clock.advance(3_600_000);
      await other().post(PLAYS, [on(1, { position: 120, timestamp: "2026-01-01T00:30:00" })]);
      await app().actions(0);
      const finished = { started: 600, position: 600, timestamp: "2026-01-01T01:00:00", device: undefined };
      await app().post(PLAYS, [on(1, finished)]);
      expect((await app("Kasts/25.04.3").actions()).map(({ position }) => position)).toEqual([120]);
    },
  ],
  [
    "AntennaPod#5908",
    "Force full synchronization keeps what was removed elsewhere removed",
    async () => {
      await app().feeds();
      await app().change("phone", { add: [FEED], remove: [] });
      server.clock.advance(60_000);
      await app().feeds();
      await other().feeds("other");
      await other().change("other", { add: [], remove: [FEED] });
      await app().feeds();
      await app().change("phone", { add: [FEED], remove: [] });
      expect(await other().feeds("other")).toEqual([]);
    },
  ],
  [
    "Podcini.X#1",
    "links of the login flow have the host and the scheme that the app used, also behind a proxy",
    async () => {
      const start = async (path: string, headers: Record<string, string>, address: string) =>
        (await server.send("POST", path, { headers, address })).body;
      const home = await start("http://192.168.1.5:8042/index.php/login/v2", {}, "192.168.1.9");
      expect(home.login).toStartWith("http://192.168.1.5:8042/");
      const proxied = { "X-Forwarded-Proto": "https" };
      const { poll } = await start("/index.php/login/v2", proxied, "127.0.0.1");
      expect(poll.endpoint).toStartWith(ORIGIN.replace("http:", "https:"));
    },
  ],
  [
    "Podcini#49",
    "a feed without a URL in an upload does not refuse the others",
    async () => {
      await app("Podcini/5").change("phone", { add: [null, FEED, 5, {}], remove: [null] });
      expect(await other().feeds("other")).toEqual([FEED]);
    },
  ],
  [
    "jan#8792",
    "the Origin of Tauri is let in, and a browser with it is not",
    async () => {
      const Origin = "tauri://localhost";
      await app("tauri-plugin-http/2.5.7", { ...basicAuth("ann", server.token), Origin }).feeds();
      const browser = { ...basicAuth("ann", server.token), Origin, "User-Agent": "Mozilla/5.0" };
      expect(await statusWith("/subscriptions/ann.opml", browser)).toBe(403);
    },
  ],
];

test.each(BUGS.map(([report, meaning, run]) => [`${report}: ${meaning}`, run] as const))("%s", async (_, run) => {
  await run();
});
