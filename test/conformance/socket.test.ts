// The same checks over a socket, against the executable: a file, PostgreSQL with two servers, a proxy, a path.
import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openApp } from "../../src/app.ts";
import { readConfig } from "../../src/config/settings.ts";
import { type Check, sectionOf } from "../../src/conformance/check.ts";
import { CHECKS, runChecks } from "../../src/conformance/suite.ts";
import { readBaseUrl, type Target } from "../../src/conformance/target.ts";
import { issueToken } from "../../src/services/accounts/tokens.ts";
import { createUser } from "../../src/services/accounts/users.ts";
import { actAsAdmin } from "../../src/services/actor.ts";
import { sharedPostgres } from "../support/database.ts";
import { freePort } from "../support/free-port.ts";
import { PATIENCE, until, WAIT } from "../support/patience.ts";
import { type Installation, install, type Server, track } from "../support/start-server.ts";

/** `npm run test:conformance` runs every check, which takes minutes: sleeping is real here. */
const IS_WHOLE = process.env["PODKEEP_CONFORMANCE"] === "whole";
if (IS_WHOLE) setDefaultTimeout(4 * PATIENCE);

const NGINX = "/usr/sbin/nginx";

/** One race, and what needs no seconds to pass. */
const QUICK =
  /^(openpodcast\/(auth|add|read|change)\/|openpodcast\/page\/(next|by|previous|changes)|openpodcast-draft\/|(gpodder|nextcloud)\/(auth|login|devices)\/|gpodder\/race-kasts\/added-between-download-and-upload|(gpodder|nextcloud)\/subscriptions\/(list|again|first|whole|upload|url|a-local)|(gpodder|nextcloud)\/episodes\/(two|every))/;
const isWanted = ({ id }: Check) => IS_WHOLE || QUICK.test(id);

let ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.reverse()) await end();
  ends = [];
});

/** Targets at a URL, each with a user of two tokens. In this process, because a command for each takes longer. */
async function openTargets(url: string, { data }: Installation, env: Record<string, string>, count: number) {
  const app = await openApp(readConfig({}, { PODKEEP_DATA_DIR: data, ...env }).config);
  const targets: Target[] = [];
  async function issue(user: string): Promise<string> {
    const actor = await actAsAdmin(app, user, "test");
    return (await issueToken(app, actor, { label: "test", scope: "write", expires_at: null })).token;
  }
  await createUser(app, "stranger");
  const other_user_token = await issue("stranger");
  for (let n = 0; n < count; n++) {
    const user = `user${n}`;
    await createUser(app, user);
    const [first, second] = [await issue(user), await issue(user)];
    targets.push({
      url: readBaseUrl(url) ?? "",
      user,
      password: first,
      token: first,
      second_token: second,
      second_password: second,
      other_user: "stranger",
      other_user_token,
      rate: 0,
      timeout: WAIT / 1000,
      send: (request) => fetch(request),
      clock: { now: Date.now, sleep: Bun.sleep },
    });
  }
  await app.close();
  return targets;
}

/** Runs the checks, sections at the same time with a user each, because most of the time is spent asleep. */
async function expectConform(url: string, podkeep: Installation, env: Record<string, string> = {}): Promise<void> {
  const sections = [...new Set(CHECKS.filter(isWanted).map(sectionOf))];
  const targets = await openTargets(url, podkeep, env, sections.length);
  const done = await Promise.all(
    targets.map((target, index) =>
      runChecks(target, (check) => isWanted(check) && sectionOf(check) === sections[index]),
    ),
  );
  const results = done.flatMap((run) => run.results);
  expect(done.map(({ ended }) => ended).filter(Boolean)).toEqual([]);
  expect(results.filter(({ outcome }) => outcome !== "passed").map(({ check, reason }) => [check.id, reason])).toEqual(
    [],
  );
  expect(results.length).toBe(CHECKS.filter(isWanted).length);
  const requests = done.reduce((sum, run) => sum + run.requests, 0);
  if (IS_WHOLE) console.log(`${results.length} checks passed with ${requests} requests`);
}

