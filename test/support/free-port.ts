// Ports for programs that can't choose one themselves, or whose port must be known before.
import { createServer } from "node:net";

/** Below those that systems give out, so that none is given to another server before it is bound. */
const RANGE = { first: 15_000, count: 10_000 };

/** A TCP port of loopback that is free. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = RANGE.first + Math.floor(Math.random() * RANGE.count);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const probe = createServer().on("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    if (await promise) return port;
  }
}
