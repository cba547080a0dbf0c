// Steps of `podkeep service install` that fail.
import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownPlace, SYSTEM_PLACE } from "../../src/config/service.ts";
import { installSteps, NO_UNDO, type Step, takeSteps, undoSteps } from "../../src/systemd/install.ts";
import { CAN_MOUNT, mountDisk, unmountDisks } from "../support/disk.ts";

let folder: string;
let settings: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "podkeep-install-"));
  settings = join(folder, "podkeep.env");
  process.env["XDG_CONFIG_HOME"] = folder;
});
afterEach(() => {
  delete process.env["XDG_CONFIG_HOME"];
  rmSync(folder, { recursive: true, force: true });
});

afterAll(unmountDisks);

const unit = () => join(folder, "systemd/user/podkeep.service");
const writes = (): Step[] => [
  { write: settings, mode: 0o600, text: "PODKEEP_PORT=1\n" },
  { write: unit(), mode: 0o644, text: "[Service]\n" },
];

test("a first installation that fails is undone, so that systemd doesn't try again for ever, and says why", () => {
  const steps = [...writes(), { run: ["sh", "-c", "echo the port is taken >&2; exit 1"] }];
  const undo = undoSteps(steps, ownPlace());
  expect(undo.steps[0]).toEqual({ run: ["systemctl", "--user", "disable", "--now", "podkeep.service"] });
  expect(() => takeSteps(steps, undo, "journalctl --user -u podkeep")).toThrow(
    /the port is taken\. The installation was undone; journalctl --user -u podkeep shows why/,
  );
  expect([existsSync(settings), existsSync(unit())]).toEqual([false, false]);
});

test("a relative XDG_CONFIG_HOME is ignored, as systemd does, which would not find the service in it", () => {
  delete process.env["XDG_CONFIG_HOME"];
  const usual = ownPlace();
  process.env["XDG_CONFIG_HOME"] = "config";
  expect(ownPlace()).toEqual(usual);
});

test("a first installation that fails leaves settings as they were before it", () => {
  writeFileSync(settings, "PODKEEP_PORT=2\n");
  const steps: Step[] = [...writes(), { run: ["false"] }];
  const undo = undoSteps(steps, ownPlace());
  expect(() => takeSteps(steps, undo, "")).toThrow("false failed");
  expect(readFileSync(settings, "utf8")).toBe("PODKEEP_PORT=2\n");
  expect(existsSync(unit())).toBe(false);
});

test("a service that was installed before stays, with its settings", () => {
  takeSteps(writes(), NO_UNDO, "");
  const steps: Step[] = [{ write: unit(), mode: 0o644, text: "[Service]\nnew\n" }, { run: ["false"] }];
  expect(undoSteps(steps, ownPlace())).toEqual(NO_UNDO);
  expect(() => takeSteps(steps, undoSteps(steps, ownPlace()), "")).toThrow("false failed");
  expect(readFileSync(unit(), "utf8")).toContain("new");
  expect(existsSync(settings)).toBe(true);
});

test("new settings with which an installed service does not start are put back, and it starts with its own", () => {
  writeFileSync(settings, "PODKEEP_PORT=2\n");
  takeSteps(writes().slice(1), NO_UNDO, "");
  const started = join(folder, "started");
  const systemctl = ["sh", "-c", `cp ${settings} ${started}; grep -q PORT=2 ${settings}`];
  const steps: Step[] = [...writes(), { run: systemctl }];
  const undo = undoSteps(steps, { ...ownPlace(), systemctl });
  expect(() => takeSteps(steps, undo, "journalctl")).toThrow("The settings were put back; journalctl shows why");
  expect(readFileSync(started, "utf8")).toBe("PODKEEP_PORT=2\n");
});

test.skipIf(!CAN_MOUNT)("on a full disk the settings stay as they were", () => {
  const disk = mountDisk("size=16k");
  settings = join(disk, "podkeep.env");
  writeFileSync(settings, "PODKEEP_PORT=2\n");
  expect(() => writeFileSync(join(disk, "rest"), new Uint8Array(16 * 1024))).toThrow("ENOSPC");
  const step = { write: settings, mode: 0o600, text: "PODKEEP_PORT=3\n".repeat(1000) };
  expect(() => takeSteps([step], NO_UNDO, "")).toThrow(`${settings} can't be written: the disk is full`);
  expect(readFileSync(settings, "utf8")).toBe("PODKEEP_PORT=2\n");
  expect(readdirSync(disk).sort()).toEqual(["podkeep.env", "rest"]);
});

test("settings behind a symbolic link are written where they are", () => {
  const kept = join(folder, "kept.env");
  writeFileSync(kept, "PODKEEP_PORT=2\n");
  symlinkSync(kept, settings);
  takeSteps(writes(), NO_UNDO, "");
  expect(readFileSync(kept, "utf8")).toBe("PODKEEP_PORT=1\n");
});

test("an executable that a system service can't read is moved by a command for a shell, also with a space in its path", () => {
  const install = () => installSteps({ place: SYSTEM_PLACE, flags: {}, executable: "/home/ann/my files/podkeep" });
  expect(install).toThrow('move it: sudo install -m 755 "/home/ann/my files/podkeep" /usr/local/bin/podkeep');
});
