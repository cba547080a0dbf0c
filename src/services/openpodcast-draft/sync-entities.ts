// What the draft of the Open Podcast API tells of subscriptions: kept with every change, and read page by page (P2).
import type { Tx } from "../../db/statement.ts";
import type { SubscriptionChange } from "../../domain/subscription-state.ts";
import { createEntity, followChange, isCurrent, refreshEntity, type SyncEntity } from "../../domain/sync-entities.ts";
import { DomainError } from "../../errors.ts";
import { listChanged } from "../../store/change-feed.ts";
import { columnOf, rowsOf } from "../../store/rows.ts";
import { findSubscriptions } from "../../store/subscriptions.ts";
import {
  findEntities,
  listEntitiesOf,
  listLeftEntities,
  listSubscriptionsAfter,
  saveEntities,
} from "../../store/sync-entities.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import { clockIn, transactAsReader, type UserTx } from "../transact.ts";

/** A subscription as a client sees it; times are Unix milliseconds. */
export interface ShownEntity {
  sync_id: string;
  guid: string;
  feed_url: string;
  subscribed_at: number;
  /** Null while it is subscribed. */
  unsubscribed_at: number | null;
}

export interface SyncItem {
  /** The timestamp of the change on the user's clock. */
  changed_at: number;
  entity: ShownEntity;
}

/** Changes read at a time. */
const CHUNK = 500;

type Row = Awaited<ReturnType<typeof listChanged>>[number];
type State = Parameters<typeof createEntity>[0] & Pick<Row, "feed_url" | "guid">;

const newId = () => crypto.randomUUID();

/** Keeps the entities of what a transaction changed. A subscription that became part of another one leaves its own. */
export async function followEntities(
  { tx, user_id }: UserTx,
  changes: SubscriptionChange[],
  now: number,
): Promise<void> {
  const ids = new Set(changes.flatMap(({ before, after }) => [before, after].flatMap((one) => (one ? [one.id] : []))));
  const known = await listEntitiesOf(tx, { user_id }, rowsOf("id", ids));
  const rows = changes.flatMap(({ before, after, merged_into, changed_at }) => {
    const own = known.filter(({ subscription }) => subscription === (after ?? before)?.id);
    if (after) return [followChange(own.find(isCurrent), { before, after, changed_at }, newId(), now)];
    if (!merged_into || !before) return [];
    const left = { left_at: changed_at, left_url: before.feed_url, left_guid: before.guid };
    return own.map((one) => ({
      ...one,
      ...(isCurrent(one) ? left : {}),
      changed_at,
      subscription: merged_into.id,
      unsubscribed_at: one.unsubscribed_at ?? Math.min(changed_at, now),
    }));
  });
  await saveEntities(tx, { user_id }, rows);
}

/** The present entities of subscriptions, by their ids; those that the draft has not told yet are made. */
export async function requireEntities({ tx, user_id }: UserTx, ids: number[]): Promise<Map<number, SyncEntity>> {
  const wanted = rowsOf("id", ids);
  const found = await readEntities(tx, user_id, wanted);
  const missing = (await findSubscriptions(tx, { user_id }, wanted)).filter(({ id }) => !found.has(id));
  const made = missing.map((row) => createEntity(row, newId()));
  await saveEntities(tx, { user_id }, made);
  for (const one of made) found.set(one.subscription, one);
  return found;
}

/** Subscriptions by the sync_ids that they have or had, as they are now. */
export async function readPresent(user: UserTx, sync_ids: string[]): Promise<Map<string, ShownEntity>> {
  const { tx, user_id } = user;
  const named = await findEntities(tx, { user_id }, rowsOf("sync_id", sync_ids));
  const ids = named.map(({ subscription }) => subscription);
  const rows = new Map((await findSubscriptions(tx, { user_id }, rowsOf("id", ids))).map((row) => [row.id, row]));
  const entities = await requireEntities(user, ids);
  return new Map(
    named.flatMap(({ sync_id, subscription }) => {
      const [row, entity] = [rows.get(subscription), entities.get(subscription)];
      return row && entity ? [[sync_id, showEntity(row, entity)] as const] : [];
    }),
  );
}

async function readEntities(tx: Tx, user_id: number, of: { id: number }[]): Promise<Map<number, SyncEntity>> {
  const rows = await listEntitiesOf(tx, { user_id }, of);
  return new Map(rows.filter(isCurrent).map((row) => [row.subscription, row]));
}

/**
 * Reads with the entities of all subscriptions that `read` meets: those that are missing are made first, in a transaction, and
 * it reads again.
 */
async function readWithEntities<T>(
  context: Context,
  actor: Actor,
  read: (tx: Tx, entitiesOf: (rows: State[]) => Promise<Map<number, SyncEntity>>) => Promise<T>,
): Promise<T> {
  const { user_id } = actor;
  for (;;) {
    const missing: number[] = [];
    const result = await context.database.read(async (tx) => {
      await clockIn(tx, user_id);
      return read(tx, async (rows) => {
        const found = await readEntities(tx, user_id, rows);
        for (const { id } of rows) if (!found.has(id)) missing.push(id);
        return found;
      });
    });
    if (missing.length === 0) return result;
    await transactAsReader(context, actor, (user) => requireEntities(user, missing));
  }
}

