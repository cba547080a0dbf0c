// A TCP proxy in front of a server: it can stop responding, and lead to another server.
import { connect, createServer, type Socket } from "node:net";

export interface TcpProxy {
  port: number;
  /** Connections accepted until now. */
  accepted: number;
  /** Cuts all connections; later ones lead to this port of loopback. */
  leadTo(port: number): void;
  /** Passes no more bytes on, in either direction, and keeps new connections without a response. */
  hang(): void;
  close(): void;
}

/** @param target port of loopback */
export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const pairs = new Set<[Socket, Socket | null]>();
  let hangs = false;
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
    if (upstream) client.pipe(upstream).pipe(client);
  });
  const proxy: TcpProxy = {
    port: 0,
    accepted: 0,
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
