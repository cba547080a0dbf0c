// `podkeep user` and `podkeep device` on accounts: passwords, sessions and devices.
import { afterAll, afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openApp } from "../../../src/app.ts";
import { readConfig } from "../../../src/config/settings.ts";
import { findPasswordLink } from "../../../src/services/accounts/password-links.ts";
import { createSession, readSession } from "../../../src/services/accounts/sessions.ts";
import { signIn } from "../../../src/services/accounts/sign-in.ts";
import { actAsAdmin } from "../../../src/services/actor.ts";
import { noteSync, saveDevice } from "../../../src/services/devices/devices.ts";
import { createRefusalLog, listRefusalsOfAll } from "../../../src/services/devices/refusals.ts";
import { saveRefusal } from "../../../src/store/refusals.ts";
import { UNLIMITED } from "../../support/attempts.ts";
import { addMuch, deletePart } from "../../support/deletion-parts.ts";
import { CAN_MOUNT, mountDisk, unmountDisks } from "../../support/disk.ts";
import { PATIENCE, until } from "../../support/patience.ts";
import { openProgram, PROGRAM, SOURCE } from "../../support/program.ts";
import { settle } from "../../support/rejection.ts";

setDefaultTimeout(PATIENCE);

// Many processes start.
let podkeep: ReturnType<typeof openProgram>;
beforeEach(() => {
  podkeep = openProgram();
});
afterEach(() => podkeep.close());
afterAll(unmountDisks);

const open = () => openApp(readConfig({ data_dir: podkeep.data }, {}).config);

async function isPassword(name: string, password: string): Promise<boolean> {
  const app = await open();
  const signedIn = await signIn(app, { name, password, app: null }, UNLIMITED).catch(() => null);
  await app.close();
  return signedIn !== null;
}

test("a user is created with a password from standard input, without its line's end", async () => {
  expect(await podkeep.run(["user", "create", "ann", "--password-stdin"], "correct: horse ü\n")).toMatchObject({
    code: 0,
    out: `Created user ann, data in ${podkeep.data}\n\nNext: sign in at http://127.0.0.1:8042, then choose Connect an app\n`,
  });
  expect(await isPassword("ann", "correct: horse ü")).toBe(true);
});

test("a name that was typed with spaces around it is printed as it is kept", async () => {
  const made = await podkeep.run(["user", "create", " ann ", "--password-stdin", "--json"], "correct horse\n");
  expect(made.json).toMatchObject({ name: "ann" });
  const { out } = await podkeep.run(["user", "create", "bob "]);
  expect(out).toBe(
    `Created user bob, data in ${podkeep.data}\n\nNext: podkeep token issue bob --label APP, or podkeep user password bob --link\n`,
  );
  expect((await podkeep.run(["user", "rename", "ann", " ann"])).out).toBe("ann has that name already\n");
  const { json } = await podkeep.run(["user", "rename", "ann ", " anna ", "--json"]);
  expect(json).toEqual({ name: "anna", before: "ann" });
});

test("an invitation and a password link are printed once, and no file has them", async () => {
  const url = "https://podcasts.example.org";
  const made = await podkeep.run(["user", "create", "bob", "--invite", "--public-url", url]);
  expect(made.code).toBe(0);
  const invitation = /https:\/\/podcasts\.example\.org\/password\/([a-z2-7]{32})/.exec(made.out)?.[1] ?? "none";
  expect(made.out).toContain("It works once, until");
  const { json } = await podkeep.run(["user", "password", "bob", "--link", "--public-url", url, "--json"]);
  expect(json.link.url).toStartWith(`${url}/password/`);
  const app = await open();
  const links = await Promise.all(
    [invitation, json.link.url.split("/").at(-1)].map((secret) => findPasswordLink(app, secret).catch(() => null)),
  );
  await app.close();
  expect(links.map((link) => link?.name)).toEqual([undefined, "bob"]);
  const files = await Array.fromAsync(new Bun.Glob("**/*").scan({ cwd: podkeep.data, absolute: true }));
  for (const file of files) expect(await Bun.file(file).text()).not.toContain(invitation);
  expect((await podkeep.run(["user", "create", "eve", "--invite", "--generate"])).code).toBe(2);
  expect((await podkeep.run(["user", "password", "bob", "--link", "--remove"])).code).toBe(2);
  expect((await podkeep.run(["user", "password", "nobody", "--link"])).code).toBe(4);
});

test("a link that no phone can open says what to set", async () => {
  const source = openProgram(SOURCE);
  const { out } = await source.run(["user", "create", "bob", "--invite"]);
  source.close();
  expect(out).toContain("http://127.0.0.1:8042/password/");
  expect(out).toContain("No phone reaches this server: stop it, and start it with PODKEEP_HOST=0.0.0.0 npm start");
});

