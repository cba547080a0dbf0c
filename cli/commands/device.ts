// `podkeep device`: lists, renames and forgets the devices of apps.
import type { Command } from "commander";
import { actAsAdmin } from "../../src/services/actor.ts";
import { forgetDevice, listAllDevices, listDevices, renameDevice } from "../../src/services/devices.ts";
import { requireUser } from "../../src/services/users.ts";
import { confirm } from "../terminal/confirm.ts";
import { formatPast, formatTime, layTable, printResult, toDay } from "../terminal/output.ts";
import { withApp } from "../with-app.ts";

export function addDeviceCommands(program: Command): void {
  const device = program.command("device").description("List, rename and forget devices");
  device
    .command("list [user]")
    .description("List the devices of a user or of all, and when they last synced (to the hour if nothing changed)")
    .addHelpText("after", "\nExample: podkeep device list alice")
    .action((user: string | undefined, _options: unknown, command: Command) => list(user, command));
  device
    .command("rename <user> <id> <name>")
    .description("Rename a device; its app may change the name back")
    .addHelpText("after", '\nExample: podkeep device rename alice antennapod-1 "My phone"')
    .action((user: string, id: string, name: string, _options: unknown, command: Command) =>
      rename(user, id, name, command),
    );
  device
    .command("forget <user> <id>")
    .description("Delete a device; it comes back if its app syncs again")
    .option("--yes", "don't ask")
    .addHelpText("after", "\nExample: podkeep device forget alice antennapod-1 --yes")
    .action((user: string, id: string, { yes }: { yes?: boolean }, command: Command) => forget(user, id, yes, command));
}

async function list(user: string | undefined, command: Command): Promise<void> {
  const { rows, now } = await withApp(command, async (app) => {
    if (user === undefined) return { rows: await listAllDevices(app), now: app.clock.now() };
    const { name } = await requireUser(app, user);
    const own = await listDevices(app, await actAsAdmin(app, user, "device list"));
    return { rows: own.map((row) => ({ user: name, ...row })), now: app.clock.now() };
  });
  const devices = rows.map(({ user, id, caption, type, token_id, created_at, last_sync_at }) => ({
    user,
    id,
    name: caption,
    type,
    created: formatTime(created_at),
    last_sync: formatTime(last_sync_at),
    token: token_id,
  }));
  await printResult(command, devices, () =>
    layTable(
      ["USER", "ID", "NAME", "TYPE", "CREATED", "LAST SYNC", "TOKEN"],
      rows.map((row) => [
        row.user,
        row.id,
        row.caption,
        row.type,
        formatTime(row.created_at) ?? "-",
        formatPast(row.last_sync_at, now),
        row.token_id ?? "-",
      ]),
      "No devices: a device is added at its app's first sync",
      { shorten: toDay },
    ),
  );
}

async function rename(user: string, id: string, name: string, command: Command): Promise<void> {
  const { caption } = await withApp(command, async (app) =>
    renameDevice(app, await actAsAdmin(app, user, "device rename"), id, name),
  );
  await printResult(command, { id, name: caption }, () => `Renamed device ${id} to ${caption}`);
}

async function forget(user: string, id: string, yes: boolean | undefined, command: Command): Promise<void> {
  await withApp(command, async (app) => {
    const actor = await actAsAdmin(app, user, "device forget");
    await confirm(`Delete device ${id} of ${user}?`, yes);
    await forgetDevice(app, actor, id);
  });
  await printResult(command, { id, deleted: true }, () => `Deleted device ${id}`);
}
