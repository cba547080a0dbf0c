// Messages of the server to systemd.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runSql, sharedPostgres } from "../support/database.ts";
import { listenForDatagrams } from "../support/datagrams.ts";
import { freePort } from "../support/free-port.ts";
import { openProgram } from "../support/program.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";

let folder: string;
let program: ReturnType<typeof openProgram> | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "podkeep-notify-"));
});
afterEach(() => {
  program?.close();
  rmSync(folder, { recursive: true, force: true });
});

test.each([
  ["a path", () => join(folder, "notify")],
  ["an abstract name", () => `@podkeep-test-${process.pid}`],
])("with a socket at %s systemd gets ready, signs of life and stopping", async (_, name) => {
  const socket = listenForDatagrams(name());
  try {
    program = openProgram(undefined, { NOTIFY_SOCKET: name(), WATCHDOG_USEC: "100000" });
    const server = await program.serve();
    expect(await socket.next()).toBe("READY=1");
    expect((await fetch(`${server.address}/readyz`)).status).toBe(200);
    expect(await socket.next()).toBe("WATCHDOG=1");
    expect(await socket.next()).toBe("WATCHDOG=1");
    const stopped = server.stop();
    let last = await socket.next();
    while (last === "WATCHDOG=1") last = await socket.next();
    expect(last).toBe("STOPPING=1");
    expect(await stopped).toBe(0);
  } finally {
    socket.close();
  }
});

test("without a watchdog systemd gets only ready and stopping", async () => {
  const path = join(folder, "notify");
  const socket = listenForDatagrams(path);
  program = openProgram(undefined, { NOTIFY_SOCKET: path, WATCHDOG_USEC: "100000", WATCHDOG_PID: "1" });
  const server = await program.serve();
  expect(await socket.next()).toBe("READY=1");
  await Bun.sleep(250);
  await server.stop();
  expect(await socket.next()).toBe("STOPPING=1");
  socket.close();
});

test.each<[string, (file: string) => unknown, string]>([
  ["that can't read its database", (file) => runSql(file, "alter table users rename to gone"), "no sign of life sent"],
  [
    "whose database file was moved logs that without a request, and",
    (file) => renameSync(file, `${file}.moved`),
    "podkeep.db was moved, deleted or replaced while it was in use: restart the server",
  ],
])("a server %s sends no sign of life", async (_, spoil, logged) => {
  const path = join(folder, "notify");
  const socket = listenForDatagrams(path);
  program = openProgram(undefined, { NOTIFY_SOCKET: path, WATCHDOG_USEC: "100000" });
  const server = await program.serve();
  expect(await socket.next()).toBe("READY=1");
  expect(await socket.next()).toBe("WATCHDOG=1");
  await spoil(join(program.data, "podkeep.db"));
  await server.until(logged);
  await Bun.sleep(100);
  while (socket.take() !== null);
  await Bun.sleep(200);
  expect(socket.take()).toBeNull();
  await server.stop();
  socket.close();
});

test("while PostgreSQL is away, systemd gets signs of life, and apps get 503 with Retry-After", async () => {
  const server = await sharedPostgres();
  await server.createDatabase("watchdog", "migrated");
  const proxy = await startTcpProxy(server.port);
  const path = join(folder, "notify");
  const socket = listenForDatagrams(path);
  program = openProgram(undefined, {
    NOTIFY_SOCKET: path,
    WATCHDOG_USEC: "600000",
    PODKEEP_DATABASE_TIMEOUT: "2s",
    PODKEEP_DATABASE_URL: server.url("watchdog").replace(`:${server.port}/`, `:${proxy.port}/`),
  });
  const podkeep = await program.serve();
  expect(await socket.next()).toBe("READY=1");
  proxy.leadTo(await freePort());
  await podkeep.until("database can't be read, requests get 503");
  while (socket.take() !== null);
  for (let n = 0; n < 3; n++) expect(await socket.next()).toBe("WATCHDOG=1");
  const { status, headers } = await fetch(`${podkeep.address}/readyz`);
  expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
  proxy.leadTo(server.port);
  while ((await fetch(`${podkeep.address}/readyz`)).status !== 200) await Bun.sleep(50);
  await podkeep.stop();
  socket.close();
  proxy.close();
});

test("the server serves while systemd does not read its messages", async () => {
  const path = join(folder, "notify");
  const socket = listenForDatagrams(path);
  program = openProgram(undefined, { NOTIFY_SOCKET: path, WATCHDOG_USEC: "20000" });
  const server = await program.serve();
  expect(await socket.next()).toBe("READY=1");
  socket.fill();
  for (let n = 0; n < 20; n++) {
    expect((await fetch(`${server.address}/livez`)).status).toBe(200);
    await Bun.sleep(10);
  }
  while (socket.take() !== null);
  expect(await socket.next()).toBe("WATCHDOG=1");
  socket.fill();
  expect(await server.stop()).toBe(0);
  socket.close();
});

test("the server serves even if systemd's socket has no listener", async () => {
  program = openProgram(undefined, { NOTIFY_SOCKET: join(folder, "nobody"), WATCHDOG_USEC: "100000" });
  const server = await program.serve();
  expect((await fetch(`${server.address}/livez`)).status).toBe(200);
  expect(await server.stop()).toBe(0);
});
