// The last refused request of each device: why an app doesn't sync.
import type { Tx } from "../../db/statement.ts";
import { printable } from "../../domain/printable.ts";
import type { Subject } from "../../errors.ts";
import { listDevices } from "../../store/devices.ts";
import {
  deleteOrphanedRefusals,
  listAllRefusals,
  listRefusals as listRows,
  saveRefusal,
} from "../../store/refusals.ts";
import { findUser } from "../accounts/users.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";

/** Milliseconds between two records of a user's refusals. */
const INTERVAL = 60_000;
/** Users and devices of each that wait to be recorded; further ones are not. */
const MOST = { users: 1000, devices: 20 };
const LONGEST_REASON = 200;
const LONGEST_DEVICE = 255;

interface Refusal {
  /** The device that the request named; null if it named none. */
  device: string | null;
  /** Without secrets. */
  reason: string;
  /** What the app calls itself; null if it does not. */
  app: string | null;
}

interface Waiting {
  subject: Subject;
  /** The last refusal of each device. */
  refusals: Map<string, Refusal & { refused_at: number }>;
}

/**
 * Makes a function that records refusals of existing users, who are named by id or name: the first of a user immediately,
 * later ones together once a minute, so that an app that asks again and again hardly writes.
 */
export function createRefusalLog({ database, clock }: Pick<Context, "database" | "clock">) {
  const waiting = new Map<string | number, Waiting>();
  const written = new Map<string | number, number>();
  let timer: NodeJS.Timeout | undefined;

  async function save(key: string | number, { subject, refusals }: Waiting): Promise<void> {
    const { user_id = (await database.read((tx) => findUser(tx, subject.name ?? "")))?.id } = subject;
    if (user_id === undefined) return void written.delete(key);
    await database.write((tx) => saveAll(tx, user_id, subject, refusals.values()), user_id);
  }

  function flush(isDue: (key: string | number) => boolean): void {
    for (const [key, one] of waiting) {
      if (!isDue(key)) continue;
      waiting.delete(key);
      if (written.size >= MOST.users) written.clear();
      // Before the user is read: the next refusal may come in that time.
      written.set(key, clock.now());
      // Not awaited: a full disk must not keep a response back.
      save(key, one).catch(() => {});
    }
    if (waiting.size > 0) timer ??= setTimeout(() => flush(() => true), INTERVAL).unref();
    else {
      clearTimeout(timer);
      timer = undefined;
    }
  }

  return (subject: Subject, refusal: Refusal): void => {
    const key = subject.user_id ?? subject.name?.toLowerCase();
    if (key === undefined) return;
    const now = clock.now();
    const own = waiting.get(key) ?? { subject, refusals: new Map() };
    const device = (refusal.device ?? "").slice(0, LONGEST_DEVICE);
    if (!waiting.has(key) && waiting.size >= MOST.users) return;
    if (!own.refusals.has(device) && own.refusals.size >= MOST.devices) return;
    const reason = printable(refusal.reason).slice(0, LONGEST_REASON);
    own.refusals.set(device, { ...refusal, reason, refused_at: now });
    waiting.set(key, { ...own, subject: { ...own.subject, ...subject } });
    flush((one) => Math.abs(now - (written.get(one) ?? Number.NEGATIVE_INFINITY)) >= INTERVAL);
  };
}

async function saveAll(
  tx: Tx,
  user_id: number,
  { token }: Subject,
  refusals: Iterable<Refusal & { refused_at: number }>,
): Promise<void> {
  const devices = await listDevices(tx, { user_id });
  const ofToken = devices.find(({ token_id }) => token_id === token)?.id ?? "";
  for (const { device, reason, app, refused_at } of refusals) {
    // A name that no device has may have been guessed, or be a secret in the wrong place.
    const known = devices.some(({ id }) => id === device) ? (device ?? "") : ofToken;
    await saveRefusal(tx, { user_id, device: known, refused_at, reason, app });
  }
  await deleteOrphanedRefusals(tx, { user_id });
}

/** Lists the last refusals of the actor's user by device; that of requests which named no known device has "". */
export const listRefusals = ({ database }: Context, { user_id }: Actor) =>
  database.read((tx) => listRows(tx, { user_id }));

/** Lists the last refusals of all users. */
export const listRefusalsOfAll = ({ database }: Context) => database.read((tx) => listAllRefusals(tx, {}));
