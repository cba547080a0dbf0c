// The requests of apps, as their sources send them: data for one story of signing in, syncing both ways and signing out.

type Play = { started: number; position: number; total: number; timestamp: string };
type Sent = readonly [method: string, path: string, body?: unknown];

export interface AppRequests {
  name: string;
  /** The User-Agent; null for none. */
  agent: string | null;
  /** The User-Agent of its login flow, if that is another one. */
  flowAgent?: string;
  /** Further headers of every request. */
  headers?: Record<string, string>;
  protocol: "gpodder" | "nextcloud";
  /**
   * How it gets in: login.json and its cookie alone, Basic and the cookie, the cookie after a challenge, Nextcloud's login
   * flow, a token for the password, or Bearer.
   */
  signIn: "login" | "basic" | "challenge" | "flow" | "getapppassword" | "bearer";
  /** How it polls the login flow. */
  poll?: "form" | "query" | "json";
  /** The cookie that it looks for; the first one by default. */
  cookie?: string;
  /** The device in its paths, which DEVICE stands for. */
  device?: string;
  /** Once after signing in. */
  setUp?: readonly Sent[];
  /** Before every sync. */
  before?: readonly Sent[];
  /** Where it reads its list, and the feeds in the response, if not in `add` and `remove`. */
  list?: { path: string; feedsIn: (body: never) => string[] };
  /** True if it uploads nothing, and reads no actions. */
  readsOnly?: true;
  /** Where it sends actions. */
  actionsTo?: string;
  /** What it writes of a play. */
  play?: (play: Play) => object;
  /** Whether it can read an action. */
  canRead?: (action: Record<string, unknown>) => boolean;
  /** True if it is sent no removals, because it would remove another podcast. */
  removesOthers?: true;
  /** Its `since` is the time of the device's clock, not the timestamp that it was given. */
  ownClock?: true;
  signOut?: Sent & { 0: string };
  /** Whether signing out ends what it signed in with. */
  ends?: true;
}

const LOGOUT = ["POST", "/api/2/auth/ann/logout.json"] as const;
const SAVE_DEVICE = ["POST", "/api/2/devices/ann/DEVICE.json", { caption: "An app", type: "mobile" }] as const;
const PUT_DEVICE = ["PUT", SAVE_DEVICE[1], SAVE_DEVICE[2]] as const;
const GET_DEVICES = ["GET", "/api/2/devices/ann.json"] as const;
const LOGIN = ["POST", "/api/2/auth/ann/login.json"] as const;
const END_TOKEN = ["DELETE", "/ocs/v2.php/core/apppassword"] as const;
const PROBE = ["GET", "/index.php/apps/gpoddersync/subscriptions?since=2147483647"] as const;

const isNumber = (value: unknown) => typeof value === "number";
/** Sync.tsx, sync: it says that each play began where it ended. */
const startedAtEnd = (play: Play) => ({ ...play, started: play.position });

const hasAllNumbers = ({ started, position, total }: Record<string, unknown>) =>
  [started, position, total].every(isNumber);
const hasZone = ({ timestamp }: Record<string, unknown>) => /(Z|[+-]\d\d:\d\d)$/.test(String(timestamp));
/** How JavaScript reads a time: without a zone as local time. */
const isInstant = (time: string) => !Number.isNaN(Date.parse(time)) && /(Z|[+-]\d\d:\d\d)$/.test(time);
/** How Java reads an instant. */
const isUtc = (time: string) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(time);
const zoned = (play: Play) => ({ ...play, timestamp: `${play.timestamp}.123456+00:00` });

