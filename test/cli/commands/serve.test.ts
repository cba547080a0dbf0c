// `podkeep serve`: start and shutdown.
import { Database as Sqlite } from "bun:sqlite";
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runSql } from "../../support/database.ts";
import { freePort } from "../../support/free-port.ts";
import { PATIENCE, until, WAIT } from "../../support/patience.ts";
import { openFreshProgram, openProgram, PROGRAM, SOURCE } from "../../support/program.ts";

setDefaultTimeout(PATIENCE);

// Many processes start.
let program: ReturnType<typeof openProgram>;
beforeEach(() => {
  program = openProgram();
});
afterEach(() => program.close());

test("commands work while the server runs, and it closes the database at its end", async () => {
  const server = await program.serve();
  await program.run(["user", "create", "alice"]);
  const { token, id } = (await program.run(["token", "issue", "alice", "--json"])).json;
  const headers = { Authorization: `Bearer ${token}` };
  expect((await fetch(`${server.address}/v1/subscriptions`, { headers })).status).toBe(200);
  await program.run(["token", "revoke", id, "--yes"]);
  expect((await fetch(`${server.address}/v1/subscriptions`, { headers })).status).toBe(401);
  expect(await server.stop()).toBe(0);
  expect(existsSync(join(program.data, "podkeep.db-wal"))).toBe(false);
});

test("a body far over the limit gets a 413 and does not delay the shutdown", async () => {
  const server = await program.serve(["--max-body", "1024", "--drain-timeout", "1h"]);
  await program.run(["user", "create", "alice"]);
  const { token } = (await program.run(["token", "issue", "alice", "--json"])).json;
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const answer = await fetch(`${server.address}/subscriptions`, {
    method: "POST",
    headers,
    body: "x".repeat(2_000_000),
  });
  expect(answer.status).toBe(413);
  expect(await answer.json()).toMatchObject({ code: "413" });
  expect(await server.stop()).toBe(0);
});

test.each(["a pipe", "a socket, as systemd's"])(
  "a server whose log goes to %s without a reader goes on answering",
  async (to) => {
    const port = await freePort();
    const serve = [...PROGRAM, "serve", "--port", String(port), "--data-dir", program.data];
    const through = to === "a pipe" ? ["sh", "-c", '"$@" | sleep 1000', "sh"] : [];
    const child = Bun.spawn([...through, ...serve], { stdout: "pipe", stderr: "ignore", stdin: "ignore" });
    try {
      const ask = async (path: string) =>
        (await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(WAIT) }).catch(() => null))
          ?.status;
      await until(async () => (await ask("/livez")) === 200);
      // A line each: more than any buffer holds.
      for (let n = 0; n < 60; n++) {
        expect(await Promise.all(Array.from({ length: 50 }, () => ask("/v1/subscriptions")))).not.toContain(undefined);
      }
      expect(await ask("/livez")).toBe(200);
    } finally {
      Bun.spawnSync(["pkill", "-P", String(child.pid)]);
      child.kill("SIGKILL");
    }
  },
);

test("a server that waits for its database, as for another one's migration, says that it is alive, and not that it is ready", async () => {
  await program.run(["user", "create", "alice"]);
  const port = await freePort();
  const ask = async (path: string) => {
    const asked = fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(1000) });
    return (await asked.catch(() => null))?.status;
  };
  const other = new Sqlite(join(program.data, "podkeep.db"));
  other.run("pragma locking_mode = exclusive");
  other.run("pragma user_version = 0");
  const serve = [...PROGRAM, "serve", "--port", String(port), "--data-dir", program.data, "--busy-timeout", "1h"];
  const base = ["--public-url", "https://example.org/podcasts"];
  const child = Bun.spawn([...serve, ...base], { stdout: "ignore", stderr: "ignore", stdin: "ignore" });
  try {
    await until(async () => (await ask("/livez")) === 200);
    expect(await ask("/podcasts/livez")).toBe(200);
    expect(await ask("/readyz")).toBeUndefined();
    other.close();
    await until(async () => (await ask("/readyz")) === 200);
  } finally {
    child.kill("SIGKILL");
  }
});

test("a taken port is exit code 1, so that systemd tries again, and no directory is created", async () => {
  const server = await program.serve();
  const other = join(program.folder, "other");
  const ran = await program.run(["serve", "--port", new URL(server.address).port, "--data-dir", other]);
  expect(ran.code).toBe(1);
  expect(ran.err).toContain("is taken");
  expect(existsSync(other)).toBe(false);
  await server.stop();
});

