// Smoke test of an executable: `bun scripts/smoke.ts [EMULATOR ...] FILE` serves, creates a user, syncs, deletes.
import { strict as assert } from "node:assert";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";

/** Milliseconds; an emulator is slow. */
const TIMEOUT = 60_000;
const GUID = "9b024349-ccf0-5f69-a609-6b82873eab3c";

const command = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "podkeep-smoke-"));
// Without the caller's settings, which can name a database that is in use.
const others = Object.entries(process.env).filter(([name]) => !name.startsWith("PODKEEP_"));
const env = { ...Object.fromEntries(others), PODKEEP_DATA_DIR: folder, PODKEEP_PORT: "0" };

async function podkeep(...words: string[]): Promise<unknown> {
  const child = Bun.spawn([...command, ...words, "--json"], { env, stdout: "pipe", stderr: "inherit" });
  const text = await child.stdout.text();
  assert.equal(await child.exited, 0, `podkeep ${words.join(" ")}`);
  return JSON.parse(text);
}

/** The URL that the server prints. */
async function addressOf(output: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of output) {
    text += decoder.decode(chunk, { stream: true });
    const found = /http:\/\/127\.0\.0\.1:\d+/.exec(text);
    if (found) return found[0];
  }
  throw new Error(`The server exited: ${text}`);
}

function say(what: string): void {
  console.log(`ok  ${what}`);
}

async function tryOut(address: string): Promise<void> {
  await podkeep("user", "create", "ann");
  const { token } = z.object({ token: z.string() }).parse(await podkeep("token", "issue", "ann"));
  say("user and token");
  const request = async (method: string, path: string, body?: object) => {
    const response = await fetch(address + path, {
      method,
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(TIMEOUT),
    });
    return { status: response.status, text: await response.text() };
  };
  const added = await request("POST", "/subscriptions", { subscriptions: [{ feed_url: "https://podnews.net/rss" }] });
  assert.equal(added.status, 200);
  assert.ok(added.text.includes(GUID), added.text);
  const listed = await request("GET", "/v1/subscriptions");
  assert.ok(listed.text.includes("https://podnews.net/rss"), listed.text);
  say("sync");
  assert.equal((await request("DELETE", `/subscriptions/${GUID}`)).status, 202);
  const end = Date.now() + TIMEOUT;
  while (!(await request("GET", "/deletions/1")).text.includes("SUCCESS")) {
    assert.ok(Date.now() < end, "the deletion does not finish");
    await Bun.sleep(200);
  }
  assert.equal((await request("GET", `/subscriptions/${GUID}`)).status, 410);
  say("delete");
  assert.equal((await fetch(`${address}/readyz`)).status, 200);
  say("ready");
}

const server = Bun.spawn([...command, "serve"], { env, stdout: "pipe", stderr: "inherit" });
try {
  const address = await addressOf(server.stdout);
  say(`serves on ${address}`);
  await tryOut(address);
  server.kill("SIGTERM");
  assert.equal(await server.exited, 0);
  say("stops");
} finally {
  server.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