test("a generated passphrase is printed once, apart from a token", async () => {
  const { json } = await podkeep.run(["user", "create", "ann", "--generate", "--json"]);
  expect(await isPassword("ann", json.password)).toBe(true);
  const { out } = await podkeep.run(["user", "password", "ann", "--generate"]);
  const [, passphrase = ""] = /Password +(\S+)/.exec(out) ?? [];
  expect(await isPassword("ann", passphrase)).toBe(true);
  expect(await isPassword("ann", json.password)).toBe(false);
  const both = (await podkeep.run(["user", "create", "bob", "--generate", "--token", "phone"])).out.split("\n\n");
  expect(both.slice(1)).toEqual([
    expect.stringMatching(/^Server[\s\S]+Password +podkeep_/),
    expect.stringMatching(/^Password +[a-z]{4}-[\s\S]+web page/),
  ]);
});

test("a bad password creates no user", async () => {
  for (const password of ["", "short", "with\u0000NUL and more", "no UTF-8: \ufffd", "a".repeat(1001)]) {
    expect((await podkeep.run(["user", "create", "ann", "--password-stdin"], password)).code).toBe(2);
  }
  const { code, err } = await podkeep.run(["user", "create", "ann", "--password"]);
  expect([code, err]).toEqual([2, expect.stringContaining("add --password-stdin or --generate")]);
  expect((await podkeep.run(["user", "create", "ann", "--generate", "--password-stdin"], "")).code).toBe(2);
  expect((await podkeep.run(["user", "create", "ann"])).code).toBe(0);
});

test("a name that differs in case only is taken, and names the same user, whose name is printed", async () => {
  await podkeep.run(["user", "create", "Ann"]);
  const { code, err } = await podkeep.run(["user", "create", "ANN"]);
  expect([code, err]).toEqual([1, expect.stringContaining("There is a user Ann already")]);
  expect((await podkeep.run(["user", "password", "ann", "--generate"])).out).toStartWith("Set the password of Ann. ");
  expect((await podkeep.run(["user", "sign-out", "ann"])).out).toBe("Ended all sessions of Ann\n");
  expect((await podkeep.run(["token", "issue", "ann", "--label", "phone"])).out).toMatch(/^User +Ann$/m);
  expect((await podkeep.run(["token", "list", "ann", "--json"])).json).toMatchObject([{ user: "Ann", label: "phone" }]);
  expect((await podkeep.run(["user", "delete", "ann", "--yes"])).out).toBe("Deleted user Ann\n");
});

test("a new password, none, and sign-out end sessions", async () => {
  await podkeep.run(["user", "create", "ann", "--generate"]);
  for (const args of [
    ["user", "sign-out", "ann"],
    ["user", "password", "ann", "--remove"],
    ["user", "password", "ann", "--generate"],
  ]) {
    let app = await open();
    const { text } = await createSession(app, await actAsAdmin(app, "ann", "test"), "page");
    await readSession(app, text, "page");
    await app.close();
    expect((await podkeep.run(args)).code).toBe(0);
    app = await open();
    expect(await settle(readSession(app, text, "page"))).toThrow("The session is unknown");
    await app.close();
  }
  expect((await podkeep.run(["user", "password", "ann", "--remove", "--generate"])).code).toBe(2);
  for (const command of ["password", "sign-out"]) {
    expect((await podkeep.run(["user", command, "nobody"])).code).toBe(4);
  }
});

test("lists show every user's devices, passwords and last syncs, and a time of a clock that was ahead", async () => {
  await podkeep.run(["user", "create", "ann", "--generate", "--token", "phone"]);
  await podkeep.run(["user", "create", "bob"]);
  const app = await open();
  const ann = await actAsAdmin(app, "ann", "test");
  await saveDevice(app, ann, { id: "phone", caption: "Phone", type: "mobile" });
  await saveDevice(app, await actAsAdmin(app, "bob", "test"), { id: "tablet" });
  const ahead = Date.now() + 10 * 365 * 24 * 60 * 60 * 1000;
  await app.database.write((tx) => noteSync(tx, ann, "phone", Date.parse("2026-01-02T03:04:05Z")));
  await app.database.write((tx) => noteSync(tx, { ...ann, user_id: ann.user_id }, "ahead", ahead));
  await app.close();
  expect((await podkeep.run(["device", "list", "--json"])).json).toMatchObject([
    { user: "ann", id: "ahead" },
    { user: "ann", id: "phone", last_sync: "2026-01-02T03:04:05Z" },
    { user: "bob", id: "tablet", last_sync: null },
  ]);
  expect((await podkeep.run(["device", "list"])).out).toMatch(/ann\tahead.*\tclock was ahead\t-\t-\t-$/m);
  await podkeep.run(["device", "forget", "ann", "ahead", "--yes"]);
  expect((await podkeep.run(["user", "list", "--json"])).json).toMatchObject([
    { name: "ann", tokens: 1, has_password: true, last_sync: "2026-01-02T03:04:05Z" },
    { name: "bob", tokens: 0, has_password: false, last_sync: null },
  ]);
});

