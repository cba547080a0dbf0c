// Devices: what syncs, by the ids that apps choose.
import type { DeviceTable } from "../../db/schema.ts";
import type { Tx } from "../../db/statement.ts";
import { isSeen, printable } from "../../domain/printable.ts";
import { DomainError } from "../../errors.ts";
import { deleteCursorsOf } from "../../store/cursors.ts";
import {
  deleteDevice,
  deleteOldDevices,
  keepDevice,
  listAllDevices as listAllRows,
  listDevices as listRows,
  updateDevice,
} from "../../store/devices.ts";
import { type Actor, requireWrite } from "../actor.ts";
import type { Context } from "../context.ts";
import { transact } from "../transact.ts";

export type DeviceType = DeviceTable["type"];

const ID = /^(?!\.{1,2}$)[\w.-]{1,255}$/;
const LONGEST_CAPTION = 200;
/** Devices of a user; one more ends the one that was not seen for longest. */
export const MOST_DEVICES = 200;

/** Letters of ASCII, digits and _ . - (the gPodder API's rule, and a limit). Browsers take . and .. for paths. */
export const isDeviceId = (id: string) => ID.test(id);

/** Of a sign that is cut in two, such as an emoji, the half is left out. Empty if it shows nothing. */
function readCaption(text: string): string {
  const caption = printable(text).trim().slice(0, LONGEST_CAPTION);
  return isSeen(caption) ? caption.replace(/\p{Cs}$/u, "") : "";
}

/** Lists the actor's user's devices by id. */
export function listDevices({ database }: Context, { user_id }: Actor) {
  return database.read((tx) => listRows(tx, { user_id }));
}

/** A device that syncs. */
export type Device = Awaited<ReturnType<typeof listDevices>>[number];

/** The device of the actor's token; null if it has none or several. */
export async function findDeviceOf(context: Context, actor: Actor): Promise<string | null> {
  if (actor.kind !== "token") return null;
  const [only, ...others] = (await listDevices(context, actor)).filter(({ token_id }) => token_id === actor.id);
  return only && others.length === 0 ? only.id : null;
}

/** Lists the devices of all users, by user and id. */
export const listAllDevices = ({ database }: Context) => database.read((tx) => listAllRows(tx, {}));

/**
 * Creates a device, or sets what is given of one that is there.
 * @param product the app's; as a caption it is no reason to give up another one
 */
export async function saveDevice(
  context: Context,
  actor: Actor,
  { id, caption, type }: { id: string; caption?: string | undefined; type?: DeviceType | undefined },
  product: string | null = null,
): Promise<void> {
  const named = caption === undefined ? null : readCaption(caption) || null;
  const isProduct = named !== null && named.toLowerCase() === product?.toLowerCase();
  await transact(context, actor, async ({ tx, user_id }) => {
    await keep(tx, newDevice(actor, id, context.clock.now()));
    const isNamed = isProduct && (await listRows(tx, { user_id })).some((one) => one.id === id && one.caption !== id);
    await updateDevice(tx, { user_id, id, caption: isNamed ? null : named, type: type ?? null });
  });
}

/** Notes that a device synced now; an unknown one is created. @param now wall time in Unix milliseconds */
export async function noteSync(tx: Tx, actor: Actor, id: string, now: number): Promise<void> {
  await keep(tx, { ...newDevice(actor, id, now), last_sync_at: now });
}

/** The device of an app that names none, by its token. */
export const deviceOfToken = (token_id: string) => `nextcloud-${token_id}`;

/** Creates the device of the actor's token. */
export async function createDeviceOfToken(tx: Tx, actor: Actor & { id: string }, now: number): Promise<void> {
  await keep(tx, newDevice(actor, deviceOfToken(actor.id), now));
}

async function keep(tx: Tx, device: DeviceTable): Promise<void> {
  const [kept] = await keepDevice(tx, { ...device });
  const isNew = kept?.created_at === device.created_at;
  if (isNew) await deleteOldDevices(tx, { user_id: device.user_id, id: device.id, kept: MOST_DEVICES - 1 });
}

function newDevice({ user_id, kind, id: credential, label }: Actor, id: string, created_at: number): DeviceTable {
  const token_id = kind === "token" ? credential : null;
  const named = token_id !== null && id === deviceOfToken(token_id) ? readCaption(label ?? "") : "";
  return {
    user_id,
    id,
    caption: named || id,
    type: "other",
    token_id,
    created_at,
    last_sync_at: null,
    usual_pause: null,
  };
}

/** @throws DomainError "not_found", or "invalid" for an empty caption */
export async function renameDevice({ database }: Context, actor: Actor, id: string, text: string) {
  requireWrite(actor);
  const { user_id } = actor;
  const caption = readCaption(text);
  if (!caption || text.trim().length > LONGEST_CAPTION)
    throw new DomainError("invalid", `A device's name has 1 to ${LONGEST_CAPTION} printable characters`);
  const [row] = await database.write((tx) => updateDevice(tx, { user_id, id, caption, type: null }), user_id);
  if (!row) throw new DomainError("not_found", `There is no device ${id}`);
  return row;
}

/** Deletes a device. If its app syncs again, it starts from the beginning; what it holds stays known. @throws DomainError "not_found" */
export async function forgetDevice(context: Context, actor: Actor, id: string): Promise<void> {
  const [row] = await transact(context, actor, async ({ tx, user_id }) => {
    await deleteCursorsOf(tx, { user_id, device: id });
    return deleteDevice(tx, { user_id, id });
  });
  if (!row) throw new DomainError("not_found", `There is no device ${id}`);
}
