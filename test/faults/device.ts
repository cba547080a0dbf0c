// Devices in the load: apps of the gPodder API and of Nextcloud, which know what was acknowledged.
import { expect } from "bun:test";
import { basicAuth } from "../support/basic-auth.ts";
import type { Answer, Target } from "../support/start-server.ts";
import { type Client, isGone, type Seen, sendUntilTaken } from "./load.ts";
import type { Chance } from "./rounds.ts";

type Kind = "AntennaPod" | "gPodder" | "Nextcloud";

export interface Device extends Client {
  /** Syncs, and checks that feeds and play positions are the server's. */
  expectSynced(server: Target, list: Map<string, Seen>): Promise<void>;
}

interface Action {
  podcast: string;
  episode: string;
  guid: string;
  action: string;
  timestamp: string;
  started: number;
  position: number;
  total: number;
}

/** An upload without a response. */
type Unknown = { feeds: Map<string, boolean> } | { actions: Action[] };

const EPISODES = 20;
const MOST_ACTIONS = 30;
/** Feeds of a large upload: more than two parts. */
const MANY = 300;
/** What is stored in one transaction. */
const PART = 128;

/** A device with its own podcasts, which no other one changes; it knows those of the user's others too. */
export function createDevice(user: string, token: string, name: string, kind: Kind, random: Chance): Device {
  const isNextcloud = kind === "Nextcloud";
  const place = "/index.php/apps/gpoddersync";
  const path = isNextcloud
    ? {
        feeds: `${place}/subscriptions`,
        upload: `${place}/subscription_change/create`,
        actions: `${place}/episode_action`,
        uploadActions: `${place}/episode_action/create`,
      }
    : {
        feeds: `/api/2/subscriptions/${user}/${name}.json`,
        upload: `/api/2/subscriptions/${user}/${name}.json`,
        actions: `/api/2/episodes/${user}.json`,
        uploadActions: `/api/2/episodes/${user}.json`,
      };
  const home = `https://${name}.test/`;
  /** Acknowledged: its own feeds, and its last place in each episode. */
  const own = new Map<string, boolean>();
  const places = new Map<string, number>();
  /** What it shows, by feed URL and by guid; others' too. */
  const feeds = new Set<string>();
  const positions = new Map<string, number>();
  const since = { feeds: 0, actions: 0 };
  let unknown: Unknown | null = null;
  let current: Target;
  let count = 0;

  const request = (method: string, path: string, body?: unknown, agent = `${kind}/3.1`): Promise<Answer> => {
    return current.send(method, path, body, { ...basicAuth(user, token), "User-Agent": agent });
  };

  async function send(method: string, path: string, body?: unknown): Promise<Answer["body"]> {
    const { status, body: answer } = await sendUntilTaken(device, () => request(method, path, body));
    expect(status).toBe(200);
    return answer;
  }

  /** Apps of Nextcloud take their own clock for the next `since`, the others what the server answers. */
  const nextSince = ({ timestamp }: { timestamp: number }) => (isNextcloud ? Math.floor(Date.now() / 1000) : timestamp);

  /** Apps upload after a GET only. */
  async function upload(what: Unknown): Promise<void> {
    unknown = what;
    await pull();
    if ("feeds" in what) {
      const named = (listed: boolean) => [...what.feeds].filter(([, is]) => is === listed).map(([url]) => url);
      since.feeds = nextSince(await send("POST", path.upload, { add: named(true), remove: named(false) }));
      for (const [url, listed] of what.feeds) {
        own.set(url, listed);
        if (listed) feeds.add(url);
        else feeds.delete(url);
      }
    } else {
      const answer = await send("POST", path.uploadActions, what.actions);
      if (kind !== "gPodder") since.actions = nextSince(answer);
      for (const { guid, position } of what.actions) {
        places.set(guid, position);
        positions.set(guid, position);
      }
    }
    unknown = null;
  }

  function changeFeeds(): Unknown {
    if (random.whole(6) === 0) return changeMany();
    const changed = new Map<string, boolean>();
    for (let n = random.whole(3); n >= 0; n--) {
      const known = [...own];
      const [url, listed] = known.length > 3 && random.whole(2) ? random.pick(known) : [`${home}${++count}`, false];
      changed.set(url, !listed);
    }
    return { feeds: changed };
  }

  function changeMany(): Unknown {
    const listed = !own.get(`${home}many/0`);
    return { feeds: new Map(Array.from({ length: MANY }, (_, n) => [`${home}many/${n}`, listed])) };
  }

  function play(): Unknown {
    const batch = 1 + random.whole(random.whole(4) ? 3 : MOST_ACTIONS);
    return { actions: Array.from({ length: batch }, playOne) };
  }

  // A second for each: what a device sends twice with one time is one action.
  function playOne(): Action {
    count++;
    const episode = random.whole(EPISODES);
    const guid = `${name}-${episode}`;
    const timestamp = new Date(Date.parse("2026-01-01T00:00:00Z") + count * 1000).toISOString().slice(0, 19);
    const names = { podcast: `${home}${episode % 3}`, episode: `https://media.test/${guid}.mp3`, guid };
    return { ...names, action: "play", timestamp, started: 0, position: count, total: 1e6 };
  }

  async function pull(): Promise<void> {
    const { add, remove, timestamp } = await send("GET", `${path.feeds}?since=${since.feeds}`);
    for (const url of add) feeds.add(url);
    for (const url of remove) feeds.delete(url);
    since.feeds = timestamp;
    const told = await send("GET", `${path.actions}?since=${since.actions}`);
    for (const { guid, position } of told.actions) positions.set(guid, position);
    since.actions = told.timestamp;
  }

  function step(): Promise<void> {
    const choice = random.whole(10);
    if (choice < 4) return upload(changeFeeds());
    return choice < 7 ? upload(play()) : pull();
  }

  /** The user's last places on the server, as a client reads them that knows nothing. */
  async function readPositions(): Promise<Map<string, number>> {
    const all = `/api/2/episodes/${user}.json?since=0`;
    const { status, body } = await request("GET", all, undefined, "checker/1");
    expect(status).toBe(200);
    const found = new Map<string, number>(body.actions.map(({ guid, position }: Action) => [guid, position]));
    expect(found.size).toBe(body.actions.length);
    return found;
  }

  /** Checks all that this device sent: as acknowledged, and each part of the upload without a response wholly done or not at all. */
  function expectKept<Value>(found: Map<string, Value>, kept: Map<string, Value>, open: Map<string, Value>): void {
    for (const [key, value] of kept) if (!open.has(key)) expect([key, found.get(key)]).toEqual([key, value]);
    const done = [...open].map(([key, value]) => {
      expect([kept.get(key), value]).toContain(found.get(key));
      return kept.get(key) === value ? [] : found.get(key) === value;
    });
    for (let start = 0; start < done.length; start += PART) {
      expect(new Set(done.slice(start, start + PART).flat()).size).toBeLessThan(2);
    }
  }

  async function expectAcknowledged(list: Map<string, Seen>): Promise<void> {
    const open = unknown;
    const entries = [...list.values()].filter((seen) => typeof seen === "object");
    const mine = entries.filter((seen) => seen.feed_url.startsWith(home));
    const found = new Map(mine.map(({ feed_url, is_subscribed }) => [feed_url, is_subscribed]));
    expect(found.size).toBe(mine.length);
    expectKept(found, own, open && "feeds" in open ? open.feeds : new Map());
    const actions = open && "actions" in open ? open.actions : [];
    expectKept(await readPositions(), places, new Map(actions.map(({ guid, position }) => [guid, position])));
  }

  const device: Device = {
    acknowledged: 0,
    refused: 0,
    async work(server) {
      current = server;
      try {
        for (;;) await step();
      } catch (error) {
        if (!isGone(error)) throw error;
      }
    },
    async check(server, list) {
      current = server;
      await expectAcknowledged(list);
      if (unknown) await upload(unknown);
    },
    async expectSynced(server, list) {
      current = server;
      await expectAcknowledged(list);
      await pull();
      const listed = [...list.values()].flatMap((seen) =>
        typeof seen === "object" && seen.is_subscribed ? seen.feed_url : [],
      );
      expect([...feeds].sort()).toEqual([...new Set(listed)].sort());
      expect([...positions].sort()).toEqual([...(await readPositions())].sort());
    },
  };
  return device;
}
