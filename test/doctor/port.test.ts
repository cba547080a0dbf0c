// The doctor's check of the server's port.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { checkMetricsPort, checkPort } from "../../src/doctor/port.ts";
import { openTestApp, type TestApp } from "../support/app.ts";

let podkeep: TestApp;
beforeAll(async () => {
  podkeep = await openTestApp();
});
afterAll(() => podkeep.close());

/** Serves on a free port of loopback until the test ends. */
const serve = (fetch: (request: Request) => Response | Promise<Response>) =>
  Bun.serve({ port: 0, hostname: "127.0.0.1", fetch });

const check = (port = 0, token: string | null = null) => checkPort({ host: "127.0.0.1", port }, token);

test("the doctor distinguishes podkeep, another program and a free port", async () => {
  await using ours = serve((request) => podkeep.http.fetch(request, {}));
  expect(await check(ours.port)).toMatchObject({ state: "ok" });
  await using other = serve(() => new Response("hello"));
  expect(await check(other.port)).toMatchObject({ state: "problem" });
  const silent = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { open: (socket) => void socket.end(), data() {} },
  });
  expect(await check(silent.port)).toMatchObject({ state: "problem" });
  silent.stop(true);
  expect(await check(silent.port)).toMatchObject({ state: "warning", advice: "Start the server" });
});

test("the doctor finds a podkeep whose database does not respond", async () => {
  const refusal = 'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer realm="podkeep"\r\nContent-Length: 0\r\n\r\n';
  const waiting = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket, data) => void (data.includes("/readyz") ? socket.end() : socket.write(refusal)) },
  });
  expect(await check(waiting.port)).toMatchObject({
    state: "problem",
    detail: `the podkeep at http://127.0.0.1:${waiting.port} can't use its database (/readyz does not respond)`,
  });
  waiting.stop(true);
});

test("the doctor finds a podkeep that uses another database", async () => {
  const { token } = await podkeep.user();
  await using ours = serve((request) => podkeep.http.fetch(request, {}));
  expect(await check(ours.port, token)).toMatchObject({ state: "ok" });
  const other = await openTestApp();
  await using theirs = serve((request) => other.http.fetch(request, {}));
  expect(await check(theirs.port, token)).toMatchObject({
    state: "problem",
    detail: `the podkeep at http://127.0.0.1:${theirs.port} uses another database`,
  });
  await other.close();
});

test("the doctor finds a port of metrics that another program has", async () => {
  const metrics = (port = 0) => checkMetricsPort({ metrics_listen: `127.0.0.1:${port}` });
  expect(await checkMetricsPort({ metrics_listen: undefined })).toEqual([]);
  await using ours = serve(() => new Response("podkeep_requests_total 1"));
  expect(await metrics(ours.port)).toMatchObject([{ state: "ok" }]);
  const other = serve(() => new Response("hello"));
  expect(await metrics(other.port)).toMatchObject([{ state: "problem", advice: expect.stringContaining("METRICS") }]);
  await other.stop(true);
  expect(await metrics(other.port)).toMatchObject([{ state: "ok" }]);
});

test.each(["192.0.2.1", "name.invalid"])("the doctor says that %s is no address of this machine", async (host) => {
  expect(await checkPort({ host, port: 8042 }, null)).toMatchObject({
    state: "problem",
    detail: expect.stringContaining(`can't listen on ${host}: this machine does not have that address`),
    advice: "Set PODKEEP_HOST to an address of this machine, or to 0.0.0.0 for all",
  });
  expect(await checkMetricsPort({ metrics_listen: `${host}:9042` })).toMatchObject([
    {
      state: "problem",
      detail: expect.stringContaining(`can't listen on ${host}: this machine does not have that address`),
      advice: "Set PODKEEP_METRICS_LISTEN to an address of this machine",
    },
  ]);
});