/** A subscription as a client sees it. @param entity as it is stored, perhaps while the draft was off */
export function showEntity(row: State, entity: SyncEntity): ShownEntity {
  const { sync_id, subscribed_at, unsubscribed_at } = refreshEntity(entity, row);
  return { sync_id, guid: row.guid, feed_url: row.feed_url, subscribed_at, unsubscribed_at };
}

/** One that became part of another: a client that has both keeps the other one only. */
function showLeft(entity: SyncEntity): ShownEntity {
  const { sync_id, left_url, left_guid, subscribed_at, unsubscribed_at } = entity;
  return { sync_id, guid: left_guid ?? "", feed_url: left_url ?? "", subscribed_at, unsubscribed_at };
}

/**
 * Lists what changed after a timestamp of the user's clock, oldest change first; deleted subscriptions and those that
 * became part of others as unsubscribed. A page has more than `limit` items only if they have the same timestamp.
 * @param leaveOut the client whose own changes are left out, but for those of what others became part of; null for none
 * @returns `next` is the timestamp of the last item if more follow
 */
export function listSync(
  context: Context,
  actor: Actor,
  { since, limit, leaveOut }: { since: number | null; limit: number; leaveOut: string | null },
): Promise<{ items: SyncItem[]; next: number | null }> {
  const { user_id } = actor;
  return readWithEntities(context, actor, async (tx, entitiesOf) => {
    const items: SyncItem[] = [];
    for (let from = (since ?? -1) + 1; ; ) {
      const rows = await listChanged(tx, { user_id, from, limit: CHUNK });
      const to = rows.length < CHUNK ? Number.MAX_SAFE_INTEGER : (rows.at(-1)?.changed_at ?? from);
      const left = await listLeftEntities(tx, { user_id, from, to });
      const entities = await entitiesOf(rows);
      // They are made before it goes on, so that others wait for those of a chunk only.
      if (entities.size < rows.length) return { items: [], next: null };
      const own = rows.filter(({ id, changed_at }) => {
        const entity = entities.get(id);
        return leaveOut !== null && entity?.client === leaveOut && entity.changed_at === changed_at;
      });
      // What became part of one is told as unsubscribed, perhaps with its feed URL: then that one is told after it.
      const parts = (await listEntitiesOf(tx, { user_id }, own)).filter((entity) => !isCurrent(entity));
      const joined = new Set(columnOf(parts, "subscription"));
      const leftOut = new Set(own.filter(({ id }) => !joined.has(id)));
      const found = rows.flatMap((row) => {
        const entity = entities.get(row.id);
        return entity && !leftOut.has(row) ? [{ changed_at: row.changed_at, entity: showEntity(row, entity) }] : [];
      });
      const gone = left.map((entity) => ({ changed_at: entity.left_at ?? 0, entity: showLeft(entity) }));
      // Those that left first: what they became part of may have their feed URL now.
      for (const item of [...gone, ...found].sort((a, b) => a.changed_at - b.changed_at)) {
        const last = items.at(-1)?.changed_at ?? null;
        if (items.length >= limit && item.changed_at !== last) return { items, next: last };
        items.push(item);
      }
      if (rows.length < CHUNK) return { items, next: null };
      from = to + 1;
    }
  });
}

/**
 * Lists subscriptions that are not deleted, in an order that no change moves.
 * @param after the last one of the page before
 * @returns `next` is the last one if more follow
 */
export function listEntities(
  context: Context,
  actor: Actor,
  { after, limit, all }: { after: number; limit: number; all: boolean },
): Promise<{ entities: ShownEntity[]; next: number | null }> {
  const { user_id } = actor;
  return readWithEntities(context, actor, async (tx, entitiesOf) => {
    const rows = await listSubscriptionsAfter(tx, { user_id, after, all: Number(all), limit: limit + 1 });
    const page = rows.slice(0, limit);
    const known = await entitiesOf(page);
    const entities = page.flatMap((row) => {
      const entity = known.get(row.id);
      return entity ? [showEntity(row, entity)] : [];
    });
    return { entities, next: rows.length > limit ? (page.at(-1)?.id ?? null) : null };
  });
}

/** Reads one subscription, or what it became part of. @throws DomainError "not_found", also if it was deleted */
export function getEntity(context: Context, actor: Actor, sync_id: string): Promise<ShownEntity> {
  const { user_id } = actor;
  return readWithEntities(context, actor, async (tx, entitiesOf) => {
    const [named] = await findEntities(tx, { user_id }, [{ sync_id }]);
    const [row] = named ? await findSubscriptions(tx, { user_id }, [{ id: named.subscription }]) : [];
    const entity = row && row.deleted === null ? (await entitiesOf([row])).get(row.id) : undefined;
    if (!row || !entity) throw new DomainError("not_found", "No such subscription");
    return showEntity(row, entity);
  });
}