test("a server on a free port names that port on its page, for apps and for the setting that phones need", async () => {
  const server = await program.serve(["--host", "0.0.0.0"]);
  await program.run(["user", "create", "alice"]);
  const { port } = new URL(server.address);
  const page = await (await fetch(`http://127.0.0.1:${port}/`)).text();
  expect(page).toContain(`:${port}`);
  expect(page).not.toMatch(/:0\b/);
  await server.stop();
});

test("a wrong setting is exit code 3 and named as given, and no directory is created", async () => {
  const fresh = openFreshProgram();
  const ran = await fresh.run(["serve", "--port", "0", "--trusted-proxies", "10.0.0.1, caddy"]);
  const err = expect.stringContaining('--trusted-proxies="10.0.0.1, caddy" contains caddy, which is not an IP address');
  expect(ran).toMatchObject({ code: 3, err });
  expect(existsSync(fresh.data)).toBe(false);
  fresh.close();
});

test("a file of another program is exit code 3 and stays unchanged", async () => {
  const file = join(program.data, "podkeep.db");
  writeFileSync(file, "not a database, but somebody's text");
  chmodSync(file, 0o600);
  expect((await program.run(["serve", "--port", "0"])).code).toBe(3);
  expect(readFileSync(file, "utf8")).toBe("not a database, but somebody's text");
});

/** A POST with half of its body sent, which the server has begun. @returns sends the rest and returns the status */
async function halfPost(address: string, token: string) {
  const { hostname, port } = new URL(address);
  const { promise: answer, resolve } = Promise.withResolvers<string>();
  const data = (_: unknown, bytes: Uint8Array) => resolve(new TextDecoder().decode(bytes));
  const socket = await Bun.connect({ hostname, port: Number(port), socket: { data } });
  const [half, rest] = ['{"subscriptions": [{"feed_url": ', '"https://a.example/feed"}]}'];
  const head = ["POST /subscriptions HTTP/1.1", `Host: ${hostname}`, `Authorization: Bearer ${token}`];
  const type = ["Content-Type: application/json", `Content-Length: ${half.length + rest.length}`];
  socket.write([...head, ...type, "", half].join("\r\n"));
  // A later request is answered, so this one has begun.
  await fetch(`${address}/livez`);
  return async () => {
    socket.write(rest);
    return Number(/^HTTP\/1\.1 (\d+)/.exec(await answer)?.[1]);
  };
}

test("a running request is finished after SIGTERM", async () => {
  const server = await program.serve(["--drain-timeout", "1h"]);
  await program.run(["user", "create", "alice"]);
  const { token } = (await program.run(["token", "issue", "alice", "--json"])).json;
  const finish = await halfPost(server.address, token);
  server.child.kill("SIGTERM");
  await server.until("SIGTERM received");
  expect(await finish()).toBe(200);
  expect(await server.child.exited).toBe(0);
  expect((await program.run(["user", "list", "--json"])).json).toMatchObject([{ subscriptions: 1 }]);
});

test("a second signal ends the server at once", async () => {
  const server = await program.serve(["--drain-timeout", "1h"]);
  await program.run(["user", "create", "alice"]);
  const { token } = (await program.run(["token", "issue", "alice", "--json"])).json;
  await halfPost(server.address, token);
  server.child.kill("SIGTERM");
  await server.until("SIGTERM received");
  server.child.kill("SIGINT");
  expect(await server.child.exited).toBe(130);
});

test("podkeep deletion retry lets the running server carry a failed deletion out", async () => {
  const server = await program.serve(["--deletion-attempts", "1", "--deletion-poll", "20ms"]);
  await program.run(["user", "create", "alice"]);
  const opml = '<opml><body><outline xmlUrl="https://a.example/feed" text="A"/></body></opml>';
  await program.run(["opml", "import", "alice", "-"], opml);
  const { token } = (await program.run(["token", "issue", "alice", "--json"])).json;
  const headers = { Authorization: `Bearer ${token}` };
  // The server writes too: it looks the feed up.
  const sql = (text: string) => runSql(join(program.data, "podkeep.db"), text);
  await sql(
    "create trigger refuse before update of deleted on subscriptions when (new.deleted is not null) begin select raise(abort, 'no'); end",
  );
  const [row] = await sql("select guid from subscriptions");
  await fetch(`${server.address}/subscriptions/${row?.["guid"]}`, { method: "DELETE", headers });
  const becomes = async (status: string) => {
    let record = (await program.run(["deletion", "show", "alice", "1", "--json"])).json;
    while (record.status === "PENDING") record = (await program.run(["deletion", "show", "alice", "1", "--json"])).json;
    expect(record.status).toBe(status);
  };
  await becomes("FAILURE");
  expect((await program.run(["deletion", "list", "--status", "failure", "--json"])).json).toHaveLength(1);
  expect((await program.run(["deletion", "list", "--status", "pending", "--json"])).json).toEqual([]);
  await sql("drop trigger refuse");
  expect((await program.run(["deletion", "retry", "alice", "1"])).code).toBe(0);
  await becomes("SUCCESS");
  await server.stop();
});

