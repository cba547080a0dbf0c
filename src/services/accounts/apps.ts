// Apps of a user: tokens, and the devices that sync by them.
import { isSeen, printable } from "../../domain/printable.ts";
import { DomainError } from "../../errors.ts";
import { listProducts } from "../../store/clients.ts";
import { renameDevice } from "../../store/devices.ts";
import { listUserTokens, renameToken } from "../../store/tokens.ts";
import { type Actor, requirePassword, type Scope } from "../actor.ts";
import type { Context } from "../context.ts";
import { type Device, deviceOfToken, listDevices } from "../devices/devices.ts";
import { listSessions, type PageSession } from "./sessions.ts";
import { checkLabel, isLive, revokeIn } from "./tokens.ts";

/** A token that can sign in; times are Unix milliseconds. */
export interface ConnectedApp {
  id: string;
  label: string;
  scope: Scope;
  created_at: number;
  expires_at: number | null;
  /** To the hour, if it has no device; null if it was never used. */
  last_used_at: number | null;
  /** What the apps that synced by it call themselves. */
  products: string[];
  /** What syncs by this token. */
  devices: Device[];
}

/** The ids of the tokens that were not revoked. Some may have expired. */
export async function listKeptTokens({ database }: Context, { user_id }: Actor): Promise<Set<string>> {
  const tokens = await database.read((tx) => listUserTokens(tx, { user_id }));
  return new Set(tokens.flatMap(({ id, revoked_at }) => (revoked_at === null ? id : [])));
}

/**
 * Lists the apps that can sign in, the last used first, the devices that sync by the password, those whose token has ended,
 * and the sessions of the page if the actor may end them.
 */
export async function listApps(
  context: Context,
  actor: Actor,
): Promise<{ apps: ConnectedApp[]; byPassword: Device[]; ended: Device[]; sessions: PageSession[] }> {
  const { database, clock } = context;
  const now = clock.now();
  const rows = await database.read((tx) => listUserTokens(tx, { user_id: actor.user_id }));
  const devices = await listDevices(context, actor);
  const products = await database.read((tx) => listProducts(tx, { user_id: actor.user_id }));
  const apps = rows
    .filter((row) => isLive(row, now))
    .map(({ id, label, scope, created_at, expires_at, last_used_at }) => {
      const own = devices.filter(({ token_id }) => token_id === id);
      const uses = [last_used_at, ...own.map(({ last_sync_at }) => last_sync_at)].filter((at) => at !== null);
      const named = products.flatMap(({ token_id, product }) => (token_id === id && product ? product : []));
      return {
        id,
        label,
        scope,
        created_at,
        expires_at,
        last_used_at: uses.length === 0 ? null : Math.max(...uses),
        products: [...new Set(named)],
        devices: own,
      };
    })
    .sort((a, b) => (b.last_used_at ?? b.created_at) - (a.last_used_at ?? a.created_at));
  const isOfToken = ({ token_id }: PageSession) => token_id === null || apps.some(({ id }) => id === token_id);
  const sessions = actor.id !== null ? [] : (await listSessions(context, actor)).filter(isOfToken);
  const byPassword = devices.filter(({ token_id }) => token_id === null);
  const ended = devices.filter(({ token_id }) => token_id !== null && !apps.some(({ id }) => id === token_id));
  return { apps, byPassword, ended, sessions };
}

/**
 * Renames an app, and its device if that was called as the app.
 * @throws DomainError "not_found", "invalid" for a bad label, "forbidden" if the actor signed in with a token
 */
export async function renameApp({ database }: Context, actor: Actor, id: string, text: string): Promise<void> {
  requirePassword(actor);
  const { user_id } = actor;
  const label = printable(text).trim();
  if (!isSeen(label)) throw new DomainError("invalid", "An app's name has 1 to 100 printable characters");
  checkLabel(label);
  await database.write(async (tx) => {
    const before = (await listUserTokens(tx, { user_id })).find((token) => token.id === id);
    const [renamed] = await renameToken(tx, { user_id, id, label });
    if (!before || !renamed) throw new DomainError("not_found", `There is no token ${id}`);
    await renameDevice(tx, { user_id, id: deviceOfToken(id), from: before.label, to: label });
  }, user_id);
}

/**
 * Revokes an app's token immediately.
 * @throws DomainError "not_found" if the user has no such token, "forbidden" if the actor signed in with a token
 */
export async function revokeApp({ database, clock }: Context, actor: Actor, id: string): Promise<void> {
  requirePassword(actor);
  const { user_id } = actor;
  // Not in the user's turn: behind all that a stolen token sends, it would wait or be refused.
  await database.write(async (tx) => {
    const rows = await listUserTokens(tx, { user_id });
    if (!rows.some((row) => row.id === id)) throw new DomainError("not_found", `There is no token ${id}`);
    await revokeIn(tx, { id, revoked_at: clock.now() });
  });
}
