// Actions of clients of the draft of the Open Podcast API, each done once (P5).
import { ActionRules, type Outcome, type SyncAction } from "../domain/sync-actions.ts";
import { columnOf, rowsOf } from "../store/rows.ts";
import { deleteOldActions, findActions, insertActions } from "../store/sync-actions.ts";
import { findEntities, listEntitiesOf, saveEntities } from "../store/sync-entities.ts";
import type { Actor } from "./actor.ts";
import type { Context } from "./context.ts";
import { readPresent, requireEntities, type ShownEntity, showEntity } from "./sync-entities.ts";
import { transact, type UserTx } from "./transact.ts";
import { loadWorkingSet, saveWorkingSet } from "./working-set.ts";

/** How long results are kept for actions that are sent again, in milliseconds. */
const KEPT = 30 * 24 * 60 * 60 * 1000;

/** An action as it was sent. */
export interface SentAction extends SyncAction {
  action_id: string;
  /** SHA-256 of what it says, in hex. */
  request_hash: string;
}

export interface ActionResult {
  action_id: string;
  status: Outcome;
  /** Why it was rejected. */
  reason?: string | undefined;
  /** The subscription after the request; null if there is none. */
  entity: ShownEntity | null;
}

/**
 * Does the actions of one request in one transaction, in the order in which they occurred; one that was done before only
 * gives its status again.
 * @param client the installation that sends them; null if it does not say
 * @returns the results, in the order of the actions
 */
export function applyActions(
  context: Context,
  actor: Actor,
  client: string | null,
  sent: SentAction[],
): Promise<ActionResult[]> {
  return transact(context, actor, async (user) => {
    const done = await readDone(user, sent);
    const repeated = [...done.values()].flatMap(({ result }) => result.entity?.sync_id ?? []);
    const fresh = new Map<string, SentAction>();
    for (const one of sent) if (!done.has(one.action_id) && !fresh.has(one.action_id)) fresh.set(one.action_id, one);
    const results = await decideAll(user, context, client, [...fresh.values()]);
    for (const one of results) {
      const request_hash = fresh.get(one.action_id)?.request_hash ?? "";
      done.set(one.action_id, { request_hash, result: one });
    }
    // The client of one that was done before may have read already what came after it.
    const present = await readPresent(user, repeated);
    return sent.map(({ action_id, request_hash }) => {
      const found = done.get(action_id);
      if (found?.request_hash === request_hash) {
        const { entity } = found.result;
        return { ...found.result, entity: entity && (present.get(entity.sync_id) ?? entity) };
      }
      return { action_id, status: "rejected", reason: "action_id was used for another action", entity: null };
    });
  });
}

async function readDone({ tx, user_id }: UserTx, sent: SentAction[]) {
  const rows = await findActions(tx, { user_id }, rowsOf("action_id", columnOf(sent, "action_id")));
  return new Map(
    rows.map(({ action_id, request_hash, result }) => {
      // Written below.
      const known = JSON.parse(result) as ActionResult;
      return [action_id, { request_hash, result: known }] as const;
    }),
  );
}

async function decideAll(
  user: UserTx,
  context: Context,
  client: string | null,
  sent: SentAction[],
): Promise<ActionResult[]> {
  if (sent.length === 0) return [];
  const { tx, user_id } = user;
  const sync_ids = sent.flatMap(({ sync_id }) => sync_id ?? []);
  const named = await findEntities(tx, { user_id }, rowsOf("sync_id", sync_ids));
  const set = await loadWorkingSet(user, {
    ids: named.map(({ subscription }) => subscription),
    guids: sent.flatMap(({ guid, feed }) => [guid ?? [], feed?.computed_guid ?? []].flat()),
    feeds: sent.flatMap(({ feed }) => feed?.hash ?? []),
  });
  const entities = await listEntitiesOf(tx, { user_id }, set.all());
  const now = context.clock.now();
  const rules = new ActionRules(set, entities, client, now);
  const decisions = sent
    .toSorted((a, b) => a.occurred_at - b.occurred_at)
    .map((one) => ({ ...one, ...rules.decide(one) }));
  await saveWorkingSet(user, set, context);

  const current = new Map(
    decisions.flatMap(({ action_id, subscription }) =>
      subscription ? [[action_id, set.current(subscription)] as const] : [],
    ),
  );
  const kept = await requireEntities(user, [...new Set([...current.values()].map(({ id }) => id))]);
  for (const { subscription, said } of rules.said()) {
    const entity = kept.get(subscription.id);
    if (entity) kept.set(subscription.id, { ...entity, ...said });
  }
  await saveEntities(tx, { user_id }, [...kept.values()]);
  const results = decisions.map(({ action_id, status, reason }): ActionResult => {
    const state = current.get(action_id);
    const entity = state && kept.get(state.id);
    const row = state && { ...state, is_subscribed: Number(state.is_subscribed) };
    return { action_id, status, reason, entity: row && entity ? showEntity(row, entity) : null };
  });
  const hashes = new Map(sent.map(({ action_id, request_hash }) => [action_id, request_hash]));
  // A rejected one has done nothing, and may be possible later.
  const rows = results
    .filter(({ status }) => status !== "rejected")
    .map((one) => ({
      action_id: one.action_id,
      request_hash: hashes.get(one.action_id) ?? "",
      result: JSON.stringify(one),
      done_at: now,
    }));
  await insertActions(tx, { user_id }, rows);
  return results;
}

/** Deletes the results of actions that were done more than 30 days ago. */
export async function pruneActions({ database, clock }: Pick<Context, "database" | "clock">): Promise<void> {
  await database.write((tx) => deleteOldActions(tx, { before: clock.now() - KEPT }));
}
