// Apps of a user: tokens, and the devices that sync by them.
import { DomainError } from "../errors.ts";
import { listUserTokens, revokeToken as revokeRow } from "../store/tokens.ts";
import { type Actor, requirePassword, type Scope } from "./actor.ts";
import type { Context } from "./context.ts";
import { listDevices } from "./devices.ts";

/** A token that can sign in; times are Unix milliseconds. */
export interface ConnectedApp {
  id: string;
  label: string;
  scope: Scope;
  created_at: number;
  expires_at: number | null;
  /** To the hour; null if it was never used. */
  last_used_at: number | null;
  /** What syncs by this token. */
  devices: Device[];
}

/** A device that syncs. */
export type Device = Awaited<ReturnType<typeof listDevices>>[number];

/** Lists the apps that can sign in, the last used first, and the devices that sync by the password. */
export async function listApps(
  context: Context,
  actor: Actor,
): Promise<{ apps: ConnectedApp[]; byPassword: Device[] }> {
  const { database, clock } = context;
  const now = clock.now();
  const rows = await database.read((tx) => listUserTokens(tx, { user_id: actor.user_id }));
  const devices = await listDevices(context, actor);
  const apps = rows
    .filter(({ revoked_at, expires_at }) => revoked_at === null && (expires_at === null || expires_at > now))
    .map(({ id, label, scope, created_at, expires_at, last_used_at }) => ({
      id,
      label,
      scope,
      created_at,
      expires_at,
      last_used_at,
      devices: devices.filter(({ token_id }) => token_id === id),
    }))
    .sort((a, b) => (b.last_used_at ?? b.created_at) - (a.last_used_at ?? a.created_at));
  return { apps, byPassword: devices.filter(({ token_id }) => token_id === null) };
}

/**
 * Revokes an app's token immediately.
 * @throws DomainError "not_found" if the user has no such token, "forbidden" if the actor signed in with a token
 */
export async function revokeApp({ database, clock }: Context, actor: Actor, id: string): Promise<void> {
  requirePassword(actor);
  const { user_id } = actor;
  await database.write(async (tx) => {
    const rows = await listUserTokens(tx, { user_id });
    if (!rows.some((row) => row.id === id)) throw new DomainError("not_found", `There is no token ${id}`);
    await revokeRow(tx, { id, revoked_at: clock.now() });
  });
}
