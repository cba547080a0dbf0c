// A network of feeds on this machine, and the lookup worker on it.

import type { Logger } from "../../src/log.ts";
import { LookupWorker } from "../../src/lookup/worker.ts";
import { openTestApp, type TestApp, type TestUser } from "../support/app.ts";

export const MINUTE = 60_000;
export const DAY = 24 * 60 * MINUTE;
/** More than the longest time between two lookups that worked. */
export const WEEK = 8 * DAY;
export const GUID = "917393e3-1b1e-5cef-ace4-edaa54e1f810";
export const OTHER = "29cdca4a-32d8-56ba-b48b-09a011c5daa9";

export const rss = (title: string, more = "") =>
  `<rss xmlns:podcast="https://podcastindex.org/namespace/1.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd">
  <channel><title>${title}</title>${more}<item><title>Episode</title></item></channel></rss>`;
export const guidTag = (guid: string) => `<podcast:guid>${guid}</podcast:guid>`;
export const newUrlTag = (url: string) => `<itunes:new-feed-url>${url}</itunes:new-feed-url>`;

interface Fetched {
  host: string;
  path: string;
  headers: Headers;
}

type Respond = (request: Fetched) => Response | Promise<Response>;

export interface Feeds {
  podkeep: TestApp;
  worker: LookupWorker;
  ann: TestUser;
  /** All requests so far. */
  fetched: Fetched[];
  /** The most requests at a time, in all and to one host. */
  most: { running: number; perHost: number };
  /** The URL of a feed: a host name below .test, and a path. */
  url(host: string, path?: string): string;
  /** Serves a host: text as a feed, or a function. */
  serve(host: string, respond: string | Respond): void;
  /** Subscribes and returns the item. */
  // biome-ignore lint/suspicious/noExplicitAny: items of every shape
  add(host: string, guid?: string, user?: TestUser): Promise<any>;
  /** Looks up what is due, finds new feeds, and looks up what is due this many milliseconds later. */
  after(ms: number): Promise<void>;
  /** The subscriptions of a user as the database has them, by host. */
  rows(user?: TestUser): Promise<Record<string, Row>>;
  /** What is known of the feed of a host. */
  lookup(host: string): Promise<Record<string, unknown> | undefined>;
  close(): Promise<void>;
}

interface Row {
  feed_url: string;
  guid: string;
  title: string | null;
  is_subscribed: number;
}

export async function openFeeds(log?: Logger): Promise<Feeds> {
  const hosts = new Map<string, Respond>();
  const fetched: Fetched[] = [];
  const running = new Map<string, number>();
  const most = { running: 0, perHost: 0 };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const host = (request.headers.get("host") ?? "").replace(/\.test:\d+$/, "");
      const one = { host, path: new URL(request.url).pathname, headers: new Headers([...request.headers]) };
      fetched.push(one);
      running.set(host, (running.get(host) ?? 0) + 1);
      most.perHost = Math.max(most.perHost, running.get(host) ?? 0);
      most.running = Math.max(
        most.running,
        [...running.values()].reduce((sum, count) => sum + count),
      );
      try {
        return await (hosts.get(host)?.(one) ?? new Response(null, { status: 404 }));
      } finally {
        running.set(host, (running.get(host) ?? 0) - 1);
      }
    },
  });
  const podkeep = await openTestApp({ feed_lookup: "on", feed_lookup_allow: "127.0.0.1" }, log ? { log } : {});
  const ann = await podkeep.user("ann");
  const network = {
    interfaces: () => [],
    async resolve(host: string) {
      if (hosts.has(host.replace(/\.test$/, ""))) return ["127.0.0.1"];
      throw new Error("ENOTFOUND");
    },
  };
  const hostOf = (url: string) => new URL(url).hostname.replace(/\.test$/, "");
  const feeds: Feeds = {
    podkeep,
    worker: new LookupWorker(podkeep.app, network),
    ann,
    fetched,
    most,
    url: (host, path = "/rss") => `http://${host}.test:${server.port}${path}`,
    serve(host, respond) {
      hosts.set(host, typeof respond === "string" ? () => new Response(respond) : respond);
    },
    add: (host, guid, user = ann) => user.add(feeds.url(host), guid),
    async after(ms) {
      await feeds.worker.drain();
      podkeep.clock.advance(ms);
      await feeds.worker.drain();
    },
    async rows({ id } = ann) {
      const rows = await podkeep.sql(
        `select feed_url, guid, title, is_subscribed from subscriptions where user_id = '${id}' and deleted is null`,
      );
      return Object.fromEntries(rows.map((row) => [hostOf(String(row["feed_url"])), row as unknown as Row]));
    },
    async lookup(host) {
      const rows = await podkeep.sql("select * from feed_lookups");
      return rows.find((row) => hostOf(String(row["feed_url"])) === host);
    },
    async close() {
      await feeds.worker.stop();
      server.stop(true);
      await podkeep.close();
    },
  };
  return feeds;
}
