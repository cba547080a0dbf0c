// `podkeep healthcheck`, metrics and the log of a running server.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { openSync, renameSync } from "node:fs";
import { join } from "node:path";
import { runSql } from "../../support/database.ts";
import { freePort } from "../../support/free-port.ts";
import { openProgram, PROGRAM } from "../../support/program.ts";

let program: ReturnType<typeof openProgram>;
beforeEach(() => {
  program = openProgram();
});
afterEach(() => program.close());

const IPV6_OFF = "ip link set lo up && echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6";
const CAN_UNSHARE = Bun.which("unshare") !== null && Bun.spawnSync(["unshare", "-rn", "sh", "-c", IPV6_OFF]).success;

const portOf = (address: string) => ["--port", new URL(address).port];

test("healthcheck exits with 0 while the server is ready", async () => {
  const server = await program.serve();
  expect((await program.run(["healthcheck", ...portOf(server.address)])).code).toBe(0);
  await server.stop();
  const ran = await program.run(["healthcheck", ...portOf(server.address)]);
  expect(ran).toMatchObject({ code: 1, err: expect.stringContaining("does not respond") });
});

test("healthcheck and doctor reach the server of a container that has its machine's proxy", async () => {
  const refuse = () => new Response("no such host", { status: 502 });
  const proxy = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: refuse });
  const proxied = openProgram(PROGRAM, { HTTP_PROXY: proxy.url.href, NO_PROXY: "internal.example.org" });
  const server = await proxied.serve();
  expect(await proxied.run(["healthcheck", ...portOf(server.address)])).toMatchObject({ code: 0 });
  expect((await proxied.run(["doctor", ...portOf(server.address)])).out).toContain(
    `podkeep responds at ${server.address}`,
  );
  await server.stop();
  proxied.close();
  await proxy.stop(true);
});

test.skipIf(!CAN_UNSHARE)("healthcheck reaches a server on :: where IPv6 is off, as in many containers", async () => {
  const without = openProgram(["unshare", "-rn", "sh", "-c", `${IPV6_OFF} && exec "$@"`, "sh", ...PROGRAM]);
  const server = await without.serve(["--host", "::"], 8042);
  const enter = ["nsenter", `--target=${server.child.pid}`, "-U", "-n", "--preserve-credentials"];
  const there = openProgram([...enter, ...PROGRAM]);
  expect(await there.run(["healthcheck", "--host", "::"])).toMatchObject({ code: 0 });
  await server.stop();
  without.close();
  there.close();
});

test("a server whose database was moved is live but not ready, and its log says why", async () => {
  const server = await program.serve();
  renameSync(join(program.data, "podkeep.db"), join(program.data, "elsewhere.db"));
  expect((await fetch(`${server.address}/livez`)).status).toBe(200);
  expect((await fetch(`${server.address}/readyz`)).status).toBe(503);
  expect((await program.run(["healthcheck", ...portOf(server.address)])).code).toBe(1);
  await server.until("podkeep.db was moved, deleted or replaced");
  await server.stop();
});

test("metrics have their own address", async () => {
  const server = await program.serve(["--metrics-listen", "127.0.0.1:0"]);
  const address = /metrics at ([^\s"]+)/.exec(await server.until("metrics at"))?.[1] ?? "";
  await fetch(`${server.address}/subscriptions`);
  const text = await (await fetch(address)).text();
  expect(text).toContain(
    'podkeep_http_request_duration_seconds_count{method="GET",route="/subscriptions",status="401"} 1',
  );
  expect((await fetch(`${server.address}/metrics`)).status).toBe(404);
  await server.stop();
});

test.each(["9042", "127.0.0.1:", "127.0.0.1:99999", "::1:9042"])(
  "%s is refused as an address for metrics",
  async (address) => {
    const ran = await program.run(["serve", "--port", "0", "--metrics-listen", address]);
    expect(ran).toMatchObject({ code: 3, err: expect.stringContaining("--metrics-listen") });
  },
);

test("the server serves even if its log can't be written", async () => {
  const port = await freePort();
  const child = program.spawnInto(openSync("/dev/full", "w"), ["serve", "--port", String(port)]);
  let status = 0;
  while (status === 0) {
    await Bun.sleep(20);
    status = await fetch(`http://127.0.0.1:${port}/subscriptions`).then(
      (answer) => answer.status,
      () => 0,
    );
  }
  expect(status).toBe(401);
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
});

test("an aborted upload is logged as 499, not as an error", async () => {
  const server = await program.serve();
  await program.run(["user", "create", "ann"]);
  const { token } = (await program.run(["token", "issue", "ann", "--json"])).json;
  const { hostname, port } = new URL(server.address);
  const socket = await Bun.connect({ hostname, port: Number(port), socket: { data() {} } });
  const head = ["POST /subscriptions HTTP/1.1", `Host: ${hostname}`, `Authorization: Bearer ${token}`];
  socket.write([...head, "Content-Type: application/json", "Content-Length: 1000", "", '{"subscr'].join("\r\n"));
  // A later request is answered, so the server has begun this one.
  await fetch(`${server.address}/livez`);
  socket.terminate();
  const log = await server.until('"status":');
  expect(log).toContain('"status":499');
  expect(log).not.toContain('"level":"error"');
  await server.stop();
});

test("on a terminal the log has readable lines, with a request's id at errors only", async () => {
  await program.run(["user", "create", "ann"]);
  const { token } = (await program.run(["token", "issue", "ann", "--json"])).json;
  const { child, screen } = program.spawnOnTerminal(["serve", "--port", "0"]);
  const address = (await screen(/http:\/\/[\d.:]+/))[0];
  await fetch(`${address}/v1/subscriptions?a=secret`);
  await fetch(`${address}/nowhere`);
  await screen(/GET \/v1\/subscriptions 401 [\d.]+ ms reason=No credentials address=127.0.0.1/);
  const [text] = await screen(/^.*GET \/nowhere 404/s);
  expect(text).not.toMatch(/"level"|secret|request_id/);
  await runSql(join(program.data, "podkeep.db"), "alter table subscriptions rename to gone");
  const { headers } = await fetch(`${address}/subscriptions`, { headers: { Authorization: `Bearer ${token}` } });
  await screen(new RegExp(`GET /subscriptions 500 .*request_id=${headers.get("x-request-id")}`));
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
});
