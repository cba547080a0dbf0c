// What the draft of the next Open Podcast API tells of restored subscriptions, written before their timestamps are renewed.
import type { Tx } from "../db/statement.ts";
import { createEntity, isCurrent, refreshEntity, type SyncEntity, stateOf } from "../domain/sync-entities.ts";
import { listSubscriptions } from "../store/subscriptions.ts";
import { listEntitiesOf, saveEntities } from "../store/sync-entities.ts";

type Row = Awaited<ReturnType<typeof listSubscriptions>>[number];

const listCurrent = async (tx: Tx, user_id: number, present: Row[]): Promise<SyncEntity[]> =>
  (await listEntitiesOf(tx, { user_id }, present)).filter(isCurrent);

const statesIn = (rows: Row[]) => new Map(rows.map((row) => [row.id, stateOf(row)]));

/** Makes entities fit whose subscriptions changed while the draft was off. */
export async function refreshEntities(tx: Tx, user_id: number): Promise<void> {
  const present = await listSubscriptions(tx, { user_id });
  const states = statesIn(present);
  const refreshed = (await listCurrent(tx, user_id, present)).flatMap((entity) => {
    const state = states.get(entity.subscription);
    const fit = state && refreshEntity(entity, state);
    return fit && fit !== entity ? [fit] : [];
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
  const states = statesIn(present);
  for (const { subscription } of await listCurrent(tx, user_id, present)) states.delete(subscription);
  const guids = new Map(old.subscriptions.map(({ id, guid }) => [id, guid]));
  const kept = old.entities.filter(isCurrent).flatMap(({ subscription, sync_id }) => {
    const state = states.get(subscription);
    return state && guids.get(subscription) === state.guid ? [createEntity(state, sync_id)] : [];
  });
  await saveEntities(tx, { user_id }, kept);
}
