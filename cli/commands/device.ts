// `podkeep device`: lists, renames and forgets the devices of apps.
import type { Command } from "commander";
import type { App } from "../../src/app.ts";
import { DomainError } from "../../src/errors.ts";
import { type Admin, actAsAdmin } from "../../src/services/actor.ts";
import { forgetDevice, listAllDevices, listDevices, renameDevice } from "../../src/services/devices/devices.ts";
import { listRefusals, listRefusalsOfAll } from "../../src/services/devices/refusals.ts";
import { confirm } from "../terminal/confirm.ts";
import { formatPast, formatTime, layTable, printResult, toDay } from "../terminal/output.ts";
import { withApp, withUser } from "../with-app.ts";

export function addDeviceCommands(program: Command): void {
  const device = program.command("device").description("List, rename and forget devices");
  device
    .command("list [user]")
    .description("List devices, when they last synced (to the hour if nothing changed), and what was refused last")
    .addHelpText("after", "\nExample: podkeep device list ann")
    .action(list);
  device
    .command("rename <user> <id> <name>")
    .description("Rename a device; its app may change the name back")
    .addHelpText("after", '\nExample: podkeep device rename ann antennapod-1 "My phone"')
    .action(rename);
  device
    .command("forget <user> <id>")
    .description("Delete a device; it comes back if its app syncs again")
    .option("--yes", "don't ask")
    .addHelpText("after", "\nExample: podkeep device forget ann antennapod-1 --yes")
    .action(forget);
}

type Refusal = Awaited<ReturnType<typeof listRefusals>>[number];

async function list(user: string | undefined, _options: unknown, command: Command): Promise<void> {
  const { rows, refusals, now } = await withApp(command, async (app) => {
    const now = app.clock.now();
    if (user === undefined) return { rows: await listAllDevices(app), refusals: await listRefusalsOfAll(app), now };
    const actor = await actAsAdmin(app, user, "device list");
    const rows = (await listDevices(app, actor)).map((row) => ({ user: actor.name, ...row }));
    return { rows, refusals: await listRefusals(app, actor), now };
  });
  const listed = [
    ...rows.map((row) => {
      return { ...row, refusal: refusals.find(({ user, device }) => user === row.user && device === row.id) };
    }),
    ...refusals.filter(({ device }) => device === "").map(ofNoDevice),
  ];
  const devices = listed.map(({ user, id, caption, type, token_id, created_at, last_sync_at, refusal }) => ({
    user,
    id,
    name: caption,
    type,
    created: formatTime(created_at),
    last_sync: formatTime(last_sync_at),
    last_refused: formatTime(refusal?.refused_at ?? null),
    reason: refusal?.reason ?? null,
    token: token_id,
  }));
  await printResult(command, devices, () =>
    layTable(
      ["USER", "ID", "NAME", "TYPE", "CREATED", "LAST SYNC", "LAST REFUSED", "REASON", "TOKEN"],
      listed.map(({ user, id, caption, type, token_id, created_at, last_sync_at, refusal }) => [
        user,
        id ?? "-",
        caption ?? "-",
        type ?? "-",
        formatTime(created_at) ?? "-",
        formatPast(last_sync_at, now),
        formatPast(refusal?.refused_at ?? null, now),
        refusal?.reason ?? "-",
        token_id ?? "-",
      ]),
      "No devices: a device is added at its app's first sync",
      { shorten: toDay, spare: "CREATED" },
    ),
  );
}

/** The refusal of a request that named no known device, as a device that has nothing else. */
const ofNoDevice = (refusal: Refusal) => ({
  user: refusal.user,
  id: null,
  caption: refusal.app,
  type: null,
  token_id: null,
  created_at: null,
  last_sync_at: null,
  refusal,
});

/** Runs `work` on a device of the user. @throws DomainError "not_found" */
const withDevice = <T>(command: Command, user: string, id: string, work: (app: App, admin: Admin) => Promise<T>) =>
  withUser(command, user, async (app, admin) => {
    if (!(await listDevices(app, admin)).some((device) => device.id === id))
      throw new DomainError("not_found", `There is no device ${id}: podkeep device list ${user} shows the ids`);
    return work(app, admin);
  });

async function rename(user: string, id: string, name: string, _options: unknown, command: Command): Promise<void> {
  const { caption } = await withDevice(command, user, id, (app, actor) => renameDevice(app, actor, id, name));
  await printResult(command, { id, name: caption }, () => `Renamed device ${id} to ${caption}`);
}

async function forget(user: string, id: string, { yes }: { yes?: boolean }, command: Command): Promise<void> {
  await withDevice(command, user, id, async (app, admin) => {
    await confirm(`Delete device ${id} of ${admin.name}?`, yes);
    await forgetDevice(app, admin, id);
  });
  await printResult(command, { id, deleted: true }, () => `Deleted device ${id}`);
}
