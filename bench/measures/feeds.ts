// Feeds that are sent to keep others waiting: how long their lookups block the event loop.
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { Beside, Blocks } from "../blocks.ts";
import { send } from "../client.ts";
import { type Data, fill } from "../data.ts";
import { type Server, start } from "../programs.ts";
import type { Bench } from "../rounds.ts";
import type { Line } from "../table.ts";

const KINDS = { plain: "a feed in chunks of a byte", gzip: "a compressed feed in chunks of a byte" };
const LOOKUP = {
  PODKEEP_FEED_LOOKUP: "on",
  PODKEEP_FEED_LOOKUP_POLL: "100ms",
  PODKEEP_FEED_LOOKUP_ALLOW: "127.0.0.0/8",
};

export async function measureFeeds(bench: Bench): Promise<Line[]> {
  const beside = new Beside();
  const feeds = new Worker(new URL("../slow-feeds.ts", import.meta.url).href);
  const said = () =>
    new Promise<unknown>((resolve) => feeds.addEventListener("message", ({ data }) => resolve(data), { once: true }));
  const port = await said();
  for (let round = 0; round < bench.rounds; round++) {
    const data = await fill(join(bench.folder, `feeds${round}`), { users: 2, subscriptions: 0 });
    const log = new Blocks(data);
    const server = await start(bench.programs, "podkeep", data, { env: { ...log.env, ...LOOKUP } });
    await beside.measureAlone(server, data);
    for (const [index, [kind, what]] of Object.entries(KINDS).entries()) {
      const lookUp = async () => {
        const closed = said();
        // A host is not asked again soon.
        await add(server, data, `http://127.0.0.${index + 1}:${port}/${kind}`);
        await closed;
      };
      await beside.measure(server, data, log, what, lookUp);
    }
    await server.stop();
  }
  feeds.terminate();
  return beside.lines("lookups of these feeds", 50);
}

/** Subscribes the first user to a feed, which is due at once. */
async function add(server: Server, data: Data, feed_url: string): Promise<void> {
  await send(server, data, "/subscriptions", { subscriptions: [{ feed_url }] });
  const db = new Database(data.file, { readwrite: true });
  db.run("pragma busy_timeout = 10000");
  // Once the worker has found it.
  while (db.run("update feed_lookups set next_at = 1 where feed_url = ?", [feed_url]).changes === 0)
    await Bun.sleep(20);
  db.close();
}
