// Actions of clients of the draft of the Open Podcast API, each done once (P5).
import type { SubscriptionState } from "../../domain/subscription-state.ts";
import { ActionRules, type Outcome, type SyncAction } from "../../domain/sync-actions.ts";
import { refreshEntity, type SyncEntity } from "../../domain/sync-entities.ts";
import type { WorkingSet } from "../../domain/working-set.ts";
import { columnOf, readPages, rowsOf } from "../../store/rows.ts";
import { deleteActions, findActions, insertActions, listDone } from "../../store/sync-actions.ts";
import { findEntities, listEntitiesOf, saveEntities } from "../../store/sync-entities.ts";
import { nextTurn } from "../../turns.ts";
import { streamUserIds } from "../accounts/users.ts";
import type { Actor } from "../actor.ts";
import type { Context } from "../context.ts";
import { loadWorkingSet, saveWorkingSet } from "../subscriptions/working-set.ts";
import { transact, type UserTx } from "../transact.ts";
import { readPresent, requireEntities, type ShownEntity, showEntity } from "./sync-entities.ts";

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
    for (const one of await doAll(user, context, client, [...fresh.values()])) done.set(one.result.action_id, one);
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

/** What came of an action, and what it said. */
interface Done {
  request_hash: string;
  result: ActionResult;
}

async function readDone({ tx, user_id }: UserTx, sent: SentAction[]): Promise<Map<string, Done>> {
  const rows = await findActions(tx, { user_id }, rowsOf("action_id", columnOf(sent, "action_id")));
  return new Map(
    rows.map(({ action_id, request_hash, result }) => {
      // Written below.
      const known = JSON.parse(result) as ActionResult;
      return [action_id, { request_hash, result: known }];
    }),
  );
}

/** Does actions that were not done before, and keeps their results. */
async function doAll(user: UserTx, context: Context, client: string | null, sent: SentAction[]): Promise<Done[]> {
  if (sent.length === 0) return [];
  const { tx, user_id } = user;
  const now = context.clock.now();
  const set = await loadNamed(user, sent);
  const rules = new ActionRules(set, await listEntitiesOf(tx, { user_id }, set.all()), client, now);
  const decisions = sent
    .toSorted((a, b) => a.occurred_at - b.occurred_at)
    .map((one) => ({ ...one, ...rules.decide(one) }));
  await saveWorkingSet(user, set, context);
  const states = decisions.map(({ subscription }) => subscription && set.current(subscription));
  const entities = await keepEntities(user, states, rules);
  const done = decisions.map(({ action_id, request_hash, status, reason }, index): Done => {
    const state = states[index];
    const entity = state && entities.get(state.id);
    const shown = state && entity ? showEntity(state, entity) : null;
    return { request_hash, result: { action_id, status, reason, entity: shown } };
  });
  // A rejected one has done nothing, and may be possible later.
  const rows = done
    .filter(({ result }) => result.status !== "rejected")
    .map(({ request_hash, result }) => {
      return { action_id: result.action_id, request_hash, result: JSON.stringify(result), done_at: now };
    });
  await insertActions(tx, { user_id }, rows);
  return done;
}

/** Loads the subscriptions that actions name. */
async function loadNamed(user: UserTx, sent: SentAction[]): Promise<WorkingSet> {
  const sync_ids = sent.flatMap(({ sync_id }) => sync_id ?? []);
  const named = await findEntities(user.tx, { user_id: user.user_id }, rowsOf("sync_id", sync_ids));
  return loadWorkingSet(user, {
    ids: named.map(({ subscription }) => subscription),
    guids: sent.flatMap(({ guid, feed }) => [guid ?? [], feed?.computed_guid ?? []].flat()),
    feeds: sent.flatMap(({ feed }) => feed?.hash ?? []),
  });
}

/** Saves what actions said of these subscriptions. @returns their entities, by the subscriptions' ids */
async function keepEntities(
  user: UserTx,
  states: (SubscriptionState | null)[],
  rules: ActionRules,
): Promise<Map<number, SyncEntity>> {
  const ids = new Set(states.flatMap((state) => (state ? state.id : [])));
  const entities = await requireEntities(user, [...ids]);
  for (const { subscription, said } of rules.said()) {
    const entity = entities.get(subscription.id);
    if (entity) entities.set(subscription.id, { ...refreshEntity(entity, subscription), ...said });
  }
  await saveEntities(user.tx, { user_id: user.user_id }, [...entities.values()]);
  return entities;
}

/** Deletes the results of actions that were done more than 30 days ago, a page in each transaction. */
export async function pruneSyncActions(
  { database, clock }: Pick<Context, "database" | "clock">,
  signal?: AbortSignal,
): Promise<void> {
  const before = clock.now() - KEPT;
  for await (const user_id of streamUserIds({ database }, signal)) {
    const pages = readPages(
      "",
      (after, limit) => database.read((tx) => listDone(tx, { user_id, after, limit })),
      ({ action_id }) => action_id,
    );
    for await (const page of pages) {
      const old = page.filter(({ done_at }) => done_at < before);
      if (old.length > 0) await database.write((tx) => deleteActions(tx, { user_id }, old), user_id);
      await nextTurn();
      if (signal?.aborted) return;
    }
  }
}
