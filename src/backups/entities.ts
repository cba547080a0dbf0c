// What the draft of the next Open Podcast API tells of restored subscriptions, written before their timestamps are renewed.
import type { Tx } from "../db/statement.ts";
import { createEntity, refreshEntity, type SyncEntity } from "../domain/sync-entities.ts";
import { listSubscriptions } from "../store/subscriptions.ts";
import { listEntitiesOf, saveEntities } from "../store/sync-entities.ts";

const isCurrent = ({ left_at }: SyncEntity) => left_at === null;

async function readUser(tx: Tx, user_id: number) {
  const subscriptions = await listSubscriptions(tx, { user_id });
  const entities = (await listEntitiesOf(tx, { user_id }, subscriptions)).filter(isCurrent);
  const states = new Map(subscriptions.map((row) => [row.id, { ...row, is_subscribed: row.is_subscribed === 1 }]));
  return { entities, states };
}

/** Makes entities fit whose subscriptions changed while the draft was off. */
export async function refreshEntities(tx: Tx, user_id: number): Promise<void> {
  const { entities, states } = await readUser(tx, user_id);
  const refreshed = entities.flatMap((entity) => {
    const state = states.get(entity.subscription);
    const fit = state && refreshEntity(entity, state);
    return fit && fit !== entity ? [fit] : [];
  });
  await saveEntities(tx, { user_id }, refreshed);
}

/** Gives subscriptions the sync_ids that the draft told of them since the backup: clients know them by those. */
export async function keepSyncIds(
  tx: Tx,
  user_id: number,
  old: { subscriptions: { id: number; guid: string }[]; entities: SyncEntity[] },
): Promise<void> {
  const { entities, states } = await readUser(tx, user_id);
  for (const { subscription } of entities) states.delete(subscription);
  const guids = new Map(old.subscriptions.map(({ id, guid }) => [id, guid]));
  const kept = old.entities.filter(isCurrent).flatMap(({ subscription, sync_id }) => {
    const state = states.get(subscription);
    return state && guids.get(subscription) === state.guid ? [createEntity(state, sync_id)] : [];
  });
  await saveEntities(tx, { user_id }, kept);
}