async function serve(podkeep: Installation, env: Record<string, string> = {}): Promise<Server> {
  const server = await podkeep.serve({ PODKEEP_OPEN_PODCAST_DRAFT: "on", ...env });
  ends.push(() => server.end("SIGKILL"));
  return server;
}

/** A proxy on loopback. @param leadsTo the URL for a request, or null for 404 */
function startProxy(port: number, leadsTo: (url: URL) => string | null): string {
  const proxy = Bun.serve({
    port,
    hostname: "127.0.0.1",
    // The server decides how long a response takes.
    idleTimeout: 0,
    async fetch(request) {
      const to = leadsTo(new URL(request.url));
      if (to === null) return new Response("", { status: 404 });
      const { method, headers } = request;
      const body = method === "GET" || method === "HEAD" ? null : await request.arrayBuffer();
      const answer = await fetch(to, { method, headers, body, redirect: "manual", decompress: false });
      return new Response(answer.body, { status: answer.status, headers: answer.headers });
    },
  });
  ends.push(() => proxy.stop(true));
  return proxy.url.origin;
}

/** nginx as docs/operators/install.md has it, without TLS. @returns its URL */
async function startNginx(server: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "podkeep-nginx-"));
  // Its workers are another account, and keep bodies of more than 16 KB there.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (one) => `${one}_temp_path ${folder}/${one};`,
  );
  writeFileSync(
    join(folder, "nginx.conf"),
    `daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
events {}
http { access_log off; ${temporary.join(" ")}
  server { listen 127.0.0.1:${port}; client_max_body_size 20m;
    location / { proxy_pass ${server}; proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto $scheme; } } }
`,
  );
  const child = track(
    Bun.spawn([NGINX, "-c", join(folder, "nginx.conf"), "-e", join(folder, "error.log")], { stderr: "ignore" }),
  );
  ends.push(async () => {
    child.kill("SIGTERM");
    await child.exited;
    rmSync(folder, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`nginx: ${await Bun.file(join(folder, "error.log")).text()}`);
    return fetch(`${url}/openapi.json`).then(
      (response) => response.ok,
      () => false,
    );
  });
  return url;
}

describe(`${IS_WHOLE ? "every check" : "a choice of checks"} passes over a socket`, () => {
  test("with a file", async () => {
    const podkeep = install();
    await expectConform((await serve(podkeep)).url, podkeep);
  });

  test("with two servers on PostgreSQL, asked in turns", async () => {
    const postgres = await sharedPostgres();
    const name = `conformance${crypto.randomUUID().slice(0, 8)}`;
    await postgres.createDatabase(name);
    const env = { PODKEEP_DATABASE_URL: postgres.url(name) };
    const podkeep = install();
    const servers = [await serve(podkeep, env), await serve(podkeep, env)];
    let turn = 0;
    const url = startProxy(0, ({ pathname, search }) => `${servers[turn++ % servers.length]?.url}${pathname}${search}`);
    await expectConform(url, podkeep, env);
    expect(turn).toBeGreaterThan(100);
  });

  if (!existsSync(NGINX)) console.warn("  conformance behind nginx: skipped, because nginx-light is not installed");
  test.skipIf(!existsSync(NGINX))("behind nginx", async () => {
    const podkeep = install();
    const url = await startNginx((await serve(podkeep, { PODKEEP_TRUSTED_PROXIES: "127.0.0.1" })).url);
    await expectConform(url, podkeep);
  });

  test("under a path", async () => {
    const podkeep = install();
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/pod`;
    const server = await serve(podkeep, { PODKEEP_PUBLIC_URL: url });
    startProxy(port, ({ pathname, search }) =>
      pathname.startsWith("/pod/") ? `${server.url}${pathname.slice("/pod".length)}${search}` : null,
    );
    await expectConform(url, podkeep);
  });
});
