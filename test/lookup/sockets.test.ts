// The connections of a server, traced.
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { CAN_TRACE, trace } from "../faults/strace.ts";
import { PATIENCE, until } from "../support/patience.ts";
import { install } from "../support/start-server.ts";

setDefaultTimeout(PATIENCE);

let fetched = 0;
let feed: ReturnType<typeof Bun.serve>;
beforeEach(() => {
  fetched = 0;
  feed = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch() {
      fetched++;
      return new Response("<rss><channel><title>A Show</title></channel></rss>");
    },
  });
});
afterEach(() => feed.stop(true));

/** Calls by which a server opens connections, while an app adds a feed and syncs. */
async function traceServer(feed_lookup: "on" | "off", isDone: (polls: number) => boolean): Promise<string[]> {
  const podkeep = install();
  const token = await podkeep.user("ann");
  const server = await podkeep.serve({
    PODKEEP_FEED_LOOKUP: feed_lookup,
    PODKEEP_FEED_LOOKUP_POLL: "50ms",
    PODKEEP_FEED_LOOKUP_ALLOW: "127.0.0.1",
  });
  const calls = await trace(server.pid, "socket,connect", null);
  const subscriptions = [{ feed_url: `http://127.0.0.1:${feed.port}/` }, { feed_url: "http://feeds.invalid/rss" }];
  const added = await server.request(token, "POST", "/subscriptions", { subscriptions });
  let polls = 0;
  await until(async () => {
    await server.request(token, "GET", "/subscriptions");
    return isDone(++polls);
  });
  await server.request(token, "DELETE", `/subscriptions/${added.body.success[0].guid}`);
  await server.end("SIGTERM");
  return (await calls.end()).filter((line) => /\b(socket|connect)\(/.test(line));
}

test.skipIf(!CAN_TRACE)("with lookups off a server opens no socket; with lookups on it does", async () => {
  expect(await traceServer("on", () => fetched > 0)).not.toEqual([]);
  expect(fetched).toBeGreaterThan(0);
  fetched = 0;
  expect(await traceServer("off", (polls) => polls === 250)).toEqual([]);
  expect(fetched).toBe(0);
});
