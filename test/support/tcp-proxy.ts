// A TCP proxy in front of a server: it can stop responding, and lead to another server.
import { connect, createServer, type Socket } from "node:net";

type Mode = "read committed" | "read only";

export interface TcpProxy {
  port: number;
  /** Connections accepted until now. */
  accepted: number;
  /** Cuts all connections; later ones lead to this port of loopback. */
  leadTo(port: number): void;
  /** Passes no more bytes on, in either direction, and keeps new connections without a response. */
  hang(): void;
  /**
   * Cuts the connection of PostgreSQL on which a transaction of this mode commits next.
   * @param arrives whether the server gets it, and only its response is lost
   */
  cutCommit(mode: Mode, arrives: boolean): void;
  /** How many were cut. */
  cuts: number;
  close(): void;
}

/** @param target port of loopback */
export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const pairs = new Set<[Socket, Socket | null]>();
  let hangs = false;
  let cut: { mode: Mode; arrives: boolean } | null = null;
  const server = createServer((client) => {
    proxy.accepted++;
    const upstream = hangs ? null : connect(target, "127.0.0.1");
    const pair: [Socket, Socket | null] = [client, upstream];
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      client.destroy();
      upstream?.destroy();
    };
    for (const socket of pair) socket?.on("error", end).on("close", end);
    if (!upstream) return;
    let begun = "";
    client.on("data", (chunk) => {
      if (chunk.includes("begin isolation level")) begun = chunk.toString("latin1");
      if (!cut || !begun.includes(cut.mode) || !chunk.includes("commit\0")) return;
      const { arrives } = cut;
      cut = null;
      proxy.cuts++;
      upstream.unpipe(client);
      if (arrives) upstream.once("data", end).resume();
      else end();
    });
    client.pipe(upstream).pipe(client);
  });
  const proxy: TcpProxy = {
    port: 0,
    accepted: 0,
    cuts: 0,
    leadTo(port) {
      target = port;
      for (const [client] of [...pairs]) client.destroy();
    },
    hang() {
      hangs = true;
      for (const [client, upstream] of pairs) {
        if (upstream) client.unpipe(upstream);
        upstream?.unpipe(client);
      }
    },
    cutCommit(mode, arrives) {
      cut = { mode, arrives };
    },
    close() {
      for (const [client] of [...pairs]) client.destroy();
      server.close();
    },
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (typeof address === "object" && address) proxy.port = address.port;
  return proxy;
}