test.each(["192.0.2.1", "name.invalid"])("the address %s, which may appear later, is exit code 1", async (host) => {
  const ran = await program.run(["serve", "--port", "0", "--host", host]);
  expect(ran).toMatchObject({
    code: 1,
    err: expect.stringContaining(`${host}: this machine doesn't have that address`),
  });
});

test("a file in place of the data directory is exit code 1 of the server and all commands", async () => {
  const fresh = openFreshProgram();
  writeFileSync(fresh.data, "");
  const commands = [["serve", "--port", "0"], ["user", "list"], ["user", "create", "ann"], ["migrate"]];
  for (const args of commands) {
    const { code, err } = await fresh.run(args);
    expect([args, code, err]).toEqual([args, 1, expect.stringContaining(`${fresh.data} can't be used: `)]);
  }
  fresh.close();
});

test("a damaged database, and one of a newer podkeep, are exit code 3 with a reason", async () => {
  await program.run(["user", "create", "alice"]);
  const file = join(program.data, "podkeep.db");
  const whole = readFileSync(file);
  const sqlite = new Sqlite(file);
  sqlite.run("insert into podkeep_migration values ('9999_later', '2030-01-01')");
  sqlite.close();
  const newer = await program.run(["serve", "--port", "0"]);
  expect(newer.code).toBe(3);
  expect(newer.err).toMatch(/9999_later.* 0\d{3}_/);
  whole.fill(0xff, 8192, whole.length - 4096);
  writeFileSync(file, whole);
  const damaged = await program.run(["serve", "--port", "0"]);
  expect(damaged.code).toBe(3);
  expect(damaged.err).toContain("damaged");
  expect(readFileSync(file).equals(whole)).toBe(true);
});

test("the setup link that the first start prints makes the first user, and is printed no more after that", async () => {
  const other = openFreshProgram();
  const server = await other.serve([]);
  const link = /create the first one: (http\S+)"\}/.exec(await server.until("create the first one"))?.[1] ?? "";
  expect(link).toStartWith(`${server.address}/setup/`);
  const body = new URLSearchParams({ name: "ann", password: "correct horse" });
  const headers = { "Sec-Fetch-Site": "same-origin" };
  const made = await fetch(link, { method: "POST", body, headers, redirect: "manual" });
  expect([made.status, made.headers.get("location")]).toEqual([303, "/connect?new=1"]);
  await server.stop();
  const again = await other.serve([]);
  expect(await again.until("listens on")).not.toContain("/setup/");
  expect((await fetch(link.replace(server.address, again.address))).status).toBe(410);
  await again.stop();
  other.close();
});

test.each<[string, string[], (folder: string) => Record<string, string>]>([
  ["in a directory with a space", ["--data-dir", "my data"], () => ({})],
  ["in systemd's state directory", [], (folder) => ({ PODKEEP_DATA_DIR: "", STATE_DIRECTORY: join(folder, "state") })],
])("the command shown at the first start works if pasted: %s", async (_case, args, env) => {
  const other = openFreshProgram(SOURCE, env(program.folder));
  const server = await other.serve(args);
  const command = /first app: (.*)"\}/.exec(await server.until("user create me"))?.[1] ?? "";
  // There is no terminal to ask for a password on, and the shell has nothing of the server's environment.
  const shell = Bun.spawn(["sh", "-c", JSON.parse(`"${command}"`).replace("--password", "--generate")], {
    cwd: other.folder,
    env: { PATH: process.env["PATH"] ?? "", HOME: other.folder },
    stdout: "pipe",
  });
  const shown = await shell.stdout.text();
  expect(shown).toContain(server.address);
  const headers = { Authorization: `Bearer ${/podkeep_\w+/.exec(shown)?.[0]}` };
  expect((await fetch(`${server.address}/subscriptions`, { headers })).status).toBe(200);
  await server.stop();
  other.close();
});
