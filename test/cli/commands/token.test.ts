// `podkeep token issue`: the server's URL, remarks, and the QR code.
import { Database as Sqlite } from "bun:sqlite";
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { encode } from "uqr";
import { PATIENCE } from "../../support/patience.ts";
import { openProgram, SOURCE } from "../../support/program.ts";

setDefaultTimeout(PATIENCE);

// Many processes start.
let podkeep: ReturnType<typeof openProgram>;
beforeEach(() => openWith());
afterEach(() => podkeep.close());

async function openWith(program?: string[]): Promise<void> {
  podkeep = openProgram(program);
  await podkeep.run(["user", "create", "ann"]);
}

/** Runs what is started as `npm start` starts it, because advice names that. */
async function runSource(): Promise<void> {
  podkeep.close();
  await openWith(SOURCE);
}

const issue = async (...args: string[]) => (await podkeep.run(["token", "issue", "ann", "--json", ...args])).json;

test("the server's URL is the public one; one that only this machine reaches gets a remark", async () => {
  await runSource();
  const reached = await issue("--public-url", "https://pods.example");
  expect(reached).toMatchObject({
    address: "https://pods.example",
    remarks: [expect.stringContaining("not shown again")],
  });
  expect(await issue()).toMatchObject({
    address: "http://127.0.0.1:8042",
    remarks: [expect.anything(), expect.stringContaining("stop it, and start it with PODKEEP_HOST=0.0.0.0")],
  });
  expect((await podkeep.run(["token", "issue", "ann"])).out).toContain(
    "No phone reaches this server: stop it, and start it with PODKEEP_HOST=0.0.0.0 npm start",
  );
});

test("for a server that picks its port, URLs have PORT in its place, and it is said where the port is found", async () => {
  const picks = ["--port", "0"];
  const remark = "The server picks its port (PODKEEP_PORT=0): its log has the one in place of PORT.";
  expect(await issue(...picks)).toMatchObject({
    address: "http://127.0.0.1:PORT",
    remarks: expect.arrayContaining([remark]),
  });
  const { out } = await podkeep.run(["user", "password", "ann", "--link", ...picks]);
  expect(out).toContain("http://127.0.0.1:PORT/password/");
  expect(out).toContain(remark);
});

test("server, user and password are printed in the order in which apps ask for them; the header only for curl", async () => {
  const { out } = await podkeep.run(["token", "issue", "ann", "--public-url", "https://pods.example"]);
  expect(out.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
    ["Server", "https://pods.example"],
    ["User", "ann"],
    ["Password", expect.stringMatching(/^podkeep_/)],
    ["", expect.stringContaining("not shown again")],
    [""],
  ]);
  const more = await podkeep.run(["token", "issue", "ann", "--scope", "read", "--expires", "2099-01-01"]);
  expect(more.out).toMatch(/^Scope +read\nExpires +2099-01-01T00:00:00Z$/m);
  const { out: header } = await podkeep.run(["token", "issue", "ann", "--header"]);
  expect(header).toMatch(/^Authorization: Bearer podkeep_\S+\n$/);
  const both = await podkeep.run(["token", "issue", "ann", "--header", "--qr"]);
  expect([both.code, both.err]).toEqual([2, expect.stringContaining("cannot be used with option '--qr'")]);
});

test.each([
  [["token", "list"], "No tokens: podkeep token issue USER --label APP creates one"],
  [["subscription", "list", "ann"], "No subscriptions: connect an app, or add them with podkeep import ann FILE"],
  [["play", "list", "ann"], "No plays: apps send them when they sync"],
  [["backup", "list"], "No backups: podkeep backup create makes one"],
])("podkeep %p with nothing to list says on a terminal what to do next", async (args, text) => {
  expect((await podkeep.spawnOnTerminal(args).ended()).shown.trim()).toBe(text);
});

test("there is no QR code for a URL that no phone reaches", async () => {
  await runSource();
  const { shown } = await podkeep.spawnOnTerminal(["token", "issue", "ann", "--qr"]).ended();
  expect(shown).not.toMatch(/[▀▄█]/);
  expect(shown).toContain("stop it, and start it with PODKEEP_HOST=0.0.0.0 npm start");
});

test("a second token with the same label gets a remark with the command that revokes the first", async () => {
  const first = await issue("--label", "phone");
  expect(first.remarks.join()).not.toContain("another");
  const remark = `ann has another token labelled phone. To revoke: podkeep token revoke ${first.id}`;
  expect((await issue("--label", "phone")).remarks).toContain(remark);
  expect((await issue("--label", "phone")).remarks.join()).toContain("ann has 2 more tokens labelled phone");
  expect((await issue("--label", "tablet")).remarks.join()).not.toContain("another");
  expect((await issue()).remarks.join()).not.toContain("another");
  for (const { id } of (await podkeep.run(["token", "list", "--json"])).json) {
    await podkeep.run(["token", "revoke", id, "--yes"]);
  }
  expect((await issue("--label", "phone")).remarks.join()).not.toContain("another");
});

/** The modules of a QR code that was printed, true for dark; each character is two of them. */
function readQr(lines: string[]): boolean[][] {
  const halves: Record<string, [boolean, boolean]> = {
    " ": [true, true],
    "▀": [false, true],
    "▄": [true, false],
    "█": [false, false],
  };
  return lines.flatMap((line) => {
    const pairs = [...line].map((character): [boolean, boolean] => halves[character] ?? [false, false]);
    return [pairs.map(([upper]) => upper), pairs.map(([, lower]) => lower)];
  });
}

test("--qr shows the server's URL, the user and the token as a QR code, white on black", async () => {
  const { shown } = await podkeep
    .spawnOnTerminal(["token", "issue", "ann", "--qr", "--public-url", "https://pods.example"])
    .ended();
  const painted = shown.split(/\r?\n/).filter((line) => /[▀▄█]/.test(line));
  for (const line of painted) expect(line).toStartWith("\x1b[40m\x1b[97m");
  const lines = painted.map((line) => Bun.stripANSI(line));
  const token = /Password +(\S+)/.exec(Bun.stripANSI(shown))?.[1];
  const { data, size } = encode(`Server: https://pods.example\nUser: ann\nPassword: ${token}`, { border: 2 });
  expect(readQr(lines).slice(0, size)).toEqual(data);
});

test("a user's list has that user's tokens alone, and so have remarks on tokens with the same label", async () => {
  await podkeep.run(["user", "create", "bob"]);
  await podkeep.run(["token", "issue", "bob", "--label", "phone"]);
  expect((await issue("--label", "phone")).remarks.join()).not.toContain("another");
  const { out } = await podkeep.run(["token", "list", "ann"]);
  expect(out).toContain("ann\tphone");
  expect(out).not.toContain("bob");
});

test("a name that differs only in case is refused", async () => {
  const { code, err } = await podkeep.run(["user", "create", "ANN"]);
  expect([code, err]).toEqual([1, "error: There is a user ann already\n"]);
});

test("the list says of a token that was used while the clock was ahead that it was", async () => {
  await issue("--label", "old phone");
  const sqlite = new Sqlite(join(podkeep.data, "podkeep.db"));
  sqlite.run("update tokens set last_used_at = ?", [Date.now() + 10 * 365 * 24 * 60 * 60 * 1000]);
  sqlite.close();
  expect((await podkeep.run(["token", "list"])).out).toMatch(/ann\told phone\t.*\tclock was ahead\tactive$/m);
});
