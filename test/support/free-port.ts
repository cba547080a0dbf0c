// Ports for programs that can't choose one themselves, or whose port must be known before.
import { createServer, type Server } from "node:net";

/** With the claims below those that systems give out, so that none is given to another server before it is bound. */
const RANGE = { first: 15_000, count: 8_000 };

/** A TCP port of loopback that is free, and that no other test gets while this process runs. */
export async function freePort({ first, count } = RANGE): Promise<number> {
  for (;;) {
    const port = first + Math.floor(Math.random() * count);
    // Other processes of the tests choose from the same range.
    const claim = await listenAt(port + count);
    const probe = claim && (await listenAt(port));
    if (!probe) {
      claim?.close();
      continue;
    }
    await new Promise((resolve) => probe.close(resolve));
    claim.unref();
    return port;
  }
}

/** @returns null if the port is taken */
function listenAt(port: number): Promise<Server | null> {
  const { promise, resolve } = Promise.withResolvers<Server | null>();
  const server = createServer().on("error", () => resolve(null));
  server.listen(port, "127.0.0.1", () => resolve(server));
  return promise;
}