export const APPS: readonly AppRequests[] = [
  {
    name: "AntennaPod with the gPodder API",
    agent: "AntennaPod/3.11.4",
    protocol: "gpodder",
    signIn: "login",
    device: "pixel",
    setUp: [GET_DEVICES, SAVE_DEVICE],
    before: [LOGIN],
    canRead: (action) => action["action"] !== "play" || hasAllNumbers(action),
  },
  {
    name: "AntennaPod with Nextcloud",
    agent: "AntennaPod/3.11.4",
    protocol: "nextcloud",
    signIn: "flow",
    ownClock: true,
    canRead: hasAllNumbers,
  },
  {
    name: "AntennaPod Desktop with the gPodder API",
    agent: "AntennaPod-Desktop/0.1.0",
    protocol: "gpodder",
    signIn: "login",
    device: "antennapod-desktop",
    before: [LOGIN, GET_DEVICES],
    setUp: [["POST", SAVE_DEVICE[1], { caption: "AntennaPod Desktop", type: "desktop" }]],
    play: (play) => ({ ...play, started: 0 }),
    canRead: (action) => action["action"] !== "play" || hasAllNumbers(action),
  },
  {
    name: "AntennaPod Desktop with Nextcloud",
    agent: "AntennaPod-Desktop/0.1.0",
    protocol: "nextcloud",
    signIn: "basic",
    ownClock: true,
    play: (play) => ({ ...play, started: 0 }),
    canRead: hasAllNumbers,
  },
  {
    // It is AntennaPod's fork of PuzzleFoco, in C#, and sends no User-Agent.
    name: "AntennaPod for Windows with the gPodder API",
    agent: null,
    protocol: "gpodder",
    signIn: "basic",
    device: "windows",
    before: [LOGIN],
    canRead: (action) => action["action"] !== "play" || hasAllNumbers(action),
  },
  {
    name: "AntennaPod for Windows with Nextcloud",
    agent: null,
    headers: { Accept: "application/json" },
    protocol: "nextcloud",
    signIn: "basic",
    canRead: hasAllNumbers,
  },
  {
    // GpodderClient.kt, SyncRepository.kt. OkHttp names itself.
    name: "PodcastWear",
    agent: "okhttp/4.12.0",
    protocol: "gpodder",
    signIn: "basic",
    device: "wear",
    before: [SAVE_DEVICE],
    ownClock: true,
  },
  {
    name: "FocusPodcast",
    agent: "FocusPodcast_2.0.1",
    protocol: "gpodder",
    signIn: "login",
    device: "focus",
    setUp: [GET_DEVICES, SAVE_DEVICE],
    before: [LOGIN],
  },
  {
    name: "Podcini.X",
    agent: "Mozilla/5.0 (compatible; Podcini/11.1.10; Android)",
    protocol: "nextcloud",
    signIn: "flow",
    ownClock: true,
    removesOthers: true,
    // EpisodeAction.kt, readFromJsonObject.
    canRead: (action) => hasAllNumbers(action) && isNumber(action["playedDuration"]),
  },
  {
    name: "Kasts with the gPodder API",
    agent: "Kasts/25.04.3",
    protocol: "gpodder",
    signIn: "basic",
    device: "kasts-desk",
    setUp: [GET_DEVICES, SAVE_DEVICE, ["GET", "/api/2/sync-devices/ann.json"]],
    play: (play) => ({ ...play, started: play.position, device: "kasts-desk" }),
    // Qt::ISODate together with a format: a zone makes it 1970.
    canRead: (action) => !hasZone(action),
    signOut: LOGOUT,
  },
  {
    name: "Kasts with Nextcloud",
    agent: "Kasts/25.04.3",
    protocol: "nextcloud",
    signIn: "basic",
    play: (play) => ({ ...play, started: play.position, device: "kasts-desk" }),
    canRead: (action) => !hasZone(action) && hasAllNumbers(action),
  },
  {
    name: "gPodder",
    agent: "mygpoclient/1.9 (+http://gpodder.org/mygpoclient) gPodder/3.11.1",
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
    protocol: "gpodder",
    signIn: "challenge",
    device: "desk",
    setUp: [SAVE_DEVICE, ["GET", "/subscriptions/ann.opml"]],
    // -1 in an action stops its whole batch.
    canRead: ({ started, position, total }) => [started, position, total].every((one) => one !== -1),
  },
  {
    name: "mygpoclient 1.0",
    agent: "mygpoclient/1.0 (+http://thpinfo.com/2010/mygpoclient/)",
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
    protocol: "gpodder",
    signIn: "challenge",
    device: "lib",
    setUp: [PUT_DEVICE, GET_DEVICES, ["GET", "/subscriptions/ann/DEVICE.json"]],
  },
  {
    name: "PinePods",
    agent: null,
    protocol: "gpodder",
    signIn: "login",
    device: "podkeep",
    before: [LOGIN, GET_DEVICES],
    play: (play) => ({ ...zoned(play), started: 0 }),
    canRead: hasZone,
    ownClock: true,
  },
  {
    name: "Cardo with the gPodder API",
    agent: "tauri-plugin-http/2.5.7",
    headers: { Origin: "tauri://localhost" },
    protocol: "gpodder",
    signIn: "login",
    device: "cardo",
    setUp: [GET_DEVICES, SAVE_DEVICE],
    play: startedAtEnd,
    // Sync.tsx: `new Date(update.timestamp)`.
    canRead: ({ timestamp }) => isInstant(String(timestamp)),
    signOut: LOGOUT,
    ends: true,
  },
  {
    name: "Cardo with Nextcloud",
    agent: "tauri-plugin-http/2.5.7",
    headers: { Origin: "http://tauri.localhost" },
    protocol: "nextcloud",
    signIn: "flow",
    ownClock: true,
    play: startedAtEnd,
    // Nextcloud.ts: `new Date(update.timestamp + '+00:00')`. What is no time is stored, and never replaced.
    canRead: ({ timestamp }) => isInstant(`${timestamp}+00:00`),
  },
  {
    name: "GNOME Podcasts",
    agent: "GNOME Podcasts/25.2",
    headers: { "OCS-APIRequest": "true" },
    protocol: "nextcloud",
    signIn: "getapppassword",
    canRead: (action) => hasAllNumbers(action) && "guid" in action && hasZone(action),
    signOut: END_TOKEN,
    ends: true,
  },
  {
    name: "Podium with Nextcloud",
    agent: "podium/19 (Android 15)",
    protocol: "nextcloud",
    signIn: "flow",
    poll: "query",
  },
  {
    name: "Podium with the gPodder API",
    agent: "podium/19 (Android 15)",
    protocol: "gpodder",
    signIn: "login",
    device: "podium",
    setUp: [LOGIN, SAVE_DEVICE, ["PUT", "/subscriptions/ann/DEVICE.json", []]],
  },
  {
    name: "Kodi's plugin.audio.podcasts",
    agent: "Kodi/21.2 plugin.audio.podcasts/2.3.3",
    protocol: "gpodder",
    signIn: "login",
    cookie: "sessionid",
    readsOnly: true,
    list: {
      path: "/subscriptions/ann.opml",
      feedsIn: (text: string) => [...text.matchAll(/xmlUrl="([^"]+)"/g)].map(([, url]) => String(url)),
    },
  },
  {
    name: "Kodi Podcasts with the gPodder API",
    agent: "Kodi Podcasts/1.0 (+https://github.com/shiggsy365/KodiStremioBridge)",
    protocol: "gpodder",
    signIn: "basic",
    device: "kodi",
    setUp: [LOGIN, SAVE_DEVICE],
    play: (play) => ({ ...play, started: 0, device: "kodi" }),
  },
  {
    name: "Kodi Podcasts with Nextcloud",
    agent: "Kodi Podcasts/1.0 (+https://github.com/shiggsy365/KodiStremioBridge)",
    protocol: "nextcloud",
    signIn: "basic",
    play: (play) => ({ ...play, started: 0 }),
  },
  {
    name: "hullcaster",
    agent: null,
    protocol: "gpodder",
    signIn: "login",
    device: "terminal",
    setUp: [GET_DEVICES, SAVE_DEVICE],
    list: {
      path: "/subscriptions/ann.json",
      feedsIn: (list: { feed: string; url: string }[]) => list.map(({ feed }) => feed),
    },
    actionsTo: "/api/2/episodes/ann/DEVICE.json",
    play: zoned,
    canRead: hasZone,
  },
  {
    name: "Rhythmbox",
    agent: "Rhythmbox/3.5.0",
    protocol: "gpodder",
    signIn: "challenge",
    device: "rhythmbox-0123456789abcdef0123456789abcdef",
    setUp: [LOGIN, SAVE_DEVICE],
    before: [LOGIN],
    play: (play) => ({ ...play, timestamp: `${play.timestamp}.123456+00:00`, "device-id": "rhythmbox" }),
    canRead: ({ device }) => device !== undefined,
  },
  {
    name: "Omarchy-Podcast with the gPodder API",
    agent: "Omarchy-Podcast/0.1.0 (Linux)",
    protocol: "gpodder",
    signIn: "basic",
    device: "omarchy",
    setUp: [SAVE_DEVICE],
  },
  {
    name: "Omarchy-Podcast with Nextcloud",
    agent: "Omarchy-Podcast/0.1.0 (Linux)",
    headers: { "OCS-APIRequest": "true" },
    protocol: "nextcloud",
    signIn: "basic",
  },
  {
    name: "podliner",
    agent: "podliner/2.0.1",
    protocol: "gpodder",
    signIn: "basic",
    device: "podliner",
    setUp: [LOGIN, PUT_DEVICE],
  },
  {
    name: "podliner with Nextcloud",
    agent: "podliner/2.0.1",
    protocol: "nextcloud",
    signIn: "basic",
  },
  {
    name: "GlassCast",
    agent: "GlassCast",
    protocol: "gpodder",
    signIn: "basic",
    device: "glasscast-1a2b3c4d",
    setUp: [LOGIN, SAVE_DEVICE, GET_DEVICES, ["POST", "/api/2/sync-devices/ann.json", { synchronize: [["a", "b"]] }]],
  },
  {
    name: "PodFlow with the gPodder API",
    agent: "PodFlow/1.0 (+https://podflow.example)",
    protocol: "gpodder",
    signIn: "basic",
    device: "podflow-0a1b2c3d4e",
    setUp: [LOGIN, SAVE_DEVICE],
  },
  {
    name: "PodFlow with Nextcloud",
    agent: "PodFlow/1.0 (+https://podflow.example)",
    protocol: "nextcloud",
    signIn: "flow",
    setUp: [PROBE],
  },
  {
    name: "Stepcast with the gPodder API",
    agent: "Stepcast/1.4 (Android)",
    protocol: "gpodder",
    signIn: "basic",
    device: "stepcast-android",
    before: [SAVE_DEVICE],
    play: (play) => ({ ...play, started: 0, device: "stepcast-android" }),
    canRead: ({ timestamp }) => isUtc(`${timestamp}Z`),
  },
  {
    name: "Stepcast with Nextcloud",
    agent: "Stepcast/1.4 (Android)",
    protocol: "nextcloud",
    signIn: "basic",
    play: (play) => ({ ...play, started: 0, device: "stepcast-android" }),
    // GpodderSync.kt, parseTime: takes what is no time for 1970, which is older than all that it has.
    canRead: ({ timestamp }) => isUtc(`${timestamp}Z`),
  },
  {
    name: "BasicCaster",
    agent: "BasicCaster/0.9 (+https://bcaster.ru)",
    headers: { Accept: "application/json" },
    protocol: "gpodder",
    signIn: "basic",
    device: "bcaster-desktop-a1b2c3d4",
    setUp: [LOGIN, SAVE_DEVICE],
    play: ({ position, total }) => ({ started: 0, position, total, device: "bcaster-desktop-a1b2c3d4" }),
  },
  {
    name: "Podcast Merlin 2",
    agent: "PodcastMerlin/2.0 (Flutter)",
    protocol: "nextcloud",
    signIn: "basic",
    before: [PROBE],
    play: (play) => ({ ...play, started: 0, device: "podcast_merlin_flutter" }),
  },
  {
    name: "Podzzz",
    agent: "podzzz/3 (Android 15; Pixel; +https://github.com/zzzangantuk/podzzz)",
    protocol: "nextcloud",
    signIn: "flow",
    poll: "query",
  },
  {
    name: "litepop",
    agent: "litepop/1.0",
    protocol: "gpodder",
    signIn: "basic",
    device: "litepop-desk",
    setUp: [LOGIN, GET_DEVICES, SAVE_DEVICE],
    list: { path: "/subscriptions/ann/litepop-desk.json", feedsIn: (list: string[]) => list },
    play: (play) => ({ ...play, started: 0, timestamp: `${play.timestamp}Z`, device: "litepop-desk" }),
  },
  {
    name: "Floppy",
    agent: "Floppy/1.0 (https://github.com/dannyvfilms/Floppy)",
    protocol: "gpodder",
    signIn: "basic",
    device: "floppy-1",
    setUp: [LOGIN, SAVE_DEVICE, ["GET", "/api/2/episodes/ann.json"]],
    readsOnly: true,
    list: { path: "/subscriptions/ann/floppy-1.json", feedsIn: (list: string[]) => list },
  },
  {
    name: "Poddr",
    agent: "Poddr/3.0.0+1 (linux)",
    protocol: "gpodder",
    signIn: "login",
    cookie: "sessionid",
    device: "8c3e0ad2-5a0e-4f0e-9f0e-2f6c1c0a3b11",
    setUp: [
      ["POST", "/api/2/devices/ann/DEVICE.json", { caption: "Poddr" }],
      ["GET", "/subscriptions/ann/DEVICE.json"],
      ["GET", "/api/2/sync-devices/ann.json"],
    ],
    play: ({ position, timestamp }) => ({ position, timestamp: `${timestamp}.000Z` }),
    signOut: LOGOUT,
    ends: true,
  },
  {
    name: "Podsilo",
    agent: "okhttp/5.4.0",
    flowAgent: "Podsilo",
    headers: { "OCS-APIRequest": "true" },
    protocol: "nextcloud",
    signIn: "flow",
    signOut: END_TOKEN,
    ends: true,
  },
  {
    name: "YourPods with the gPodder API",
    agent: "YourPods/1.0",
    protocol: "gpodder",
    signIn: "login",
    // ISO8601DateFormatter: what has no zone is now.
    canRead: hasZone,
    device: "yourpods-ios",
    setUp: [SAVE_DEVICE, ["GET", "/api/2/episodes/ann.json?since=0&deviceid=yourpods-ios"]],
  },
  {
    name: "YourPods with Nextcloud",
    agent: "YourPods/1 CFNetwork/1498.700.2 Darwin/23.6.0",
    protocol: "nextcloud",
    signIn: "basic",
  },
  {
    name: "AerialPod",
    agent: "AerialPod/1.4",
    protocol: "gpodder",
    signIn: "basic",
    device: "aerial",
    setUp: [
      SAVE_DEVICE,
      ["POST", "/api/2/sync-devices/ann.json", { synchronize: [["aerial", "other"]], "stop-synchronize": [] }],
    ],
    list: {
      path: "/subscriptions/ann.json",
      feedsIn: (list: (string | { url: string })[]) => list.map((one) => (typeof one === "string" ? one : one.url)),
    },
  },
  {
    name: "cliamp",
    agent: "cliamp/1.0",
    protocol: "gpodder",
    signIn: "basic",
    device: "cliamp",
    before: [GET_DEVICES, ["GET", "/subscriptions/ann/other.json"]],
    // A stream's length is unknown to it, and `started` is the time of day.
    play: ({ timestamp, position }) => ({ timestamp, started: 1_795_321_846, position, total: 0 }),
  },
  {
    name: "Podcast Merlin",
    agent: "Podcast Merlin",
    protocol: "nextcloud",
    signIn: "flow",
    poll: "form",
    before: [PROBE],
  },
  {
    name: "Music Assistant with the gPodder API",
    agent: "Music Assistant/2.7",
    protocol: "gpodder",
    signIn: "login",
    device: "mass",
    setUp: [["GET", "/api/2/episodes/ann.json?since=0&device=mass"]],
  },
  {
    name: "Music Assistant with Nextcloud",
    agent: "Music Assistant/2.7",
    protocol: "nextcloud",
    signIn: "bearer",
  },
];
