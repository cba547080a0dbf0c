// What the draft of the next Open Podcast API tells of restored subscriptions, written before their timestamps are renewed.
import type { Tx } from "../db/statement.ts";
import { stateOf } from "../domain/subscription-state.ts";
import { createEntity, isCurrent, refreshEntity, type SyncEntity } from "../domain/sync-entities.ts";
import { listSubscriptions } from "../store/subscriptions.ts";
import { listEntitiesOf, saveEntities } from "../store/sync-entities.ts";

type Row = Awaited<ReturnType<typeof listSubscriptions>>[number];

const listCurrent = async (tx: Tx, user_id: number, present: Row[]): Promise<SyncEntity[]> =>
  (await listEntitiesOf(tx, { user_id }, present)).filter(isCurrent);

/**
 * Makes entities fit whose subscriptions changed while the draft was off.
 * @param isServed whether the draft is on: it tells of all subscriptions, also those that it has not told yet
 */
export async function refreshEntities(tx: Tx, user_id: number, isServed: boolean): Promise<void> {
  const present = await listSubscriptions(tx, { user_id });
  const known = new Map((await listCurrent(tx, user_id, present)).map((entity) => [entity.subscription, entity]));
  const refreshed = present.map(stateOf).flatMap((state) => {
    const entity = known.get(state.id);
    if (!entity) return isServed ? [createEntity(state, crypto.randomUUID())] : [];
    const fit = refreshEntity(entity, state);
    return fit === entity ? [] : [fit];
  });
  await saveEntities(tx, { user_id }, refreshed);
}

/**
 * Gives subscriptions the sync_ids that the draft told of them since the backup: clients know them by those.
 * @param present the subscriptions of the backup
 */
export async function keepSyncIds(
  tx: Tx,
  user_id: number,
  present: Row[],
  old: { subscriptions: Pick<Row, "id" | "guid">[]; entities: SyncEntity[] },
): Promise<void> {
  const states = new Map(present.map((row) => [row.id, stateOf(row)]));
  for (const { subscription } of await listCurrent(tx, user_id, present)) states.delete(subscription);
  const guids = new Map(old.subscriptions.map(({ id, guid }) => [id, guid]));
  const kept = old.entities.filter(isCurrent).flatMap(({ subscription, sync_id }) => {
    const state = states.get(subscription);
    return state && guids.get(subscription) === state.guid ? [createEntity(state, sync_id)] : [];
  });
  await saveEntities(tx, { user_id }, kept);
}