test.skipIf(!CAN_MOUNT)("if the disk is full half-way, the error says that the user is there", async () => {
  const disk = mountDisk("size=512k");
  const data = ["--data-dir", join(disk, "data")];
  await podkeep.run(["user", "create", "first", ...data]);
  const half: string[] = [];
  for (let free = 32; free <= 48; free += 4) {
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(join(disk, "rest"), new Uint8Array(bavail * bsize - free * 1024));
    const { code, err } = await podkeep.run(["user", "create", `u${free}`, "--generate", "--token", "x", ...data]);
    rmSync(join(disk, "rest"));
    const { json } = await podkeep.run(["user", "list", "--json", ...data]);
    const isThere = json.some(({ name }: { name: string }) => name === `u${free}`);
    if (code !== 0) expect([free, err.startsWith(`error: Created user u${free}, but`)]).toEqual([free, isThere]);
    if (code !== 0 && isThere) half.push(err);
  }
  expect(half).toContainEqual(expect.stringContaining("the disk is full. podkeep user password u"));
});

test("a user is renamed, with everything that belongs to the user", async () => {
  await podkeep.run(["user", "create", "ann", "--token", "phone"]);
  await podkeep.run(["user", "create", "bob"]);
  const { out } = await podkeep.run(["user", "rename", "ANN", "Anna"]);
  expect(out).toBe("Renamed ann to Anna. Apps with the user name ann need the new one; tokens stay valid\n");
  expect((await podkeep.run(["user", "rename", "Anna", "ANNA"])).out).toBe("Renamed Anna to ANNA\n");
  expect((await podkeep.run(["user", "rename", "anna", "Anna"])).code).toBe(0);
  const same = await podkeep.run(["user", "rename", "Anna", "Anna"]);
  expect(same).toMatchObject({ code: 0, out: "Anna has that name already\n" });
  expect((await podkeep.run(["user", "rename", "anna", "anna"])).code).toBe(0);
  expect((await podkeep.run(["user", "rename", "bob", "ANNA"])).code).toBe(1);
  expect((await podkeep.run(["user", "rename", "bob", "b b"])).code).toBe(2);
  expect((await podkeep.run(["user", "rename", "ann", "carl"])).code).toBe(4);
  expect((await podkeep.run(["token", "list", "ANNA", "--json"])).json).toMatchObject([
    { user: "anna", label: "phone" },
  ]);
});

test("devices are listed, renamed and forgotten", async () => {
  await podkeep.run(["user", "create", "ann"]);
  const app = await open();
  const ann = await actAsAdmin(app, "ann", "test");
  await saveDevice(app, ann, { id: "phone.1", caption: "Ann's phone", type: "mobile" });
  await app.close();
  expect(await podkeep.run(["__complete", "device", "forget", "ann", ""])).toMatchObject({
    out: "phone.1\tAnn's phone\n",
  });
  expect((await podkeep.run(["device", "rename", "ann", "phone.1", "Old\x1b[31m phone"])).code).toBe(0);
  expect((await podkeep.run(["device", "list", "ann", "--json"])).json).toMatchObject([
    { user: "ann", id: "phone.1", name: "Old [31m phone", type: "mobile", last_sync: null, token: null },
  ]);
  for (const name of [" ", "n".repeat(201)])
    expect((await podkeep.run(["device", "rename", "ann", "phone.1", name])).code).toBe(2);
  expect((await podkeep.run(["device", "forget", "ann", "phone.1"])).code).toBe(2);
  for (const words of [
    ["forget", "ann", "phone.2"],
    ["rename", "ann", "phone.2", "My phone"],
  ])
    expect(await podkeep.run(["device", ...words])).toMatchObject({
      code: 4,
      err: "error: There is no device phone.2: podkeep device list ann shows the ids\n",
    });
  expect((await podkeep.run(["device", "forget", "ann", "phone.1", "--yes"])).code).toBe(0);
  for (const args of [
    ["list", "nobody"],
    ["forget", "ann", "phone.1", "--yes"],
    ["rename", "ann", "phone.1", "x"],
  ]) {
    expect((await podkeep.run(["device", ...args])).code).toBe(4);
  }
  expect((await podkeep.run(["device", "list", "ann"])).out).toBe(
    "USER\tID\tNAME\tTYPE\tCREATED\tLAST SYNC\tLAST REFUSED\tREASON\tTOKEN\n",
  );
});

test("the list of devices says what was refused last", async () => {
  await podkeep.run(["user", "create", "ann"]);
  const app = await open();
  const ann = await actAsAdmin(app, "ann", "test");
  await saveDevice(app, ann, { id: "phone", caption: "Phone", type: "mobile" });
  const unnamed = { device: "", refused_at: Date.parse("2026-01-02T03:04:05Z"), reason: "401 Wrong", app: "Kasts" };
  await app.database.write((tx) => saveRefusal(tx, { user_id: ann.user_id, ...unnamed }));
  const noteRefusal = createRefusalLog(app);
  noteRefusal({ name: "ann" }, { device: "phone", reason: "401 The token was revoked", app: "AntennaPod" });
  await until(async () => (await listRefusalsOfAll(app)).length > 1);
  noteRefusal({ name: "ann" }, { device: null, reason: "later than this test", app: null });
  await app.close();
  const { json } = await podkeep.run(["device", "list", "--json"]);
  const refused = { last_refused: expect.any(String), reason: "401 The token was revoked" };
  expect(json).toMatchObject([
    { id: "phone", last_sync: null, ...refused },
    { id: null, name: "Kasts", type: null, created: null, last_refused: "2026-01-02T03:04:05Z", reason: "401 Wrong" },
  ]);
  expect((await podkeep.run(["device", "list", "ann", "--json"])).json).toEqual(json);
  const { out } = await podkeep.run(["device", "list", "ann"]);
  expect(out).toContain("\t401 The token was revoked\t");
  expect(out).toMatch(/^ann\t-\tKasts\t-\t-\t-\t2026-01-02\S*\t401 Wrong\t-$/m);
});

test.each([
  "token issue ann",
  "user create bob --token phone",
  "user create bob --invite",
  "user create bob --generate",
  "user password ann --link",
  "user password ann --generate",
])("%s makes nothing if its output is closed or /dev/null, where a secret is lost", async (words) => {
  await podkeep.run(["user", "create", "ann"]);
  for (const output of ["-", "/dev/null"]) {
    const closed = ["bash", "-c", `exec "$@" >${output === "-" ? "&-" : output}`, "bash"];
    const { exitCode, stderr } = Bun.spawnSync([
      ...closed,
      ...PROGRAM,
      ...words.split(" "),
      "--data-dir",
      podkeep.data,
    ]);
    expect([exitCode, stderr.toString()]).toEqual([
      2,
      "error: The output is closed or /dev/null, where what it shows once would be lost. Nothing was changed\n",
    ]);
  }
  const users = (await podkeep.run(["user", "list", "--json"])).json;
  expect(users).toMatchObject([{ name: "ann", tokens: 0, has_password: false }]);
});

test.each([
  ["</dev/null", "Standard input has no password"],
  ["<&-", "Standard input has no password"],
  ["</", "Standard input can't be read: it is a directory"],
  ["</dev/zero", "Standard input is larger than 16 KB"],
  ["< <(printf 'gr\\xfc\\xdfe an alle')", "The password on standard input is not UTF-8"],
])("a password from %s is refused, and says why", async (input, reason) => {
  await podkeep.run(["user", "create", "ann"]);
  for (const words of ["user password ann", "import ann --from http://127.0.0.1:1"]) {
    const shell = ["bash", "-c", `exec "$@" ${input}`, "bash", ...PROGRAM, ...words.split(" "), "--password-stdin"];
    const { exitCode, stderr } = Bun.spawnSync([...shell, "--data-dir", podkeep.data]);
    expect([exitCode, stderr.toString()]).toEqual([reason.includes("larger") ? 1 : 2, `error: ${reason}\n`]);
  }
});

test("commands say of a user whose deletion was cut off that it is being deleted, until another deletion ends it", async () => {
  await podkeep.run(["user", "create", "ann"]);
  const app = await open();
  await addMuch(app, (await actAsAdmin(app, "ann", "test")).user_id);
  expect(await deletePart(app, "ann")).toBe("cut off");
  await app.close();
  for (const command of [
    ["user", "password", "ann", "--generate"],
    ["user", "password", "ann", "--remove"],
    ["user", "password", "ann", "--link"],
    ["user", "sign-out", "ann"],
    ["user", "rename", "ann", "bob"],
    ["user", "create", "ann"],
    ["token", "issue", "ann", "--label", "phone"],
    ["subscription", "list", "ann"],
    ["opml", "export", "ann"],
  ]) {
    const { code, err } = await podkeep.run(command);
    expect([command, code, err]).toEqual([command, 1, expect.stringContaining("podkeep user delete ann")]);
  }
  expect((await podkeep.run(["user", "delete", "ann", "--yes"])).out).toBe("Deleted user ann\n");
  expect((await podkeep.run(["user", "create", "ann"])).code).toBe(0);
});
